"""A schedule as an MSCCL++ execution plan, done by puts over memory channels.

Threadblocks: slots of a rank that touch each other there, by a transfer or by sharing a message,
belong to one threadblock, which does what concerns them in list order.  A scratch slot counts as a
new one each time that it is written anew: what only takes turns in it stays apart.  So no two
threadblocks of a rank share data, and all waiting is between ranks.  A wait stands at the place in
the list of the signal that it is for, so none waits for what comes later: no plan made here
deadlocks.

Transfers: the sender puts and signals, the receiver waits, over a channel that belongs to the two
threadblocks.  The put goes straight into the target where all that happened to it on the receiver
is known to the sender to be over: its threadblock has heard, by whatever chain of signals, from the
receiver's since then.  Otherwise, and where something is to be added, it goes into scratch of its
own, from where the receiver copies or adds it.

Calls: a receiver first tells its senders that it has entered; so nothing of one call is written
before the call before is over on that rank, and scratch can be used again.  No second half of
scratch is needed, and buffers stay those of the caller (`reuse_resources` is off).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from weft.checks import MOST_NAME
from weft.errors import BadInput
from weft.formats.mscclpp.gpus import gpu_of
from weft.formats.mscclpp.memory import Content, Places, Range, reachable
from weft.formats.mscclpp.plan import (
    ALIGNMENT,
    MOST_OFFSET,
    MOST_THREADBLOCKS,
    Letter,
    Plan,
    encode_plan,
)
from weft.formats.mscclpp.threadblock import REDUCE, Channel, Draft, Thread
from weft.kinds import Kind
from weft.schedule.replay import Rows
from weft.schedule.schedule import NONE, Schedule
from weft.schedule.verify import pieces_moved

Place = tuple[int, Letter, int]  # rank, buffer, first chunk


def mscclpp_plan(schedule: Schedule, *, in_place: bool = False) -> bytes:
    """Return the schedule, proved correct, as an execution plan for one way to call it."""
    if not (schedule.in_place if in_place else schedule.out_of_place):
        way, other = ("in place", False) if in_place else ("out of place", True)
        raise BadInput(f"{schedule.name} does not work {way}: export it with in_place={other}")
    return encode_plan(_plan(schedule, in_place=in_place))


def _plan(schedule: Schedule, *, in_place: bool) -> Plan:
    collective = schedule.collective
    pieces = pieces_moved(schedule)
    places = Places(schedule, pieces, in_place=in_place)
    messages = [message for message in _messages(schedule, places, pieces) if message.moves]
    drafts = _Writer(messages, places, collective.ranks, in_place=in_place).drafts
    sizes = places.sizes
    chunks = sizes.outputs if collective.kind is Kind.ALLGATHER else sizes.inputs
    largest = MOST_OFFSET // max(sizes.inputs, sizes.outputs, *places.scratch)
    return Plan(
        name=_name(schedule, in_place=in_place),
        collective=str(collective.kind),
        protocol="Simple",
        inplace=in_place,
        gpus=tuple(
            gpu_of(rank, [d for d in drafts if d.thread[0] == rank], places)
            for rank in range(collective.ranks)
        ),
        min_message_size=ALIGNMENT * chunks,
        max_message_size=largest // ALIGNMENT * ALIGNMENT * chunks,
    )


def _name(schedule: Schedule, *, in_place: bool) -> str:
    """The executor tells plans apart by their names."""
    collective = schedule.collective
    suffix = f" {collective.kind} {collective.ranks}{' in place' * in_place}"
    return schedule.name.removesuffix(suffix)[: MOST_NAME - len(suffix)].rstrip() + suffix


def _messages(schedule: Schedule, places: Places, pieces: Rows) -> Iterator[_Message]:
    """What travels together; a transfer without a message travels alone."""
    numbers = schedule.transfers["message"].tolist()
    keys = [(number, at if number == NONE else NONE) for at, number in enumerate(numbers)]
    rows = zip(keys, places.contents, pieces.tolist(), strict=True)
    for _, group in groupby(rows, key=itemgetter(0)):
        yield _Message([(*contents, piece) for _, contents, piece in group], places)


class _Message:
    """What travels together, as ranges."""

    def __init__(
        self, rows: list[tuple[Content, Content, Content | None, int]], places: Places
    ) -> None:
        self.src, self.dst = rows[0][0][0], rows[0][1][0]
        self.moves: list[tuple[Range, Range, Range | None, int]] = []
        for from_, to, plus, piece in rows:
            source, target = places.of(from_), places.of(to)
            added = places.of(plus) if plus else None
            if added or source != target:  # In place, what is to be copied may be there already.
                self.moves.append((source, target, added, piece))

    @property
    def read(self) -> list[Place]:
        return [source[:3] for source, *_ in self.moves]

    @property
    def touched(self) -> list[Place]:
        """On the receiver."""
        targets = [target[:3] for _, target, _, _ in self.moves]
        return targets + [added[:3] for _, _, added, _ in self.moves if added]


def _threads(messages: list[_Message], ranks: int) -> dict[Place, Thread]:
    """Which threadblock does what concerns a place."""
    parent: dict[Place, Place] = {}

    def root(place: Place) -> Place:
        while parent.setdefault(place, place) != place:
            parent[place] = place = parent[parent[place]]
        return place

    for message in messages:
        at_src, at_dst = message.read, message.touched
        together = [at_src + at_dst] if message.src == message.dst else [at_src, at_dst]
        for places in together:
            for place in places:
                parent[root(place)] = root(places[0])
    numbers: list[dict[Place, int]] = [{} for _ in range(ranks)]
    threads: dict[Place, Thread] = {}
    for place in sorted(parent):
        known = numbers[place[0]]
        number = known.setdefault(root(place), len(known))
        threads[place] = place[0], number % MOST_THREADBLOCKS
    return threads


class _Writer:
    """Goes through the list once and writes all threadblocks."""

    def __init__(
        self, messages: list[_Message], places: Places, ranks: int, *, in_place: bool
    ) -> None:
        self._places = places
        self._reachable = reachable(places.sizes, in_place=in_place)
        self._threads = _threads(messages, ranks)
        idle = {(rank, 0) for rank in range(ranks)}
        self._drafts = {t: Draft(t) for t in sorted(idle | set(self._threads.values()))}
        self._touched: dict[Place, int] = {}  # by the message of that number, last
        self._heard: dict[Thread, dict[Thread, int]] = {t: {} for t in self._drafts}
        self._enter(messages)
        for number, message in enumerate(messages):
            if message.src == message.dst:
                self._work(number, message)
            else:
                self._send(number, message)

    @property
    def drafts(self) -> list[Draft]:
        return list(self._drafts.values())

    def _ends(self, message: _Message) -> tuple[Thread, Thread]:
        return self._threads[message.read[0]], self._threads[message.touched[0]]

    def _enter(self, messages: list[_Message]) -> None:
        sends = sorted({self._ends(m) for m in messages if m.src != m.dst})
        for sender, receiver in sorted(sends, key=lambda ends: Channel(ends[1], ends[0]).order):
            self._drafts[receiver].signal(Channel(receiver, sender), "rlxsignal")
        for sender, receiver in sorted(sends, key=lambda ends: Channel(*ends).order):
            self._drafts[sender].wait(Channel(sender, receiver), "rlxwait")

    def _work(self, number: int, message: _Message) -> None:
        draft = self._drafts[self._ends(message)[0]]
        for source, target, added, _ in message.moves:
            _apply(draft, source, target, added)
            self._touch(number, source, target, added)

    def _send(self, number: int, message: _Message) -> None:
        sender, receiver = self._ends(message)
        left: list[tuple[Range, Range, Range | None]] = []
        for source, target, added, piece in message.moves:
            lands = target
            if added or not self._is_free(target, sender, receiver):
                lands = self._places.stage(message.dst, piece)
                left.append((lands, target, added))
            self._drafts[sender].move("put", [source], lands)
            self._touch(number, source, target, added)
        self._drafts[sender].signal(Channel(sender, receiver))
        self._drafts[receiver].wait(Channel(receiver, sender))
        for lands, target, added in left:
            _apply(self._drafts[receiver], lands, target, added)
        self._heard[sender][sender] = number
        for thread, last in self._heard[sender].items():
            known = self._heard[receiver]
            known[thread] = max(last, known.get(thread, NONE))

    def _touch(self, number: int, *places: Range | None) -> None:
        self._touched.update({place[:3]: number for place in places if place})

    def _is_free(self, target: Range, sender: Thread, receiver: Thread) -> bool:
        if target.buffer not in self._reachable:
            return False
        heard = self._heard[sender].get(receiver, NONE)
        return self._touched.get(target[:3], NONE) <= heard


def _apply(draft: Draft, source: Range, target: Range, added: Range | None) -> None:
    if added:
        draft.move(REDUCE, [added, source], target)
    else:
        draft.move("copy", [source], target)
