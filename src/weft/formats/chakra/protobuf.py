"""Protocol buffers' wire format, as far as traces need it: messages by tables of field numbers.

A message is a dict by field name.  Decoding trusts nothing: every length is held against the bytes
that are there, values are counted, nesting is no deeper than the tables, and fields that are in no
table are skipped.  Of a field that may be there once, the last one counts, and comes last.

https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from weft.errors import BadInput

MOST_VALUES = 1 << 25  # in a file; each may take a hundred bytes while it is read

Message = dict[str, Any]

VARINT, LONG, DELIMITED, SHORT = 0, 1, 2, 5  # wire types
_WIRE_WORDS = {VARINT: "a varint", LONG: "8 bytes", DELIMITED: "a length", SHORT: "4 bytes"}
_SIGN = 1 << 63
_WRAP = 1 << 64
_GOES_ON = 0x80  # the bit of a varint's byte that says that more follow
_MOST_VARINT = 10  # bytes


class Type(Enum):
    """What a value is, its wire type, and the code of struct where its size is fixed."""

    UNSIGNED = ("unsigned", VARINT, "")
    SIGNED = ("signed", VARINT, "")  # two's complement
    ZIGZAG = ("zigzag", VARINT, "")
    BOOL = ("bool", VARINT, "")
    DOUBLE = ("double", LONG, "<d")
    FIXED64 = ("fixed64", LONG, "<Q")
    SFIXED64 = ("sfixed64", LONG, "<q")
    FLOAT = ("float", SHORT, "<f")
    FIXED32 = ("fixed32", SHORT, "<I")
    SFIXED32 = ("sfixed32", SHORT, "<i")
    TEXT = ("text", DELIMITED, "")
    BYTES = ("bytes", DELIMITED, "")
    MESSAGE = ("message", DELIMITED, "")

    def __init__(self, _: str, wire: int, code: str) -> None:
        self.wire = wire
        self.code = code


class Field(NamedTuple):
    """A row of a table: the name, what it holds, whether in a list, and the table of a message."""

    name: str
    type: Type
    repeated: bool = False
    table: Mapping[int, Field] = {}


Table = Mapping[int, Field]


def encode_stream(messages: Iterable[tuple[Table, Message]]) -> bytes:
    """Return the messages one after another, each behind its length."""
    return b"".join(_behind_length(encode(table, message)) for table, message in messages)


def encode(table: Table, message: Message) -> bytes:
    """Return a message, its fields in the order of the table; lists of numbers are packed."""
    return b"".join(
        _field(number, field, message[field.name])
        for number, field in table.items()
        if field.name in message
    )


def _field(number: int, field: Field, value: Any) -> bytes:
    if not field.repeated:
        return _key(number, field.type.wire) + _value(field, value)
    if field.type.wire == DELIMITED:
        key = _key(number, DELIMITED)
        return b"".join(key + _value(field, each) for each in value)
    packed = b"".join(_value(field, each) for each in value)
    return _key(number, DELIMITED) + _behind_length(packed) if packed else b""


def _key(number: int, wire: int) -> bytes:
    return encode_varint(number << 3 | wire)


def _value(field: Field, value: Any) -> bytes:
    if field.type.code:
        return struct.pack(field.type.code, value)
    if field.type.wire == VARINT:
        return encode_varint(_as_unsigned(field.type, value))
    if field.type is Type.MESSAGE:
        return _behind_length(encode(field.table, value))
    return _behind_length(value.encode() if field.type is Type.TEXT else value)


def _as_unsigned(kind: Type, value: int) -> int:
    if kind is Type.ZIGZAG:
        return 2 * value if value >= 0 else -2 * value - 1
    return value % _WRAP


def encode_varint(value: int) -> bytes:
    out = bytearray()
    while value >= _GOES_ON:
        out.append(value % _GOES_ON | _GOES_ON)
        value //= _GOES_ON
    out.append(value)
    return bytes(out)


def _behind_length(content: bytes) -> bytes:
    return encode_varint(len(content)) + content


class Decoder:
    """Reads the messages of a stream; `at` is the byte that comes next."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.at = 0
        self.values = 0  # read so far

    def more(self) -> bool:
        return self.at < len(self._content)

    def next_message(self, table: Table) -> Message:
        """Return the message that comes next, behind its length."""
        return self._message(table, self._end_of_length(len(self._content)))

    def _message(self, table: Table, end: int) -> Message:
        message: Message = {}
        while self.at < end:
            began = self.at
            number, wire = divmod(self._varint(end), 8)
            if not number:
                raise BadInput(f"byte {began}: field 0, which no message has: {_DAMAGED}")
            field = table.get(number)
            if field is None:
                self._skip(wire, end, began)
            else:
                self._read_into(message, field, wire, end, began)
        return message

    def _read_into(self, message: Message, field: Field, wire: int, end: int, began: int) -> None:
        if field.repeated:
            values = message.setdefault(field.name, [])
            values.extend(self._values(field, wire, end, began))
            return
        self._require_wire(field, wire, began)
        message.pop(field.name, None)
        message[field.name] = self._value(field, end)

    def _values(self, field: Field, wire: int, end: int, began: int) -> Iterator[Any]:
        """Several values in a row where they are packed, or one."""
        if wire == DELIMITED != field.type.wire:
            packed_end = self._end_of_length(end)
            while self.at < packed_end:
                yield self._value(field, packed_end)
            return
        self._require_wire(field, wire, began)
        yield self._value(field, end)

    def _value(self, field: Field, end: int) -> Any:
        self.values += 1
        if self.values > MOST_VALUES:
            raise BadInput(f"byte {self.at}: more than {MOST_VALUES} values: give a shorter trace")
        match field.type.wire:
            case 0:  # VARINT
                return _meaning(field.type, self._varint(end))
            case 2:  # DELIMITED
                return self._long_value(field, self._end_of_length(end))
            case _:
                code = field.type.code
                return struct.unpack(code, self._take(struct.calcsize(code), end))[0]

    def _long_value(self, field: Field, end: int) -> Any:
        if field.type is Type.MESSAGE:
            return self._message(field.table, end)
        began = self.at
        content = self._take(end - began, end)
        if field.type is Type.BYTES:
            return content
        try:
            return content.decode()
        except UnicodeDecodeError as problem:
            raise BadInput(
                f"byte {began + problem.start}: {field.name} is not UTF-8: {_DAMAGED}"
            ) from None

    def _skip(self, wire: int, end: int, began: int) -> None:
        match wire:
            case 0:  # VARINT
                self._varint(end)
            case 1:  # LONG
                self._take(8, end)
            case 2:  # DELIMITED
                self.at = self._end_of_length(end)
            case 5:  # SHORT
                self._take(4, end)
            case _:
                raise BadInput(f"byte {began}: wire type {wire}, which proto3 lacks: {_DAMAGED}")

    def _end_of_length(self, end: int) -> int:
        began = self.at
        length = self._varint(end)
        if length > end - self.at:
            raise BadInput(
                f"byte {began}: a length of {length} with {end - self.at} bytes left: {_DAMAGED}"
            )
        return self.at + length

    def _take(self, count: int, end: int) -> bytes:
        if count > end - self.at:
            raise BadInput(
                f"byte {self.at}: {count} bytes are due and {end - self.at} left: {_DAMAGED}"
            )
        self.at += count
        return self._content[self.at - count : self.at]

    def _varint(self, end: int) -> int:
        began, value = self.at, 0
        for place in range(_MOST_VARINT):
            if self.at == end:
                raise BadInput(f"byte {began}: ends in the middle of a number: {_DAMAGED}")
            byte = self._content[self.at]
            self.at += 1
            value |= byte % _GOES_ON << 7 * place
            if byte < _GOES_ON:
                if value < _WRAP:
                    return value
                break
        raise BadInput(f"byte {began}: a number of more than 64 bits: {_DAMAGED}")

    def _require_wire(self, field: Field, wire: int, began: int) -> None:
        if wire != field.type.wire:
            raise BadInput(
                f"byte {began}: {field.name} has wire type {wire}, but is "
                f"{_WIRE_WORDS[field.type.wire]}, wire type {field.type.wire}: {_DAMAGED}"
            )


_DAMAGED = "not a Chakra trace of today's schema, or damaged"


def _meaning(kind: Type, value: int) -> int | bool:
    match kind:
        case Type.SIGNED:
            return value - _WRAP if value >= _SIGN else value
        case Type.ZIGZAG:
            return value >> 1 ^ -(value & 1)
        case Type.BOOL:
            return value != 0
        case _:
            return value
