"""Which threadblock does what.

Places of a rank that are written, and that touch each other there by a transfer or by sharing a
message, belong to one threadblock, which does what concerns them in list order.  What is only read
belongs to none: what is sent from there is done by a threadblock of its own for each threadblock
that receives it.  So no two threadblocks of a rank share data, but to read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from weft.formats.mscclpp.memory import Place, Range
from weft.formats.mscclpp.threadblock import Thread


class Move(NamedTuple):
    """A piece goes from range to range, or is added to one."""

    source: Range
    target: Range
    addend: Range | None
    piece: int

    def goes_on(self, before: Move) -> bool:
        """Whether all its ranges begin where those of another end."""
        mine, theirs = ([m.source, m.target, m.addend] for m in (self, before))
        return all(
            one.follows(other) if one and other else one is other
            for one, other in zip(mine, theirs, strict=True)
        )


class Message(NamedTuple):
    """What travels together."""

    moves: Sequence[Move]

    @property
    def src(self) -> int:
        return self.moves[0].source.rank

    @property
    def dst(self) -> int:
        return self.moves[0].target.rank


def ends_of(messages: Sequence[Message], most: int) -> list[tuple[Thread, Thread]]:
    """For each message who sends and who receives it, with so many threadblocks a rank."""
    group_of = _groups(messages)
    count = Counter[int]()
    threads: dict[object, Thread] = {}

    def thread(rank: int, group: object) -> Thread:
        if group not in threads:
            threads[group] = rank, count[rank] % most
            count[rank] += 1
        return threads[group]

    for place in sorted(group_of):
        thread(place[0], group_of[place])
    receivers = [threads[group_of[message.moves[0].target[:3]]] for message in messages]
    senders: list[Thread | None] = []
    for message, receiver in zip(messages, receivers, strict=True):
        read = (move.source[:3] for move in message.moves)
        group = next((group_of[place] for place in read if place in group_of), None)
        within = receiver if message.src == message.dst else None
        senders.append(threads[group] if group else within)
    ends = list(zip((message.src for message in messages), senders, receivers, strict=True))
    for src, _, receiver in sorted({end for end in ends if end[1] is None}, key=itemgetter(0, 2)):
        thread(src, (src, receiver))
    return [(sender or threads[src, receiver], receiver) for src, sender, receiver in ends]


def _groups(messages: Sequence[Message]) -> dict[Place, Place]:
    """For each place that is written one that stands for all that belong together."""
    parent = {move.target[:3]: move.target[:3] for message in messages for move in message.moves}

    def root(place: Place) -> Place:
        while parent[place] != place:
            parent[place] = place = parent[parent[place]]
        return place

    for message in messages:
        read = [move.source[:3] for move in message.moves]
        touched = [move.target[:3] for move in message.moves]
        touched += [move.addend[:3] for move in message.moves if move.addend]
        for together in [touched + read] if message.src == message.dst else [touched, read]:
            written = [place for place in together if place in parent]
            for place in written:
                parent[root(place)] = root(written[0])
    return {place: root(place) for place in parent}
