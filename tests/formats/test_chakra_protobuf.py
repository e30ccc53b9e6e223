"""The wire format of protocol buffers, against bytes worked out by hand from its description."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import BadInput
from weft.formats.chakra import protobuf
from weft.formats.chakra.protobuf import Decoder, Field, Type, encode, encode_stream
from weft.formats.chakra.schema import METADATA, NODE

NUMBERS = {
    Type.UNSIGNED: st.integers(0, 2**64 - 1),
    Type.SIGNED: st.integers(-(2**63), 2**63 - 1),
    Type.ZIGZAG: st.integers(-(2**63), 2**63 - 1),
    Type.BOOL: st.booleans(),
    Type.DOUBLE: st.floats(allow_nan=False),
    Type.FLOAT: st.floats(width=32, allow_nan=False),
    Type.FIXED64: st.integers(0, 2**64 - 1),
    Type.SFIXED64: st.integers(-(2**63), 2**63 - 1),
    Type.FIXED32: st.integers(0, 2**32 - 1),
    Type.SFIXED32: st.integers(-(2**31), 2**31 - 1),
    Type.TEXT: st.text(),
    Type.BYTES: st.binary(),
}
INNER = {
    number: Field(f"{name}{kind.name}", kind, repeated=name == "many ")
    for start, name in ((1, ""), (101, "many "))
    for number, kind in enumerate(NUMBERS, start)
}
OUTER = {
    1: Field("inner", Type.MESSAGE, table=INNER),
    2: Field("inners", Type.MESSAGE, repeated=True, table=INNER),
}
inner_messages = st.fixed_dictionaries(
    {},
    optional={
        field.name: st.lists(NUMBERS[field.type], min_size=1, max_size=3)
        if field.repeated
        else NUMBERS[field.type]
        for field in INNER.values()
    },
)
outer_messages = st.fixed_dictionaries(
    {}, optional={"inner": inner_messages, "inners": st.lists(inner_messages, min_size=1)}
)


def framed(content: bytes) -> bytes:
    return protobuf.encode_varint(len(content)) + content


def read(table: protobuf.Table, content: bytes) -> protobuf.Message:
    return Decoder(framed(content)).next_message(table)


@given(st.lists(outer_messages, max_size=3))
def test_any_messages_come_back_as_they_were(messages):
    decoder = Decoder(encode_stream((OUTER, message) for message in messages))
    for message in messages:
        assert decoder.next_message(OUTER) == message
    assert not decoder.more()


@pytest.mark.parametrize(
    ("table", "message", "content"),
    [
        (METADATA, {"version": "0.0.4"}, "0a 05 30 2e 30 2e 34"),
        (NODE, {"id": 1, "name": "a", "type": 4}, "08 01 12 01 61 18 04"),
        (NODE, {"id": 300, "data_deps": [1, 300]}, "08 ac02 2a 03 01 ac02"),
        (NODE, {"attr": [{"name": "b", "bool_val": True}]}, "52 06 0a0162 d80101"),
        (NODE, {"attr": [{"name": "n", "int64_val": -1}]}, "52 0e 0a016e 48 ffffffffffffffffff01"),
        (NODE, {"attr": [{"name": "z", "sint32_val": -2}]}, "52 05 0a017a 78 03"),
        (NODE, {"attr": [{"name": "f", "float_val": 1.0}]}, "52 08 0a0166 2d 0000803f"),
        (NODE, {"attr": [{"int32_list": {"values": [7, 8]}}]}, "52 06 42 04 0a020708"),
    ],
)  # fmt: skip
def test_bytes_are_those_of_the_schema(table, message, content):
    assert encode(table, message) == bytes.fromhex(content)
    assert read(table, bytes.fromhex(content)) == message


def test_lists_are_read_packed_and_one_by_one():
    packed, single = "2a 03 01 ac02", "28 01 28 ac02"
    for content in (packed, single, "28 01 2a 02 ac02"):
        assert read(NODE, bytes.fromhex(content)) == {"data_deps": [1, 300]}


def test_of_a_single_field_the_last_counts_and_comes_last():
    content = bytes.fromhex("08 01 12 01 61 08 02")
    assert list(read(NODE, content).items()) == [("name", "a"), ("id", 2)]


@pytest.mark.parametrize(
    "unknown", ["9806 01", "9906 0102030405060708", "9a06 02 ffff", "9d06 01020304"]
)
def test_unknown_fields_are_skipped(unknown):  # fmt: skip
    assert read(NODE, bytes.fromhex(unknown + "08 05")) == {"id": 5}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("08", "byte 2: ends in the middle of a number"),
        ("08 ffffffffffffffffffff01", "byte 2: a number of more than 64 bits"),
        ("08 ffffffffffffffffff02", "byte 2: a number of more than 64 bits"),
        ("12 05 61", "byte 2: a length of 5 with 1 bytes left"),
        ("12 ffffffffffffffff7f 61", r"byte 2: a length of \d+ with 1 bytes left"),
        ("12 01 ff", "byte 3: name is not UTF-8"),
        ("0d 01020304", "byte 1: id has wire type 5, but is a varint"),
        ("52 03 2d 0000", "byte 4: 4 bytes are due and 2 left"),
        ("00 01", "byte 1: field 0"),
        ("9b06", "byte 1: wire type 3, which proto3 lacks"),
        ("2a 02 01 ac", "byte 4: ends in the middle of a number"),
    ],
)
def test_what_is_damaged_is_refused_with_its_place(content, message):
    with pytest.raises(BadInput, match=message) as caught:
        read(NODE, bytes.fromhex(content))
    assert "\n" not in str(caught.value)


@given(st.lists(outer_messages, min_size=1, max_size=2), st.data())
def test_a_stream_that_ends_early_is_refused_or_ends_between_messages(messages, data):
    whole = encode_stream((OUTER, message) for message in messages)
    decoder = Decoder(whole[: data.draw(st.integers(0, len(whole)))])
    complete = 0
    try:
        while decoder.more():
            assert decoder.next_message(OUTER) == messages[complete]
            complete += 1
    except BadInput as problem:
        assert str(problem).startswith("byte ")
        assert complete < len(messages)


@given(st.binary(max_size=60), st.sampled_from([OUTER, NODE, METADATA]))
def test_any_bytes_are_read_or_refused(content, table):
    decoder = Decoder(content)
    try:
        while decoder.more():
            decoder.next_message(table)
    except BadInput as problem:
        assert str(problem).startswith("byte ")


def test_more_values_than_memory_is_meant_for_are_refused(monkeypatch):
    monkeypatch.setattr(protobuf, "MOST_VALUES", 20)
    assert read(NODE, encode(NODE, {"data_deps": [1] * 20}))
    with pytest.raises(BadInput, match="more than 20 values"):
        read(NODE, encode(NODE, {"data_deps": [1] * 21}))


def test_numbers_that_are_none_come_back():
    message = read(INNER, encode(INNER, {"DOUBLE": math.nan}))
    assert struct.pack("<d", message["DOUBLE"]) == struct.pack("<d", math.nan)
