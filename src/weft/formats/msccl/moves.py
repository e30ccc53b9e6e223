"""A schedule's transfers as moves of adjacent chunks, and what each end of a move must wait for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

from weft.formats.msccl.buffers import Memory
from weft.formats.msccl.layout import Layout
from weft.formats.msccl.program import MOST_COUNT, Chunk
from weft.formats.threads import Event, Message, Row, Threads, events_of, needs_of
from weft.kinds import Ints
from weft.schedule.schedule import NONE, Schedule


class Move(NamedTuple):
    """Chunks that go from one rank to another, or within one, all on one channel."""

    src: int
    dst: int
    source: Chunk
    target: Chunk
    addend: Chunk | None
    chunks: int
    channel: int

    def continues(self, other: Move) -> bool:
        """Whether this is what follows the other, chunk by chunk."""
        n = other.chunks
        return (
            (self.src, self.dst, self.channel) == (other.src, other.dst, other.channel)
            and self.source == other.source.ahead(n)
            and self.target == other.target.ahead(n)
            and self.addend == (other.addend and other.addend.ahead(n))
            and n + self.chunks <= MOST_COUNT
        )


def moves_of(schedule: Schedule, layout: Layout, channel: Ints) -> list[Move]:
    """The moves in list order; `channel` is that of each piece."""
    moves: list[Move] = []
    message = NONE
    counts, channels = layout.counts[layout.moved].tolist(), channel[layout.moved].tolist()
    rows = zip(schedule.transfers.tolist(), counts, channels, strict=True)
    for (src, dst, source, target, addend, number, _), count, on in rows:
        whole = Move(
            src,
            dst,
            layout.chunk(src, source),
            layout.chunk(dst, target),
            None if addend == NONE else layout.chunk(dst, addend),
            count,
            on,
        )
        for move in (part for step in _steps(whole) for part in _cut(step)):
            if moves and number == message != NONE and move.continues(moves[-1]):
                moves[-1] = moves[-1]._replace(chunks=moves[-1].chunks + move.chunks)
            else:
                moves.append(move)
        message = number
    return moves


def _steps(move: Move) -> list[Move]:
    """Within a rank a step only adds to its target: a sum elsewhere is a copy and such a step."""
    if move.src != move.dst or move.addend in {None, move.target}:
        return [move]
    if move.source == move.target:
        return [move._replace(source=move.addend, addend=move.target)]
    copy = move._replace(source=move.addend, addend=None)
    return [copy, move._replace(addend=move.target)]


def _cut(move: Move) -> Iterator[Move]:
    for first in range(0, move.chunks, MOST_COUNT):
        yield move._replace(
            source=move.source.ahead(first),
            target=move.target.ahead(first),
            addend=move.addend and move.addend.ahead(first),
            chunks=min(MOST_COUNT, move.chunks - first),
        )


class Ends(NamedTuple):
    """When each move is read and written, as turns in list order, and the turns that come before.

    Within a rank a move is read and written at one turn.
    """

    read: list[int]
    written: list[int]
    needs: list[set[int]]
    readers: list[set[int]]  # of each move, the turns that read what it wrote
    depth: list[int]  # of each turn, how many come before it one after another


def ends_of(moves: Sequence[Move], schedule: Schedule, layout: Layout) -> Ends:
    """What each end has to wait for, called in any of the ways that the schedule is for."""
    messages = [
        Message(m.src, m.dst, tuple(_rows(m)), 2 * n, 2 * n + (m.src != m.dst))
        for n, m in enumerate(moves)
    ]
    turns = range(2 * len(moves))
    memory = _memory(schedule, layout)
    threads = Threads([0] * len(turns), [()] * len(turns), messages, memory, str)
    events = events_of(threads, turns)
    read = {event.message: turn for turn, event in enumerate(events) if event.reads}
    written = {event.message: turn for turn, event in enumerate(events) if event.writes}
    needs = needs_of(threads, turns, events)
    depth: list[int] = []
    for turn, event in enumerate(events):
        before = needs[turn] | {read[event.message]} - {turn}
        depth.append(1 + max((depth[other] for other in before), default=0))
    order = range(len(moves))
    return Ends(
        [read[n] for n in order],
        [written[n] for n in order],
        needs,
        _readers(events, len(moves)),
        depth,
    )


def _readers(events: Sequence[Event], count: int) -> list[set[int]]:
    readers: list[set[int]] = [set() for _ in range(count)]
    writer: dict[Hashable, int] = {}
    for turn, event in enumerate(events):
        for place in event.read:
            if place in writer:
                readers[writer[place]].add(turn)
        writer.update(dict.fromkeys(event.written, event.message))
    return readers


def apart(moves: Sequence[Move], ends: Ends, scratch: Sequence[int]) -> list[Move]:
    """Give sums that are only passed on scratch of their own: they may never be stored there.

    Else those that take turns in one place would wait for each other.  `scratch` says how much
    there is on each rank.
    """
    result, taken = list(moves), list(scratch)
    reads = {turn: number for number, turn in enumerate(ends.read)}
    for number in sorted(range(len(moves)), key=lambda n: (moves[n].channel, moves[n].src, n)):
        move, readers = moves[number], ends.readers[number]
        onward = reads.get(min(readers, default=-1))
        if move.target.buffer != "s" or move.addend is None or len(readers) > 1 or onward is None:
            continue
        leaves = moves[onward]
        same = (leaves.source, leaves.chunks) == (move.target, move.chunks)
        if same and leaves.src != leaves.dst:
            place = Chunk("s", taken[move.dst])
            taken[move.dst] += move.chunks
            result[number] = result[number]._replace(target=place)
            result[onward] = result[onward]._replace(source=place)
    return result


def _rows(move: Move) -> Iterator[Row]:
    for n in range(move.chunks):
        addend = None if move.addend is None else _code(move.addend) + 3 * n
        yield Row(_code(move.source) + 3 * n, _code(move.target) + 3 * n, addend)


def _code(chunk: Chunk) -> int:
    """A chunk as a number; the next chunk is three further."""
    return 3 * chunk.offset + "ios".index(chunk.buffer)


def _memory(schedule: Schedule, layout: Layout) -> Callable[[int, int], list[Memory]]:
    """The memory that a chunk is, in place and out of place."""
    shared: dict[tuple[int, int], int] = {}
    if schedule.in_place:
        c = schedule.collective
        pieces = {(rank, slot): piece for rank, slot, piece, *_ in c.final.tolist()}
        for rank, slot, place in c.in_place.tolist():
            one, other = _code(layout.chunk(rank, slot)), _code(layout.chunk(rank, place))
            for n in range(0, 3 * int(layout.counts[pieces[rank, slot]]), 3):
                shared[rank, one + n] = other + n

    def memory(rank: int, code: int) -> list[Memory]:
        places = [Memory(rank, str(code), in_place=False)] * schedule.out_of_place
        if schedule.in_place:
            places.append(Memory(rank, str(shared.get((rank, code), code)), in_place=True))
        return places

    return memory
