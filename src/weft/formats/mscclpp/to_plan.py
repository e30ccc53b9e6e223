"""A schedule as an MSCCL++ execution plan, done by puts over memory channels.

Threadblocks: no two of a rank share data (`sharing.py`), and all waiting is between ranks.  A
scratch slot counts as a new one each time that it is written anew, so what only takes turns in it
stays apart.  A wait stands at the place in the list of the signal that it is for, so none waits for
what comes later: no plan made here deadlocks.

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

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from operator import itemgetter

from weft.checks import MOST_NAME
from weft.errors import BadInput
from weft.formats.mscclpp.gpus import gpu_of
from weft.formats.mscclpp.memory import Content, Place, Places, Range, reachable
from weft.formats.mscclpp.plan import (
    ALIGNMENT,
    MOST_OFFSET,
    MOST_THREADBLOCKS,
    Gpu,
    Plan,
    encode_plan,
    name_suffix,
)
from weft.formats.mscclpp.sharing import Message, Move, ends_of
from weft.formats.mscclpp.threadblock import REDUCE, Channel, Draft, Thread
from weft.kinds import Kind
from weft.schedule.replay import Rows
from weft.schedule.schedule import NONE, Schedule
from weft.schedule.verify import pieces_moved


def mscclpp_plan(schedule: Schedule, *, in_place: bool = False) -> bytes:
    """Return the schedule, proved correct, as an execution plan for one way to call it."""
    if not (schedule.in_place if in_place else schedule.out_of_place):
        way, other = ("in place", False) if in_place else ("out of place", True)
        raise BadInput(f"{schedule.name} does not work {way}: export it with in_place={other}")
    return encode_plan(_plan(schedule, in_place=in_place))


def _plan(schedule: Schedule, *, in_place: bool) -> Plan:
    places, gpus = _written(schedule, in_place=in_place)
    sizes = places.sizes
    kind = schedule.collective.kind
    chunks = sizes.outputs if kind is Kind.ALLGATHER else sizes.inputs
    largest = MOST_OFFSET // max(sizes.inputs, sizes.outputs, *places.scratch)
    return Plan(
        name=_name(schedule, in_place=in_place),
        collective=str(kind),
        protocol="Simple",
        inplace=in_place,
        gpus=gpus,
        min_message_size=ALIGNMENT * chunks,
        max_message_size=largest // ALIGNMENT * ALIGNMENT * chunks,
    )


def _written(schedule: Schedule, *, in_place: bool) -> tuple[Places, tuple[Gpu, ...]]:
    """With fewer threadblocks, and so fewer channels of each, where the limits demand it."""
    pieces, ranks = pieces_moved(schedule), range(schedule.collective.ranks)
    problems: list[BadInput] = []
    most = MOST_THREADBLOCKS
    while most:
        places = Places(schedule, pieces, in_place=in_place)
        messages = list(_messages(schedule, places, pieces))
        drafts = _Writer(messages, places, ends_of(messages, most), in_place=in_place).drafts
        try:
            return places, tuple(gpu_of(rank, drafts[rank], places) for rank in ranks)
        except BadInput as problem:
            problems.append(problem)
        most //= 2
    raise problems[0]


def _name(schedule: Schedule, *, in_place: bool) -> str:
    """The executor tells plans apart by their names."""
    collective = schedule.collective
    suffix = name_suffix(str(collective.kind), collective.ranks, in_place=in_place)
    return schedule.name.removesuffix(suffix)[: MOST_NAME - len(suffix)].rstrip() + suffix


def _messages(schedule: Schedule, places: Places, pieces: Rows) -> Iterator[Message]:
    """What travels together; a transfer without a message travels alone.

    Within a rank only what is one range is done together, for nothing else demands it.
    """
    numbers = schedule.transfers["message"].tolist()
    keys = [(number, at if number == NONE else NONE) for at, number in enumerate(numbers)]
    rows = zip(keys, places.contents, pieces.tolist(), strict=True)
    for _, group in groupby(rows, key=itemgetter(0)):
        moves = list(_moves(((contents, piece) for _, contents, piece in group), places))
        if moves and moves[0].source.rank != moves[0].target.rank:
            yield Message(moves)
            continue
        ends = [at for at in range(1, len(moves)) if not moves[at].goes_on(moves[at - 1])]
        for begin, end in pairwise([0, *ends, len(moves)] if moves else []):
            yield Message(moves[begin:end])


def _moves(
    rows: Iterable[tuple[tuple[Content, Content, Content | None], int]], places: Places
) -> Iterator[Move]:
    for (from_, to, plus), piece in rows:
        source, target = places.of(from_), places.of(to)
        if plus or source != target:  # In place, what is to be copied may be there already.
            yield Move(source, target, places.of(plus) if plus else None, piece)


class _Writer:
    """Goes through the list once and writes all threadblocks."""

    def __init__(
        self,
        messages: Sequence[Message],
        places: Places,
        ends: Sequence[tuple[Thread, Thread]],
        *,
        in_place: bool,
    ) -> None:
        self._places = places
        self._reachable = reachable(places.sizes, in_place=in_place)
        idle = {(rank, 0) for rank in range(len(places.scratch))}
        threads = sorted(idle.union(*ends))
        self._drafts = {thread: Draft(thread) for thread in threads}
        self._touched: dict[Place, int] = {}  # by the message of that number, last
        self._heard: dict[Thread, dict[Thread, int]] = {thread: {} for thread in threads}
        self._enter({end for end in ends if end[0][0] != end[1][0]})
        for number, (message, (sender, receiver)) in enumerate(zip(messages, ends, strict=True)):
            if message.src == message.dst:
                self._work(number, message, receiver)
            else:
                self._send(number, message, sender, receiver)

    @property
    def drafts(self) -> list[list[Draft]]:
        """By rank."""
        by_rank = groupby(self._drafts.values(), key=lambda draft: draft.thread[0])
        return [list(drafts) for _, drafts in by_rank]

    def _enter(self, sends: Collection[tuple[Thread, Thread]]) -> None:
        for sender, receiver in sorted(sends, key=lambda ends: Channel(ends[1], ends[0]).order):
            self._drafts[receiver].signal(Channel(receiver, sender), "rlxsignal")
        for sender, receiver in sorted(sends, key=lambda ends: Channel(*ends).order):
            self._drafts[sender].wait(Channel(sender, receiver), "rlxwait")

    def _work(self, number: int, message: Message, thread: Thread) -> None:
        _apply(self._drafts[thread], [(move, move.source) for move in message.moves])
        for move in message.moves:
            self._touch(number, move)

    def _send(self, number: int, message: Message, sender: Thread, receiver: Thread) -> None:
        left: list[tuple[Move, Range]] = []
        for at, move in enumerate(message.moves):
            lands = move.target
            if move.addend or not self._is_free(lands, sender, receiver):
                lands = self._places.stage(message.dst, move.piece)
                left.append((move, lands))
            self._drafts[sender].move("put", [move.source], lands, goes_on=at > 0)
            self._touch(number, move)
        self._drafts[sender].signal(Channel(sender, receiver))
        self._drafts[receiver].wait(Channel(receiver, sender))
        _apply(self._drafts[receiver], left)
        self._heard[sender][sender] = number
        for thread, last in self._heard[sender].items():
            known = self._heard[receiver]
            known[thread] = max(last, known.get(thread, NONE))

    def _touch(self, number: int, move: Move) -> None:
        for place in (move.source, move.target, move.addend):
            if place:
                self._touched[place[:3]] = number

    def _is_free(self, target: Range, sender: Thread, receiver: Thread) -> bool:
        if target.buffer not in self._reachable:
            return False
        heard = self._heard[sender].get(receiver, NONE)
        return self._touched.get(target[:3], NONE) <= heard


def _apply(draft: Draft, moves: Sequence[tuple[Move, Range]]) -> None:
    """Do them from where the data is."""
    for at, (move, source) in enumerate(moves):
        name = REDUCE if move.addend else "copy"
        sources = [move.addend, source] if move.addend else [source]
        draft.move(name, sources, move.target, goes_on=at > 0)
