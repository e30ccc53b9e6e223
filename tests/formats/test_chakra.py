"""Schedules as Chakra traces: what is written says enough, orders enough, and comes back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from synthesis.promises import algorithms_for
from twins.correct import correct_schedule
from twins.draw import good_schedule
from twins.lowering import Case, messages_of, needs_of
from weft.errors import BadInput
from weft.formats.chakra import reading, schema, writing
from weft.formats.chakra.protobuf import Decoder, Message, encode_stream
from weft.formats.chakra.reading import schedule_from_chakra
from weft.formats.chakra.schema import METADATA, NODE, Node, NodeType, trace_from_bytes
from weft.formats.chakra.writing import chakra_files
from weft.schedule.traffic import blocks_sent

SIZE = 9000


def some_schedule(draw: Random) -> weft.Schedule:
    return (
        good_schedule(draw) if draw.random() < 0.4 else correct_schedule(draw, draw.randint(1, 4))
    )


def some_size(schedule: weft.Schedule, draw: Random) -> int | list[int]:
    if schedule.collective.uneven or draw.random() < 0.3:
        return [draw.choice([0, 1, 7, 10**6]) for _ in range(schedule.collective.blocks)]
    return draw.choice([0, 1, 1000, 10**9])


def ring() -> weft.Schedule:
    return weft.classic.ring_allreduce(weft.allreduce(3))


@given(st.integers(0, 2**48))
def test_any_schedule_comes_back_from_its_files_which_are_always_the_same(seed):
    draw = Random(seed)
    schedule = some_schedule(draw)
    size = some_size(schedule, draw)
    files = chakra_files(schedule, size)
    assert schedule_from_chakra(files) == schedule
    assert chakra_files(schedule_from_chakra(files), size) == files


@given(st.integers(0, 2**48))
def test_in_whatever_order_the_nodes_are_done_the_result_is_right(seed):
    """A node may be done when its needs are, and a receive when the message was sent."""
    draw = Random(seed)
    schedule = some_schedule(draw)
    files = chakra_files(schedule, [SIZE] * schedule.collective.blocks)
    traces = map(trace_from_bytes, files)
    nodes = {(rank, node.id): node for rank, trace in enumerate(traces) for node in trace.nodes}
    given = schedule.collective.initial[["rank", "slot", "first"]].tolist()
    slots = {(rank, slot): Counter([first]) for rank, slot, first in given}
    run(nodes, slots, draw)
    for rank, slot, _, first, count in schedule.collective.final.tolist():
        got = set(slots[rank, slot]) if schedule.collective.heard_is_enough else slots[rank, slot]
        assert got == type(got)(range(first, first + count))


def run(
    nodes: dict[tuple[int, int], Node], slots: dict[tuple[int, int], Counter[int]], draw: Random
) -> None:
    done: set[tuple[int, int]] = set()
    wire: dict[tuple[int, ...], list[Counter[int]]] = {}
    arrived: dict[tuple[int, int], tuple[Node, list[Counter[int]]]] = {}
    while len(done) < len(nodes):
        rank, number = at = draw.choice(
            [
                at
                for at, node in nodes.items()
                if at not in done
                and all((at[0], need) in done for need in node.needs)
                and (node.type != NodeType.RECV or tag(node) in wire)
            ]
        )
        node = nodes[at]
        if node.type == NodeType.SEND or (node.type == NodeType.COMP and is_told(node)):
            carried = [slots[rank, slot] for slot in node.numbers("weft_src_slot")]
            if node.type == NodeType.SEND:
                wire[tag(node)] = carried
            else:
                apply(node, carried, rank, slots)
        elif node.type == NodeType.RECV:
            if set(node.numbers("weft_addend")) == {-1}:
                apply(node, wire.pop(tag(node)), rank, slots)
            else:
                arrived[at] = node, wire.pop(tag(node))
        elif node.needs:
            apply(*arrived.pop((rank, node.needs[0])), rank, slots)
        done.add((rank, number))
    assert not wire
    assert not arrived


def is_told(node: Node) -> bool:
    return "weft_first" in node.attributes


def tag(node: Node) -> tuple[int, ...]:
    return tuple(node.whole(f"comm_{name}") for name in ("src", "dst", "tag", "size"))


def apply(
    node: Node, carried: list[Counter[int]], rank: int, slots: dict[tuple[int, int], Counter[int]]
) -> None:
    targets, addends = node.numbers("weft_dst_slot"), node.numbers("weft_addend")
    for content, target, addend in zip(carried, targets, addends, strict=True):
        slots[rank, target] = content if addend < 0 else slots[rank, addend] + content


@given(st.integers(0, 2**48))
def test_a_node_waits_for_what_touches_the_same_memory_and_nothing_else(seed):
    """That is, for messages that the twin of the lowering says, directly or through others."""
    schedule = some_schedule(Random(seed))
    files = chakra_files(schedule, [SIZE] * schedule.collective.blocks)
    wanted = needs_of(messages_of(out_of_place(schedule)))
    by_first = {row: number for number, row in enumerate(first_transfers(schedule))}
    for rank, content in enumerate(files):
        waits: dict[int, set[int]] = {}  # of a node: for which messages
        expected: dict[int, set[int]] = {}  # of a message, the same
        for node in trace_from_bytes(content).nodes:
            waits[node.id] = set().union(*(waits[need] for need in node.needs))
            if is_told(node):
                number = by_first[node.whole("weft_first")]
                direct = wanted.get((rank, number), set())
                expected[number] = direct.union(*(expected[need] for need in direct))
                assert waits[node.id] == expected[number]
                waits[node.id] |= {number}


def out_of_place(schedule: weft.Schedule) -> Case:
    nothing: dict[Any, Any] = dict.fromkeys(field.name for field in fields(Case))
    given = {"transfers": schedule.transfers.tolist(), "elements": [1] * len(schedule)}
    return Case(**nothing | given | {"memory": {}})


def first_transfers(schedule: weft.Schedule) -> list[int]:
    """The numbers of the transfers that begin a message."""
    names = schedule.transfers["message"].tolist()
    return [
        row for row, name in enumerate(names) if name == -1 or row == 0 or names[row - 1] != name
    ]


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_what_is_sent_is_what_the_schedule_sends(ranks):
    for algorithm in algorithms_for(ranks):
        root = 0 if algorithm.kind.rooted else None
        schedule = algorithm.build(weft.Collective(algorithm.kind, ranks, root))
        traces = map(trace_from_bytes, chakra_files(schedule, [SIZE] * schedule.collective.blocks))
        sent = [sum(n.whole("comm_size") for n in t.nodes if n.type == 5) for t in traces]
        assert sent == [SIZE * share for share in blocks_sent(schedule)]


def test_a_message_is_written_as_simulators_read_it():
    """The types are those that the feeders of Chakra and ASTRA-sim read."""
    messages = raw(chakra_files(ring(), SIZE)[1])
    assert messages[0]["version"] == "0.0.4"
    receive, reduction, send = messages[1:4]
    assert (receive["type"], reduction["type"], send["type"]) == (6, 4, 5)
    assert values(send) == values(send) | {
        "is_cpu_op": ("bool_val", False),
        "comm_size": ("int64_val", SIZE // 3),
        "comm_src": ("int32_val", 1),
        "comm_dst": ("int32_val", 2),
        "comm_tag": ("int32_val", 1),
    }
    assert values(reduction) == {
        "is_cpu_op": ("bool_val", False),
        "num_ops": ("int64_val", SIZE // 3 // 4),
        "tensor_size": ("uint64_val", SIZE // 3),
    }
    assert reduction["data_deps"] == [receive["id"]]
    assert "data_deps" not in receive
    assert all(message["id"] > 0 for message in messages[1:])


def values(node: Message) -> dict[str, tuple[str, object]]:
    return {
        each["name"]: next((member, each[member]) for member in each if member != "name")
        for each in node["attr"]
    }


def test_nothing_counts_one_byte():
    for schedule in (weft.classic.ring_allgather(weft.allgather(3)), barrier()):
        nodes = [n for file in chakra_files(schedule, 0) for n in trace_from_bytes(file).nodes]
        sizes = {node.whole("comm_size") for node in nodes if node.type != NodeType.COMP}
        assert sizes == {1}


def barrier() -> weft.Schedule:
    return weft.parse_text("two: barrier ranks=2\n0.in0 -> 1.out0 + in0\n1.in0 -> 0.out0 + in0")


def test_a_rank_without_work_has_a_node_all_the_same():
    idle = weft.parse_text("none: allreduce ranks=1 modes=in")
    [content] = chakra_files(idle, SIZE)
    assert [node.type for node in trace_from_bytes(content).nodes] == [NodeType.COMP]
    assert schedule_from_chakra([content]) == idle


def test_a_schedule_that_is_wrong_is_not_written():
    wrong = weft.parse_text("wrong: broadcast ranks=2\n0.in0 -> 0.out0")
    with pytest.raises(weft.WrongSchedule):
        chakra_files(wrong, SIZE)


def test_more_nodes_than_memory_is_meant_for_are_refused(monkeypatch):
    files = chakra_files(ring(), SIZE)
    for module in (reading, schema, writing):
        monkeypatch.setattr(module, "MOST_NODES", 29)
    with pytest.raises(BadInput, match="nodes that ring needs is 30: give 0 to 29"):
        chakra_files(ring(), SIZE)
    with pytest.raises(BadInput, match="nodes of all ranks is 30: give 0 to 29"):
        schedule_from_chakra(files)


def raw(content: bytes) -> list[Message]:
    decoder = Decoder(content)
    messages = [decoder.next_message(METADATA)]
    while decoder.more():
        messages.append(decoder.next_message(NODE))
    return messages


def changed(rank: int, at: int, change: Callable[[Message], None]) -> list[bytes]:
    """The files of a ring with one message of one file changed: 0 is the metadata."""
    files = chakra_files(ring(), SIZE)
    messages = raw(files[rank])
    change(messages[at])
    tables = [METADATA, *[NODE] * (len(messages) - 1)]
    files[rank] = encode_stream(zip(tables, messages, strict=True))
    return files


def put(name: str, value: object, member: str | None = None) -> Callable[[Message], None]:
    """Give an attribute another value, or another type, or take it away."""

    def change(message: Message) -> None:
        old = next(each for each in message["attr"] if each["name"] == name)
        message["attr"].remove(old)
        if value is not None:
            kind = member or next(key for key in old if key != "name")
            message["attr"].append({"name": name, kind: value})

    return change


@pytest.mark.parametrize(
    ("rank", "at", "change", "message"),
    [
        (0, 0, put("weft_schedule", None), "rank 0: 8 sends and receives, but no weft_schedule"),
        (0, 0, put("weft_schedule", "{"), "rank 0: not a valid weft-schedule file"),
        (1, 0, put("weft_schedule", "{}"), "rank 1: it is of another schedule than rank 0's"),
        (1, 0, put("weft_rank", 2), "rank 1: weft_rank is 2: give the files of all ranks in"),
        (1, 2, lambda m: m.update(id=1), "rank 1: a second node 1: give each an id of its own"),
        (1, 3, lambda m: m.update(data_deps=[99]), r"rank 1: node 3 .* needs node 99, which is"),
        (1, 3, lambda m: m.update(data_deps=[3]), r"rank 1: node 3 .* waits for itself"),
        (1, 1, lambda m: m.update(ctrl_deps=[9]), r"rank \d: node \d+ .* waits for itself"),
        (1, 3, lambda m: m.update(type=7), r"which nobody sends"),
        (1, 2, lambda m: m.update(type=7), r"rank 1: node 2 .* has type 7, which a schedule has"),
        (1, 3, put("comm_tag", 99), "from rank 1 to rank 2 with tag 99, which nobody receives"),
        (1, 3, put("comm_tag", 4), "second one from rank 1 to rank 2 with tag 4"),
        (1, 3, put("comm_dst", 1), "from rank 1 to rank 1 with tag 1: a rank has the nodes"),
        (1, 3, put("comm_src", 0), "from rank 0 to rank 2 with tag 1: a rank has the nodes"),
        (1, 3, put("comm_size", 5), "5 bytes are sent and 3000 received from rank 1 to rank 2"),
        (1, 3, put("comm_size", None), r"node 3 .* has no comm_size: give a whole number"),
        (1, 3, put("comm_size", "3000", "string_val"), "has comm_size '3000': give a whole"),
        (1, 3, put("comm_size", -1), "comm_size is -1: give 1 to"),
        (1, 3, put("weft_first", 0), "differ about weft_first"),
        (1, 3, put("weft_message", 5), "differ about weft_message"),
        (1, 3, put("weft_route", None), "has no weft_route"),
        (
            1,
            3,
            put("weft_src_slot", 7, "int64_val"),
            "weft_src_slot is no list of numbers of 32 bits",
        ),
        (1, 3, put("weft_src_slot", {"values": [1, 2]}), "tell of 2, 1, 1 slots"),
        (
            1,
            3,
            put("weft_src_slot", {"values": [1 << 40]}, "int64_list"),
            r"numbers of 32 bits: .* at `\$\[0\]`",
        ),
    ],
)
def test_files_that_were_changed_are_refused(rank, at, change, message):
    with pytest.raises(BadInput, match=message) as caught:
        schedule_from_chakra(changed(rank, at, change))
    assert "\n" not in str(caught.value)


def test_a_gap_in_the_list_is_refused():
    """Both ends agree about a place that another message has."""
    draft = weft.ScheduleDraft(weft.broadcast(2))
    draft.copy(0, 0, 1)
    draft.move(0, 1, 0, 1)
    files = chakra_files(draft.schedule("two"), SIZE)
    for rank, at in ((0, 2), (1, 1)):
        messages = raw(files[rank])
        put("weft_first", 5)(messages[at])
        files[rank] = encode_stream(zip([METADATA, *[NODE] * at], messages, strict=True))
    with pytest.raises(BadInput, match="has weft_first 5, but the list goes on with transfer 1"):
        schedule_from_chakra(files)


def test_all_files_are_needed():
    files = chakra_files(ring(), SIZE)
    with pytest.raises(BadInput, match=r"2 files of .*: give a file for each of its 3 ranks"):
        schedule_from_chakra(files[:2])
    with pytest.raises(BadInput, match="no file: give the traces of all ranks"):
        schedule_from_chakra([])
    with pytest.raises(BadInput, match="rank 0: weft_rank is 1"):
        schedule_from_chakra(files[::-1][1:])


def test_a_file_that_ends_anywhere_is_refused():
    files = chakra_files(weft.classic.ring_allgather(weft.allgather(2)), SIZE)
    for end in range(len(files[1])):
        with pytest.raises(BadInput):
            schedule_from_chakra([files[0], files[1][:end]])
