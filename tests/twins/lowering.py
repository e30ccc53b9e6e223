"""The lowering's slow twin: what travels together, and what must come first, from the list itself.

What a rank has to do with a message goes by the message's number.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

Place = tuple[int, int]  # rank, slot
Task = tuple[int, int]  # rank, message
Way = tuple[int, int, int]  # src, dst, route
Path = tuple[int, bool, list[int]]  # latency, whether the processor moves the bytes, resources
NONE = -1


@dataclass
class Case:
    """A list, how it is carried out, and on what: picoseconds, and bytes per second."""

    ranks: int
    transfers: list[tuple[int, ...]]
    elements: list[int]  # bytes that each of them moves
    first_scratch: int
    memory: dict[Place, Place]  # of slots that are the same as another
    empty_too: bool
    segments: int
    window: int
    rates: list[int]  # of the resources after the processors
    overheads: tuple[int, int, int, int]  # send, receive, reduce, copy
    paths: dict[Way, Path]
    slowdowns: dict[int, list[tuple[int, int, int]]]  # of a resource: from, until, factor
    deaths: list[tuple[int, int]]  # time, rank
    deadline: int


class Part(NamedTuple):
    source: Place
    target: Place
    addend: Place | None
    elements: int


class Message(NamedTuple):
    way: Way
    parts: list[Part]

    def leaves(self, rank: int) -> bool:
        return self.way[0] == rank != self.way[1]

    def comes(self, rank: int) -> bool:
        return self.way[0] != rank == self.way[1]


def messages_of(case: Case) -> list[Message]:
    messages: list[Message] = []
    last = NONE
    for row, elements in zip(case.transfers, case.elements, strict=True):
        src, dst, src_slot, dst_slot, addend, name, route = row
        if not elements and not case.empty_too:
            continue
        if name == NONE or name != last:
            messages.append(Message((src, dst, route), []))
        at = [case.memory.get(p, p) for p in ((src, src_slot), (dst, dst_slot), (dst, addend))]
        messages[-1].parts.append(Part(at[0], at[1], None if addend == NONE else at[2], elements))
        last = name
    return messages


def needs_of(messages: list[Message]) -> dict[Task, set[int]]:
    """What must come first on a rank, since it touches the same memory."""
    writer: dict[Place, int] = {}
    readers: defaultdict[Place, set[int]] = defaultdict(set)
    needs: defaultdict[Task, set[int]] = defaultdict(set)
    for number, (_, parts) in enumerate(messages):
        for part in parts:
            for at in (part.source, part.target, part.addend):
                if at in writer:
                    needs[at[0], number].add(writer[at])
            needs[part.target[0], number] |= readers[part.target]
        for part in parts:
            for at in (part.source, part.addend or part.source):
                readers[at].add(number)
        for part in parts:
            writer[part.target], readers[part.target] = number, set()
    return needs


def followers_of(messages: list[Message], first_scratch: int) -> dict[Task, int]:
    """The message that alone moves on, and moves alone, what another alone left in scratch."""
    uses: defaultdict[Place, list[tuple[str, int]]] = defaultdict(list)
    for number, (_, parts) in enumerate(messages):
        alone = len(parts) == 1
        for part in parts:
            uses[part.source].append(("moves" if alone else "reads", number))
            if part.addend:
                uses[part.addend].append(("reads", number))
        for part in parts:
            uses[part.target].append(("fills" if alone else "writes", number))
    followers: dict[Task, int] = {}
    for (rank, slot), used in uses.items():
        then, after = used[1:], [*used[2:], ("writes", NONE)]
        for (what, writer), (how, reader), (last, other) in zip(used, then, after, strict=False):
            relayed = (what, how) == ("fills", "moves") and last in {"fills", "writes"}
            if relayed and slot >= first_scratch and other != reader:
                followers[rank, writer] = reader
    return followers
