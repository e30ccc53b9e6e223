"""Traces that we wrote, as the schedule that they were: every rank's file at once.

The place of every transfer in the list is told, so nothing is concluded from what nodes need; that
is only held against deadlock.  Whether the schedule is right is for the verifier to say.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from weft.checks import require_range
from weft.collective import Table
from weft.errors import BadInput
from weft.formats.chakra.protobuf import MOST_VALUES
from weft.formats.chakra.schema import MOST_NODES, Node, NodeType, Trace, trace_from_bytes
from weft.formats.weft_json import schedule_from_json
from weft.schedule.schedule import NONE, TRANSFER, Schedule

_MOST = (1 << 31) - 1


class _Tag(NamedTuple):
    """What the two ends of a message agree about, once in all."""

    src: int
    dst: int
    number: int

    def __str__(self) -> str:
        return f"from rank {self.src} to rank {self.dst} with tag {self.number}"


class _Message(NamedTuple):
    """Its ends are one node where it stays on a rank."""

    src: int
    dst: int
    sender: Node
    receiver: Node


def schedule_from_chakra(files: Sequence[bytes]) -> Schedule:
    """Return the schedule of these traces, rank 0's first, as it stands there, not yet verified."""
    traces: list[Trace] = []
    nodes = values = 0
    for rank, content in enumerate(files):
        with _naming(rank):
            traces.append(trace_from_bytes(content))
        nodes += len(traces[-1].nodes)
        values += traces[-1].values
        require_range("the number of nodes of all ranks", nodes, 0, MOST_NODES)
        require_range("the number of values of all ranks", values, 0, MOST_VALUES)
    empty = _header(traces)
    messages = [*_between(traces), *_within(traces)]
    _require_order(traces, messages)
    return replace(empty, transfers=_transfers(messages))


@contextmanager
def _naming(rank: int) -> Generator[None]:
    """Say in whose file the fault is."""
    try:
        yield
    except BadInput as problem:
        raise BadInput(f"the file of rank {rank}: {problem}") from None


def _header(traces: Sequence[Trace]) -> Schedule:
    """The schedule without its transfers, which every file holds."""
    if not traces:
        raise BadInput("no file: give the traces of all ranks")
    told = str(traces[0].attributes.get("weft_schedule"))
    with _naming(0):
        _require_ours(traces[0])
        schedule = schedule_from_json(told.encode())
    for rank, trace in enumerate(traces):
        with _naming(rank):
            _require_ours(trace)
            if trace.attributes["weft_schedule"] != told:
                raise BadInput("it is of another schedule than rank 0's: write all files again")
            if trace.attributes.get("weft_rank") != rank:
                raise BadInput(
                    f"weft_rank is {trace.attributes.get('weft_rank')!r:.40}: "
                    "give the files of all ranks in their order"
                )
    ranks = schedule.collective.ranks
    if len(schedule) or ranks != len(traces):
        raise BadInput(
            f"{len(traces)} files of {schedule!r}: give a file for each of its {ranks} ranks, "
            "as they were written"
        )
    return schedule


def _require_ours(trace: Trace) -> None:
    if isinstance(trace.attributes.get("weft_schedule"), str):
        return
    types = Counter(node.type for node in trace.nodes)
    if sends := types[NodeType.SEND] + types[NodeType.RECV]:
        raise BadInput(
            f"{sends} sends and receives, but no weft_schedule: they do not say what they carry or "
            "where it goes, so nothing can be verified; give files that weft wrote"
        )
    raise BadInput(
        f"no weft_schedule, and {types[NodeType.COLL]} collectives by name: this trace says what "
        "is called, not how it is done; list that with `weft calls`, or give files that weft wrote"
    )


def _between(traces: Sequence[Trace]) -> list[_Message]:
    """The messages between ranks: each has one sender and one receiver, of one size."""
    sends = dict(_tagged(traces, NodeType.SEND))
    receives = dict(_tagged(traces, NodeType.RECV))
    messages: list[_Message] = []
    for tag, sender in sends.items():
        receiver = receives.pop(tag, None)
        if receiver is None:
            raise BadInput(f"{sender} sends {tag}, which nobody receives: write all files again")
        sizes = [node.whole("comm_size", 1) for node in (sender, receiver)]
        if sizes[0] != sizes[1]:
            raise BadInput(f"{sizes[0]} bytes are sent and {sizes[1]} received {tag}: write again")
        messages.append(_Message(tag.src, tag.dst, sender, receiver))
    for tag, receiver in receives.items():
        raise BadInput(f"{receiver} receives {tag}, which nobody sends: write all files again")
    return messages


def _tagged(traces: Sequence[Trace], kind: NodeType) -> Iterator[tuple[_Tag, Node]]:
    own = "comm_src" if kind is NodeType.SEND else "comm_dst"
    seen: set[_Tag] = set()
    for rank, trace in enumerate(traces):
        for node in trace.nodes:
            if node.type != kind:
                continue
            with _naming(rank):
                tag = _Tag(*(node.whole(f"comm_{name}") for name in ("src", "dst", "tag")))
                if node.whole(own, 0) != rank or tag.src == tag.dst:
                    raise BadInput(f"{node} is {tag}: a rank has the nodes of its own messages")
                if tag in seen:
                    raise BadInput(f"{node} is the second one {tag}: give each a tag of its own")
            seen.add(tag)
            yield tag, node


def _within(traces: Sequence[Trace]) -> Iterator[_Message]:
    """The messages that stay on a rank; COMP nodes that only add up what came say nothing."""
    for rank, trace in enumerate(traces):
        for node in trace.nodes:
            if node.type == NodeType.COMP and "weft_first" in node.attributes:
                yield _Message(rank, rank, node, node)
            if node.type not in {NodeType.COMP, NodeType.SEND, NodeType.RECV}:
                raise BadInput(
                    f"the file of rank {rank}: {node} has type {node.type}, "
                    "which a schedule has not: write all files again"
                )


def _require_order(traces: Sequence[Trace], messages: Sequence[_Message]) -> None:
    """Every node can be done at last: what it needs exists, and nothing waits for itself."""
    nodes = [(rank, node) for rank, trace in enumerate(traces) for node in trace.nodes]
    numbers = _numbered(nodes)
    waits = [*_needs(nodes, numbers)]
    waits += [
        (numbers[dst, receiver.id], numbers[src, sender.id])
        for src, dst, sender, receiver in messages
        if src != dst
    ]
    waiting = Counter(later for later, _ in waits)
    needed_by: dict[int, list[int]] = defaultdict(list)
    for later, earlier in waits:
        needed_by[earlier].append(later)
    ready = [number for number in range(len(nodes)) if number not in waiting]
    while ready:
        for later in needed_by[ready.pop()]:
            waiting[later] -= 1
            if not waiting[later]:
                del waiting[later]
                ready.append(later)
    if waiting:
        rank, node = nodes[_in_a_circle(waits, waiting)]
        raise BadInput(
            f"the file of rank {rank}: {node} waits for itself, through what it needs: "
            "write all files again"
        )


def _in_a_circle(waits: Sequence[tuple[int, int]], waiting: Mapping[int, int]) -> int:
    """One of the nodes that wait for themselves, not only for those."""
    stuck_by = {later: earlier for later, earlier in waits if earlier in waiting}
    node, seen = min(waiting), set[int]()
    while node not in seen:
        seen.add(node)
        node = stuck_by[node]
    return node


def _needs(
    nodes: Sequence[tuple[int, Node]], numbers: Mapping[tuple[int, int], int]
) -> Iterator[tuple[int, int]]:
    """(node, what it needs) by their numbers among all nodes."""
    for number, (rank, node) in enumerate(nodes):
        for need in node.needs:
            if (rank, need) not in numbers:
                raise BadInput(
                    f"the file of rank {rank}: {node} needs node {need}, which is not there: "
                    "write all files again"
                )
            yield number, numbers[rank, need]


def _numbered(nodes: Sequence[tuple[int, Node]]) -> dict[tuple[int, int], int]:
    numbers: dict[tuple[int, int], int] = {}
    for number, (rank, node) in enumerate(nodes):
        if numbers.setdefault((rank, node.id), number) != number:
            raise BadInput(
                f"the file of rank {rank}: a second node {node.id}: give each an id of its own"
            )
    return numbers


def _transfers(messages: Sequence[_Message]) -> Table:
    """All transfers in the order of the list, which they must fill without a gap."""
    ordered = sorted(
        ((_told(each, "first", 0), each) for each in messages), key=lambda pair: pair[0]
    )
    rows: list[tuple[int, ...]] = []
    for first, message in ordered:
        if first != len(rows):
            raise BadInput(
                f"{message.sender} has weft_first {first}, but the list goes on with transfer "
                f"{len(rows)}: write all files again"
            )
        rows += _rows(message)
    return np.array(rows, TRANSFER)


def _rows(message: _Message) -> list[tuple[int, ...]]:
    src, dst, sender, receiver = message
    slots = [
        sender.numbers("weft_src_slot"),
        receiver.numbers("weft_dst_slot"),
        receiver.numbers("weft_addend"),
    ]
    if not len(slots[0]) == len(slots[1]) == len(slots[2]) > 0:
        raise BadInput(
            f"{sender} and {receiver} tell of {', '.join(str(len(each)) for each in slots)} slots: "
            "as many are read, written and added to"
        )
    number, route = _told(message, "message", NONE), _told(message, "route", 0)
    return [(src, dst, *row, number, route) for row in zip(*slots, strict=True)]


def _told(message: _Message, name: str, least: int) -> int:
    """What both ends know."""
    values = {node.whole(f"weft_{name}", least, _MOST) for node in message[2:]}
    if len(values) > 1:
        raise BadInput(
            f"{message.sender} and {message.receiver} differ about weft_{name}: write again"
        )
    return values.pop()
