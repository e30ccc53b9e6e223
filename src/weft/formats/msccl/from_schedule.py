"""From a schedule to an MSCCL program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from weft.checks import require_range
from weft.errors import BadInput
from weft.formats.msccl.blocks import Rank, blocks_of, ranks_of
from weft.formats.msccl.check import MOST_CHANNELS, broken_limits, require_progress
from weft.formats.msccl.layout import Layout
from weft.formats.msccl.moves import Ends, Move, apart, ends_of, moves_of
from weft.formats.msccl.program import RUNTIMES, Block, Chunk, Gpu, Program
from weft.kinds import Ints, Kind
from weft.schedule.parts import in_parts
from weft.schedule.schedule import NONE, Schedule
from weft.units import counted


def program_of(schedule: Schedule, runtime: str, parts: int = 1) -> Program:
    """Return a program that does the schedule on so many equal parts of each block.

    Each part has channels of its own: one, or as many as it takes to stay within the runtime's
    limits.  Where a file is for one way of being called, it is for calls out of place.
    """
    require_range("the number of parts", parts, 1, MOST_CHANNELS)
    if schedule.collective.kind in RUNTIMES[runtime].lacks | {Kind.BARRIER}:
        raise BadInput(f"{runtime} has no {schedule.collective.kind}: export for another runtime")
    if schedule.in_place and schedule.out_of_place and not RUNTIMES[runtime].lists_all:
        schedule = replace(schedule, in_place=False)
    cut = in_parts(schedule, parts)
    layout = Layout(cut)
    problem = ""
    for width in _widths(cut, parts, RUNTIMES[runtime].steps):
        program = _program(cut, layout, _moves(cut, layout, parts, width))
        problem = next(broken_limits(program, runtime), "")
        if not problem:
            return program
    raise BadInput(
        f"{schedule.name} in {counted(parts, 'part')} does not fit {runtime}: {problem}: "
        "give fewer parts, or export for another runtime"
    )


def _widths(schedule: Schedule, parts: int, steps: int) -> list[int]:
    """How many channels a part may have, from what its busiest connection takes at least."""
    t = schedule.transfers[schedule.transfers["src"] != schedule.transfers["dst"]]
    pairs = t["src"].astype(np.int64) * schedule.collective.ranks + t["dst"]
    alone = np.diff(t["message"], prepend=NONE) != 0  # the first of its message
    alone |= t["message"] == NONE
    busiest = int(np.unique(pairs[alone], return_counts=True)[1].max(initial=1)) // parts
    widths = [1 << bit for bit in range(6) if parts << bit <= MOST_CHANNELS]
    return [width for width in widths if width * steps >= busiest] or widths[-1:]


def _program(schedule: Schedule, layout: Layout, moves: Sequence[Move]) -> Program:
    """Fused if that cannot make blocks wait for each other; in list order alone they never do."""
    ends = ends_of(moves, schedule, layout)
    parted = apart(moves, ends, layout.scratch)
    if parted != moves:
        moves, ends = parted, ends_of(parted, schedule, layout)
    try:
        program = _with(schedule, layout, moves, ends, fused=True)
        require_progress(program)
    except BadInput:
        program = _with(schedule, layout, moves, ends, fused=False)
    return program


def _with(
    schedule: Schedule, layout: Layout, moves: Sequence[Move], ends: Ends, *, fused: bool
) -> Program:
    return Program(
        name=schedule.name,
        collective=schedule.collective.kind,
        protocol="Simple",
        chunks=max(*layout.inputs, *layout.outputs),
        channels=1 + max((move.channel for move in moves), default=0),
        in_place=schedule.in_place,
        out_of_place=schedule.out_of_place,
        least_bytes=0,
        most_bytes=0,
        gpus=_gpus(ranks_of(moves, ends, schedule.collective.ranks, fused=fused), layout),
    )


def _moves(schedule: Schedule, layout: Layout, parts: int, width: int) -> list[Move]:
    """The moves, each part's on so many channels.

    Pieces that pass through ranks keep their channel.  Where each goes straight from its rank to
    where it is wanted, a rank's peers share the channels.
    """
    t = schedule.transfers
    sent = t["src_slot"][t["src"] != t["dst"]]
    moves = moves_of(schedule, layout, _channels(schedule, parts, width))
    if np.any(sent >= schedule.collective.inputs):
        return moves
    return [
        move
        if move.src == move.dst
        else move._replace(channel=move.channel // width * width + (move.dst - move.src) % width)
        for move in moves
    ]


def _channels(schedule: Schedule, parts: int, width: int) -> Ints:
    """The channel of each piece: so many for each part, and adjacent pieces on one."""
    block = schedule.collective.pieces["block"]
    first = np.searchsorted(block, block)
    number, size = np.arange(len(block)) - first, np.bincount(block)[block] // parts
    part, within = np.divmod(number, size)
    place = first // parts + within  # among the pieces of this part of all blocks
    return part * width + place * width // (len(block) // parts)


def _gpus(ranks: Sequence[Rank], layout: Layout) -> tuple[Gpu, ...]:
    sizes = zip(layout.inputs, layout.outputs, layout.scratch, strict=True)
    return tuple(
        _without_gaps(Gpu(*size, blocks_of(rank))) for size, rank in zip(sizes, ranks, strict=True)
    )


def _without_gaps(gpu: Gpu) -> Gpu:
    """Keep of the scratch chunks only those that a step uses."""
    used = sorted(
        {
            chunk.offset + n
            for block in gpu.blocks
            for step in block.steps
            for chunk in (step.source, step.target)
            for n in range(step.count)
            if chunk.buffer == "s"
        }
    )
    place = {offset: number for number, offset in enumerate(used)}

    def moved(chunk: Chunk) -> Chunk:
        return Chunk("s", place[chunk.offset]) if chunk.buffer == "s" else chunk

    def block_moved(block: Block) -> Block:
        steps = [replace(s, source=moved(s.source), target=moved(s.target)) for s in block.steps]
        return replace(block, steps=tuple(steps))

    return replace(gpu, scratch=len(used), blocks=tuple(map(block_moved, gpu.blocks)))
