"""The verifier's slow twin: the meaning of a schedule, one transfer at a time, in plain Python.

It shares nothing with the native verifier but the collective's tables, and says what it finds in
the same terms: (rule, transfer, rank, slot), with transfer -1 where the result is wrong.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from weft.collective import Table
from weft.schedule.schedule import Schedule
from weft.topology.topology import Topology

Place = tuple[int, int]
NOBODY = -1


class Found(NamedTuple):
    rule: str
    transfer: int
    rank: int
    slot: int


class Held(NamedTuple):
    piece: int
    ranks: Counter[int]


class Transfer(NamedTuple):
    src: int
    dst: int
    src_slot: int
    dst_slot: int
    addend: int
    message: int
    route: int

    @property
    def source(self) -> Place:
        return self.src, self.src_slot

    @property
    def target(self) -> Place:
        return self.dst, self.dst_slot

    @property
    def other(self) -> Place:
        return self.dst, self.addend


def replay(schedule: Schedule, aliases: Table, topology: Topology | None = None) -> Found | None:
    """Return what is wrong first, or None."""
    state = State(schedule, aliases, topology)
    for number, row in enumerate(schedule.transfers.tolist()):
        for rule, holds, where in state.rules(Transfer(*row)):
            if not holds:
                return Found(rule, number, *where)
        state.apply(Transfer(*row))
    for rank, slot, piece, first, count in schedule.collective.final.tolist():
        if state.held.get(state.at((rank, slot))) != Held(piece, _contributors(first, count)):
            return Found("result is right", NOBODY, rank, slot)
    return None


class State:
    """Who holds what, and the message under way."""

    def __init__(self, schedule: Schedule, aliases: Table, topology: Topology | None) -> None:
        self.schedule, self.collective, self.topology = schedule, schedule.collective, topology
        self.memory = {(r, s): (r, p) for r, s, p in aliases.tolist()}
        self.writable, self.slots = _permissions(schedule, self.memory)
        self.held = {
            self.at((rank, slot)): Held(piece, _contributors(first, count))
            for rank, slot, piece, first, count in self.collective.initial.tolist()
        }
        self.only = {
            self.at((rank, slot)): piece for rank, slot, piece, *_ in self.collective.final.tolist()
        }
        self.last: Transfer | None = None
        self.newest = NOBODY
        self.written: set[Place] = set()  # by the message under way

    def at(self, place: Place) -> Place:
        return self.memory.get(place, place)

    def goes_on(self, t: Transfer) -> bool:
        return self.last is not None and t.message == self.last.message != NOBODY

    def rules(self, t: Transfer) -> list[tuple[str, bool, Place]]:
        """Each rule, whether it holds, and where to look if not."""
        ranks = range(self.collective.ranks)
        source = self.held.get(self.at(t.source))
        addend = self.held.get(self.at(t.other))
        adds = t.addend != NOBODY
        return [
            ("sender exists", t.src in ranks, t.source),
            ("receiver exists", t.dst in ranks, t.target),
            ("source exists", t.source in self.slots, t.source),
            ("target exists", t.target in self.slots, t.target),
            ("addend exists", not adds or t.other in self.slots, t.other),
            ("input is kept", self.at(t.target) in self.writable, t.target),
            ("route exists", _has_route(t, self.topology), t.source),
            ("message is whole", self._is_whole(t), t.source),
            ("message is sent at once", not self._reads_own_message(t), t.source),
            ("source is written", source is not None, t.source),
            ("output fits", source is None or self._fits(t, source), t.target),
            ("addend is written", not adds or addend is not None, t.other),
            ("addend matches", not adds or _same_piece(source, addend), t.other),
        ]

    def apply(self, t: Transfer) -> None:
        if not self.goes_on(t):
            self.written = set()
        piece, contributions = self.held[self.at(t.source)]
        if t.addend != NOBODY:
            contributions = contributions + self.held[self.at(t.other)].ranks
        if self.collective.heard_is_enough:
            contributions = Counter(dict.fromkeys(contributions, 1))
        self.held[self.at(t.target)] = Held(piece, contributions)
        self.written.add(self.at(t.target))
        self.newest = max(self.newest, t.message)
        self.last = t

    def _is_whole(self, t: Transfer) -> bool:
        if self.last is not None and self.goes_on(t):
            return (t.src, t.dst, t.route) == (self.last.src, self.last.dst, self.last.route)
        return t.message == NOBODY or t.message > self.newest

    def _fits(self, t: Transfer, source: Held) -> bool:
        return bool(self.only.get(self.at(t.target), source.piece) == source.piece)

    def _reads_own_message(self, t: Transfer) -> bool:
        return self.goes_on(t) and self.at(t.source) in self.written


def _same_piece(one: Held | None, other: Held | None) -> bool:
    return one is not None and other is not None and one.piece == other.piece


def _contributors(first: int, count: int) -> Counter[int]:
    return Counter(range(first, first + count))


def _permissions(schedule: Schedule, memory: dict[Place, Place]) -> tuple[set[Place], set[Place]]:
    """Memory that may be written, and slots that there are."""
    collective = schedule.collective
    given = {(rank, slot) for rank, slot, *_ in collective.initial.tolist()}
    wanted = {(rank, slot) for rank, slot, *_ in collective.final.tolist()}
    scratch = {
        (rank, collective.scratch(slot))
        for rank in range(collective.ranks)
        for slot in range(schedule.scratch)
    }
    writable = {memory.get(at, at) for at in wanted | scratch}
    return writable, given | wanted | scratch


def _has_route(t: Transfer, topology: Topology | None) -> bool:
    if t.src == t.dst:
        return t.route == 0
    if topology is None or not {t.src, t.dst} <= set(range(topology.ranks)):
        return t.route >= 0
    return 0 <= t.route < len(topology.routes(t.src, t.dst))
