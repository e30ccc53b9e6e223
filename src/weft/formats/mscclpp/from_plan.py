"""An MSCCL++ execution plan as a schedule, where a list of transfers can say what it does.

The plan is done once, act by act, and checked on the way (`order.py`); what is moved becomes the
list.  A pipeline is done as for data that fits into one of its units.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from weft.checks import require_name
from weft.collective import Collective, equal_weights
from weft.errors import BadInput
from weft.formats.mscclpp.memory import Buffers, buffers, offset_in_place
from weft.formats.mscclpp.order import Move, moves_of
from weft.formats.mscclpp.plan import Plan, decode_plan
from weft.formats.mscclpp.races import PACKETS, Cell, Memory
from weft.formats.mscclpp.reading import read_acts
from weft.kinds import Holds, Kind
from weft.schedule.schedule import NONE, Schedule, ScheduleDraft

Row = tuple[Cell, Cell, Cell | None]  # source, target, addend


def schedule_from_mscclpp(content: bytes) -> Schedule:
    """Return what a plan does, not yet verified; a plan that hangs or races is refused."""
    plan = decode_plan(content)
    require_name("the plan", plan.name)
    kind, factor, sizes = _collective(plan)
    acts = read_acts(plan)
    sizes = Buffers(*(size * acts.shares for size in sizes))
    memory = Memory(_offsets(plan, sizes), plan.use_double_scratch_buffer)
    moves = moves_of(acts, len(plan.gpus), memory)
    root = _root(kind, moves, memory) if kind.rooted else None
    weights = (equal_weights(factor * acts.shares),)
    collective = Collective(kind, len(plan.gpus), root, weights=weights)
    scratch = max(gpu.scratch_chunks for gpu in plan.gpus) * acts.shares
    slots = _Slots(collective, sizes, memory, scratch)
    draft = ScheduleDraft(collective)
    for message in _messages(moves):
        _write(draft, [[slots.of(cell) for cell in row] for row in message], message)
    return draft.schedule(plan.name, in_place=plan.inplace, out_of_place=not plan.inplace)


def _collective(plan: Plan) -> tuple[Kind, int, Buffers]:
    """The kind, how many chunks a block has, and how many a rank's input and output."""
    kinds = {str(kind): kind for kind in Kind if kind is not Kind.BARRIER}
    if plan.collective not in kinds:
        raise BadInput(
            f"collective is {plan.collective[:40]!r}: the plans we read are for {', '.join(kinds)}"
        )
    kind = kinds[plan.collective]
    if not plan.gpus:
        raise BadInput("the plan has no gpus: give one for each rank")
    found = {(gpu.input_chunks, gpu.output_chunks) for gpu in plan.gpus}
    inputs, outputs = min(found)
    factor = min(inputs, outputs)
    if kind is Kind.ALLTOALL:
        factor //= len(plan.gpus)
    if not factor or len(found) > 1:
        raise BadInput(
            f"input_chunks and output_chunks are {sorted(found)}: give all gpus the same, above 0"
        )
    sizes = buffers(Collective.named(str(kind), len(plan.gpus)), factor)
    if (inputs, outputs) != sizes:
        raise BadInput(
            f"input_chunks is {inputs} and output_chunks {outputs}: {kind} over {len(plan.gpus)} "
            f"gpus with {factor} chunks a block has {sizes.inputs} and {sizes.outputs}"
        )
    return kind, factor, sizes


def _offsets(plan: Plan, sizes: Buffers) -> dict[tuple[int, str], int] | None:
    if not plan.inplace:
        return None
    return {
        (rank, letter): offset_in_place(letter, rank, sizes)
        for rank in range(len(plan.gpus))
        for letter in "io"
    }


def _root(kind: Kind, moves: list[Move], memory: Memory) -> int:
    """The rank whose data is read though nobody wrote it, or whose output is written."""
    if kind.shape.gives is Holds.ROOT:
        written: set[Cell] = set()
        found: set[int] = set()
        for move in moves:
            for source in move.sources:
                if source[1] in "io" and memory.same(source) not in written:
                    found.add(source[0])
            written.add(memory.same(move.target))
    else:
        found = {move.target[0] for move in moves if move.target[1] in "io"}
    if len(found) > 1:
        raise BadInput(
            f"the root of the {kind} cannot be told: gpus {', '.join(map(str, sorted(found)))} "
            "all behave like it; only one may"
        )
    return min(found, default=0)


@dataclass(frozen=True)
class _Slots:
    """Which slot a chunk is."""

    collective: Collective
    sizes: Buffers
    memory: Memory
    scratch: int  # chunks, behind which packets are counted

    def of(self, cell: Cell | None) -> int:
        if cell is None:
            return NONE
        rank, buffer, index = cell
        if buffer == PACKETS:
            return self.collective.scratch(self.scratch + index)
        if buffer == "s":
            return self.collective.scratch(index)
        shape, offsets = self.collective.kind.shape, self.memory.offsets
        both = ("i", "o") if buffer == "i" else ("o", "i")
        for letter in both if offsets else (buffer,):
            here = index
            if offsets:
                here += offsets[rank, buffer] - offsets[rank, letter]
            holds = shape.gives if letter == "i" else shape.wants
            count = self.sizes.inputs if letter == "i" else self.sizes.outputs
            if 0 <= here < count and (holds is not Holds.ROOT or rank == self.collective.root):
                return here if letter == "i" else self.collective.output(here)
        raise BadInput(
            f"chunk {index} of {buffer} on gpu {rank} is used, where {self.collective!r} has no "
            "data: use scratch"
        )


def _messages(moves: list[Move]) -> Iterator[list[Row]]:
    """What one signal tells of travels together."""
    message: list[Row] = []
    last: tuple[object, ...] | None = None
    for move in moves:
        for row in _rows(move):
            key = (move.group, row[0][0], row[1][0]) if move.group else None
            if message and (key is None or key != last):
                yield message
                message = []
            message.append(row)
            last = key
    if message:
        yield message


def _rows(move: Move) -> Iterator[Row]:
    """A sum, addend by addend, into the target."""
    sources = list(move.sources)
    if len(sources) == 1:
        yield sources[0], move.target, None
        return
    # What is already there is an addend first: else it would be written before it is read.
    sources.sort(key=lambda cell: cell != move.target)
    total = sources[0]
    if total[0] != move.target[0]:
        yield total, move.target, None
        total = move.target
    for source in sources[1:]:
        yield source, move.target, total
        total = move.target


def _write(draft: ScheduleDraft, slots: list[list[int]], message: list[Row]) -> None:
    columns = list(zip(*slots, strict=True))
    (src, *_), (dst, *_) = message[0][:2]
    draft.move(
        src,
        dst,
        columns[0],
        columns[1],
        add=columns[2],
        message=None if len(message) == 1 else 0,
    )
