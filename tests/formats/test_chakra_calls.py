"""What traces call that others wrote, and where the files of all ranks are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft.errors import BadInput
from weft.formats.chakra import calls
from weft.formats.chakra.calls import KINDS, Call, calls_from_chakra
from weft.formats.chakra.paths import rank_paths
from weft.formats.chakra.protobuf import Message, encode_varint
from weft.formats.chakra.reading import schedule_from_chakra
from weft.formats.chakra.schema import attribute, trace_to_bytes
from weft.formats.chakra.writing import chakra_files
from weft.kinds import Kind

COLL = 7


def coll(number: int, *attributes: Message) -> Message:
    return {"id": number, "name": f"call {number}", "type": COLL, "attr": list(attributes)}


def whole(name: str, value: int, member: str = "int64_val") -> Message:
    return attribute(name, member, value)


def trace(*nodes: Message) -> bytes:
    return trace_to_bytes({"version": "0.0.4"}, nodes)


def simple(number: int, kind: int = 0, size: int = 64) -> Message:
    return coll(number, whole("comm_type", kind), whole("comm_size", size))


def test_equal_calls_are_counted_in_the_order_of_the_first():
    nodes = [simple(1), simple(2, kind=2), simple(3), simple(4, size=65)]
    assert calls_from_chakra(trace(*nodes)) == (
        Call(Kind.ALLREDUCE, 64, "", None, (), 2),
        Call(Kind.ALLGATHER, 64, "", None, (), 1),
        Call(Kind.ALLREDUCE, 65, "", None, (), 1),
    )


@pytest.mark.parametrize(("number", "kind"), list(enumerate(KINDS.values())))
def test_every_collective_of_chakra_has_a_name_here(number, kind):
    [call] = calls_from_chakra(trace(simple(1, kind=number)))
    assert call.kind is kind


def test_a_whole_number_of_any_type_is_read():
    for member in ("int32_val", "uint64_val", "sint64_val", "fixed32_val"):
        node = coll(1, whole("comm_type", 5, member), whole("comm_size", 9, member))
        [call] = calls_from_chakra(trace(node))
        assert (call.kind, call.size) == (Kind.BROADCAST, 9)


def test_groups_have_the_ranks_that_pytorch_lists():
    listed = json.dumps(
        [{"pg_name": "7", "ranks": [1, 3], "extra": {}}, {"pg_name": "8", "ranks": []}]
    )
    about = {"id": 1, "type": 1, "inputs": {"values": f"['{listed}']"}}
    in_group = [coll(2, *simple(2)["attr"], attribute("pg_name", "string_val", n)) for n in "789"]
    called = calls_from_chakra(trace(about, *in_group))
    assert [(call.group, call.ranks) for call in called] == [
        ("7", (1, 3)),
        ("8", None),
        ("9", None),
    ]


def test_dimensions_of_the_network_are_kept_apart():
    one, all_of_them = (
        coll(1, *simple(1)["attr"], attribute("involved_dim", "bool_list", flags))
        for flags in ([True, False], [True, True])
    )
    called = calls_from_chakra(trace(one, all_of_them))
    assert [call.dimensions for call in called] == [(True, False), (True, True)]


def test_what_is_no_collective_is_passed_over():
    others = [{"id": n, "type": n, "attr": [whole("comm_size", 5)]} for n in (1, 2, 3, 4, 5, 6, 9)]
    assert calls_from_chakra(trace(*others)) == ()


def test_a_barrier_needs_no_size():
    [call] = calls_from_chakra(trace(coll(1, whole("comm_type", 9))))
    assert (call.kind, call.size) == (Kind.BARRIER, 0)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (simple(3, kind=10), r"node 3 \('call 3'\) has comm_type 10: there are 0 to 9, ALL_REDUCE"),
        (simple(3, kind=-1), "comm_type -1"),
        (coll(3, whole("comm_size", 1)), "has comm_type None"),
        (coll(3, whole("comm_type", 0)), "has no comm_size: give a whole number"),
        (simple(3, size=-5), "comm_size is -5: give 0 to"),
        ({"id": 1, "type": 1, "inputs": {"values": "[{pg_name}]"}}, "process groups that are not"),
        ({"id": 1, "type": 1, "inputs": {"values": "pg_name"}}, "process groups that are not JSON"),
    ],
)
def test_calls_that_cannot_be_read_are_refused(node, message):
    with pytest.raises(BadInput, match=message) as caught:
        calls_from_chakra(trace(node))
    assert "\n" not in str(caught.value)


def test_a_list_of_groups_without_end_is_read_once():
    """A search from each of its beginnings would take days."""
    about = {"id": 1, "type": 1, "inputs": {"values": "pg_name" + "[{" * 1_000_000}}
    with pytest.raises(BadInput, match="process groups that are not JSON"):
        calls_from_chakra(trace(about))


def graph(**node: Any) -> bytes:
    return json.dumps({"workload_graph": [node]}).encode()


@pytest.mark.parametrize(
    "node",
    [
        {"Id": 1, "Name": "a", "NodeType": 7, "comm_type": 0, "comm_size": 64},
        {"id": 1, "name": "a", "node_type": 7, "commType": 0, "commSize": 64, "ctrlDeps": []},
        {"Id": 1, "type": "COMM_COLL_NODE", "comm_type": "ALL_REDUCE", "comm_size": 64},
    ],
)
def test_json_is_read_in_its_spellings(node):
    assert calls_from_chakra(graph(**node)) == (Call(Kind.ALLREDUCE, 64, "", None, (), 1),)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "an empty file"),
        (b"{}", "workload_graph is a list of objects: Expected"),
        (b'{"workload_graph": 3}', "Expected `array`, got `int`"),
        (b'{"workload_graph": [3]}', r"Expected `object`, got `int` - at `\$\[0\]`"),
        (b'{"workload_graph": [{}]}', "has node type None: give a number or a name"),
        (b'{"workload_graph": [', "not a JSON trace"),
        (graph(NodeType=7, comm_type=0, comm_size="x"), "has comm_size 'x'"),
        (graph(NodeType=7, comm_type=0, comm_size=1, pg_name=[]), r"has the group \[\]: give its"),
        (graph(NodeType=7, comm_type=0, comm_size=1, involved_dim=1), "has involved_dim 1: give"),
        (b'{"workload_graph":' + b"[" * 100_000, "not a JSON trace"),
        (b'{"\xff": 1}', "not a JSON trace"),
    ],
)
def test_json_that_is_no_trace_is_refused(content, message):
    with pytest.raises(BadInput, match=message):
        calls_from_chakra(content)


def test_a_message_that_begins_like_json_is_told_from_it():
    """A brace is the length 123, and a line's end the first field of a message."""
    metadata = {"version": "0.0.4", "attr": [attribute("note", "string_val", "x" * 105)]}
    content = trace_to_bytes(metadata, [simple(1)])
    assert content.startswith(b"{\n")
    assert len(calls_from_chakra(content)) == 1


def test_more_json_than_memory_is_meant_for_is_refused(monkeypatch):
    monkeypatch.setattr(calls, "MOST_VALUES", 2)
    with pytest.raises(BadInput, match="the number of values is 3: give 0 to 2"):
        calls_from_chakra(b'{"a": [1, 2, 3, 4]}')


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(content):
    for start in (b"", b'{"workload_graph":', encode_varint(7) + b"\n\x050.0.4"):
        for read in (calls_from_chakra, lambda each: schedule_from_chakra([each])):
            try:
                read(start + content)
            except BadInput as problem:
                assert str(problem)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            [{"id": 1, "type": 5}],
            "1 sends and receives, but no weft_schedule: they do not say what",
        ),
        ([simple(1)], "and 1 collectives by name: this trace says what is called, not how"),
    ],
)
def test_a_trace_of_others_is_no_schedule(nodes, message):
    with pytest.raises(BadInput, match=message):
        schedule_from_chakra([trace(*nodes)])


def test_our_own_traces_call_nothing():
    [content] = chakra_files(weft.classic.ring_allgather(weft.allgather(1)), 8)
    assert calls_from_chakra(content) == ()


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_all_files_are_found_from_any(tmp_path, ending):
    wanted = [tmp_path / f"a.b.{rank}.et{ending}" for rank in range(12)]
    for path in [*wanted, tmp_path / "a.b.01.et", tmp_path / "a.bc.99.et", tmp_path / "a.b.json"]:
        path.touch()
    assert rank_paths(wanted[3]) == wanted
    assert rank_paths(str(wanted[11])) == wanted
    if not ending:
        assert rank_paths(tmp_path / "a.b") == wanted


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], r"no traces x\.0\.et, \.\.\. of up to 65536 ranks"),
        (["x.70000.et"], "no traces"),
        (["x.0.et", "x.2.et"], r"go up to rank 2, but x\.1\.et is not there"),
    ],
)
def test_files_that_are_missing_are_named(tmp_path, names, message):
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(BadInput, match=message):
        rank_paths(tmp_path / "x")


def test_a_folder_that_is_not_there():
    with pytest.raises(BadInput, match="cannot be found: No such file"):
        rank_paths("/nowhere/x")
