"""A schedule as traces that ASTRA-sim runs as a custom collective algorithm, a file for each rank.

A message is a COMM_SEND node on one rank and a COMM_RECV node on the other; its number in the list
is its tag.  Where the receiver adds what came, a COMP node follows; a message within a rank is a
COMP node.  Nodes need exactly what the lowering says that operations need, called out of place
where the schedule works so.

What a trace cannot say is in attributes whose names begin with `weft_`, which others skip: in the
metadata, the schedule without its transfers as weft JSON, and the rank; in nodes, the number of the
first transfer, the message, the route, and the slots that this end of the message touches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from weft import _native
from weft.checks import require_range
from weft.collective import Table
from weft.formats.chakra.protobuf import Message
from weft.formats.chakra.schema import MOST_NODES, VERSION, NodeType, attribute, trace_to_bytes
from weft.formats.weft_json import schedule_to_json
from weft.schedule.lowering import elements_moved, lower
from weft.schedule.replay import modes
from weft.schedule.schedule import Schedule
from weft.simulate.sizes import block_sizes
from weft.simulate.trace import MESSAGE, PART

ELEMENT = 4  # bytes of what a COMP node adds up


class _Message(NamedTuple):
    """What travels together."""

    number: int
    src: int
    dst: int
    first: int  # of its transfers, in the list
    rows: Table
    moved: int  # bytes
    added: int  # of them, those that the receiver adds to what it has


def chakra_files(schedule: Schedule, size: int | Sequence[int]) -> list[bytes]:
    """Return the trace of every rank, where a rank gives or gets `size` bytes.

    That is the size that nccl-tests counts by; a list has the bytes of every block instead.  A
    piece of nothing counts one byte, as simulators refuse messages of none.
    """
    elements = np.maximum(elements_moved(schedule, block_sizes(schedule, size)), 1)
    plan = lower(schedule, modes(schedule)[0], elements)
    messages = _messages(schedule, plan)
    nodes = sum(3 if message.added else 2 for message in messages)
    require_range(f"the number of nodes that {schedule.name} needs", nodes, 0, MOST_NODES)
    ends: list[list[_Message]] = [[] for _ in range(schedule.collective.ranks)]
    for message in messages:
        for rank in {message.src, message.dst}:
            ends[rank].append(message)
    header = schedule_to_json(replace(schedule, transfers=schedule.transfers[:0])).decode()
    return [
        trace_to_bytes(_metadata(header, rank), _nodes(rank, own, plan.needs(rank)))
        for rank, own in enumerate(ends)
    ]


def _messages(schedule: Schedule, plan: _native.Plan) -> list[_Message]:
    parts, messages = plan.parts.view(PART), plan.messages.view(MESSAGE)
    require_range(f"the number of messages of {schedule.name}", len(messages), 0, MOST_NODES // 2)
    made: list[_Message] = []
    for number, (_, src, dst, first, count, _, _) in enumerate(messages.tolist()):
        own = parts[first : first + count]
        made.append(
            _Message(
                number=number,
                src=src,
                dst=dst,
                first=int(own["transfer"][0]),
                rows=schedule.transfers[own["transfer"]],
                moved=int(own["elements"].sum()),
                added=int(own["elements"][own["adds"]].sum()),
            )
        )
    return made


def _metadata(header: str, rank: int) -> Message:
    return {
        "version": VERSION,
        "attr": [
            attribute("weft_schedule", "string_val", header),
            attribute("weft_rank", "int64_val", rank),
        ],
    }


def _nodes(rank: int, messages: list[_Message], needs: list[list[int]]) -> Iterator[Message]:
    """A rank's operations are its messages in list order; `done` has the last node of each.

    Nodes count from 1, since protocol buffers do not write a 0.  ASTRA-sim never ends on a rank
    without a node.
    """
    if not messages:
        yield {"id": 1} | _compute("nothing to do", 1, 0)
    number, done = 0, list[int]()
    for message, needed in zip(messages, needs, strict=True):
        number += 1
        before = {"id": number, "data_deps": [done[operation] for operation in needed]}
        told = _told(message, rank)
        if message.src == message.dst:
            word = "reduce" if message.added else "copy"
            node = _compute(f"{word} {message.number}", message.moved, message.added)
            yield before | node | {"attr": [*node["attr"], *told]}
        else:
            yield before | _end(message, told, sends=message.src == rank)
        if message.added and message.dst == rank != message.src:
            number += 1
            reduction = _compute(f"reduce {message.number}", message.added, message.added)
            yield {"id": number, "data_deps": [number - 1]} | reduction
        done.append(number)


def _end(message: _Message, told: list[Message], *, sends: bool) -> Message:
    """The sender's or the receiver's node of a message."""
    number, src, dst = message.number, message.src, message.dst
    return {
        "name": f"send {number} to {dst}" if sends else f"receive {number} from {src}",
        "type": NodeType.SEND if sends else NodeType.RECV,
        "attr": [
            attribute("is_cpu_op", "bool_val", value=False),
            attribute("comm_size", "int64_val", message.moved),
            attribute("comm_src", "int32_val", src),
            attribute("comm_dst", "int32_val", dst),
            attribute("comm_tag", "int32_val", number),
            *told,
        ],
    }


def _compute(name: str, size: int, added: int) -> Message:
    """Work on `size` bytes; at least one operation, so that a roofline has something to divide."""
    return {
        "name": name,
        "type": NodeType.COMP,
        "attr": [
            attribute("is_cpu_op", "bool_val", value=False),
            attribute("num_ops", "int64_val", max(1, added // ELEMENT)),
            attribute("tensor_size", "uint64_val", size),
        ],
    }


def _told(message: _Message, rank: int) -> list[Message]:
    """What only we read: all that this end of the message knows of its transfers."""
    rows, slots = message.rows, list[str]()
    if message.src == rank:
        slots += ["src_slot"]
    if message.dst == rank:
        slots += ["dst_slot", "addend"]
    return [
        attribute("weft_first", "int64_val", message.first),
        attribute("weft_message", "int32_val", int(rows["message"][0])),
        attribute("weft_route", "int32_val", int(rows["route"][0])),
        *(attribute(f"weft_{slot}", "int32_list", rows[slot].tolist()) for slot in slots),
    ]
