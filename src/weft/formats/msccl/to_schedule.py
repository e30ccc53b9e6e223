"""From an MSCCL program to a schedule."""

from __future__ import annotations

from weft.checks import require_range
from weft.errors import BadInput, WrongSchedule
from weft.formats.listing import listed, table_of
from weft.formats.msccl.buffers import Buffers
from weft.formats.msccl.connections import Connections
from weft.formats.msccl.program import Chunk, Program
from weft.formats.threads import Message, Row, Threads
from weft.schedule.schedule import Schedule
from weft.schedule.verify import verify

MOST_TRIED = 1 << 25  # chunks, of all buffers and steps, once for each root that may be meant


def schedule_of(program: Program) -> Schedule:
    """Return what the program does, not yet verified.

    A file does not say its root: it is the rank from which, or towards which, it is correct.
    """
    if not program.collective.rooted:
        return _schedule(program, None)
    ranks = len(program.gpus)
    tried = ranks * (ranks * program.chunks + program.moved)
    require_range("the number of chunks, times the roots that may be meant,", tried, 0, MOST_TRIED)
    wrong: list[Schedule] = []
    problems: list[BadInput] = []
    for root in range(ranks):
        try:
            wrong.append(_schedule(program, root))
            verify(wrong[-1])
        except BadInput as problem:
            problems.append(problem)
        except WrongSchedule:
            continue
        else:
            return wrong[-1]
    if wrong:
        return wrong[0]
    raise problems[0]


def _schedule(program: Program, root: int | None) -> Schedule:
    connections, buffers = Connections(program), Buffers(program, root)
    messages = _Messages(connections, buffers).all()
    after: list[list[int]] = [[] for _ in connections.places]
    for send, receive in connections.pairs:
        after[receive].append(send)
    for step, other in connections.waits.items():
        after[step].append(other)
    threads = Threads(
        connections.threads, after, messages, places=buffers.memory, where=connections.where
    )
    table = table_of(listed(threads, buffers.spare))
    return Schedule(
        _plain(program.name),
        buffers.collective,
        table,
        buffers.scratch,
        in_place=program.in_place,
        out_of_place=program.out_of_place,
    )


class _Messages:
    """What each send carries to its receive, and what each local step does."""

    def __init__(self, connections: Connections, buffers: Buffers) -> None:
        self._steps, self._buffers = connections, buffers
        self._passing: dict[tuple[int, int], list[list[int]]] = {}
        self._passes = {
            number: self._passed_on(number)
            for number in range(len(connections.places))
            if connections.step(number).type == "rrs"
        }

    def all(self) -> list[Message]:
        local = [
            self._message(number, number, self._source(number))
            for number in range(len(self._steps.places))
            if self._steps.step(number).type in {"cpy", "re"}
        ]
        return local + [
            self._message(send, receive, self._sent(send)) for send, receive in self._steps.pairs
        ]

    def _message(self, sent: int, landed: int, sources: list[int]) -> Message:
        action = self._steps.step(landed).action
        targets = self._target(landed) if action.stores else self._passes[landed]
        addends: list[int | None] = [None] * len(targets)
        if action.adds:
            addends = [*(self._source(landed) if action.receives else targets)]
        rows = map(Row, sources, targets, addends)
        ends = self._steps.places[sent].gpu, self._steps.places[landed].gpu
        return Message(*ends, tuple(rows), sent, landed)

    def _sent(self, number: int) -> list[int]:
        """What a step sends: what it has just stored or added up, or else its source."""
        action = self._steps.step(number).action
        if not action.receives:
            return self._source(number)
        return self._target(number) if action.stores else self._passes[number]

    def _passed_on(self, number: int) -> list[int]:
        """Two slots a chunk for all that a block adds up and does not store, in turn."""
        at, count = self._steps.places[number], self._steps.step(number).count
        turns = self._passing.setdefault(at[:2], [[], []])
        turns.reverse()
        while len(turns[0]) < count:
            turns[0].append(self._buffers.spare(at.gpu))
        return turns[0][:count]

    def _source(self, number: int) -> list[int]:
        return self._slots(number, self._steps.step(number).source)

    def _target(self, number: int) -> list[int]:
        return self._slots(number, self._steps.step(number).target)

    def _slots(self, number: int, chunk: Chunk) -> list[int]:
        count = self._steps.step(number).count
        gpu = self._steps.places[number].gpu
        return self._buffers.slots(gpu, chunk, count, self._steps.where(number))


def _plain(name: str) -> str:
    """A name as schedules have them: 1 to 80 plain characters."""
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "_.:+*/()-") else " " for c in name)
    return kept.strip("_.:+*/()- ")[:80].strip() or "unnamed"
