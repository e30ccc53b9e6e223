"""Do what a schedule says on real arrays, one transfer at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from weft.kinds import Kind
from weft.schedule.schedule import Schedule

Array = npt.NDArray[np.int64]
Blocks = dict[tuple[int, int], Array]  # (rank, block)


def value(rank: int, block: int, size: int) -> Array:
    """What a rank gives of a block: every element says whose it is and where it belongs."""
    return rank * 1_000_003 + block * 1_009 + np.arange(size) + 1


def execute(schedule: Schedule, sizes: Callable[[int], int], *, in_place: bool) -> Blocks:
    """Return every rank's output blocks; `sizes` says how many elements a block has."""
    collective = schedule.collective
    memory = {(r, s): (r, p) for r, s, p in collective.in_place.tolist()} if in_place else {}
    slots: dict[tuple[int, int], Array] = {}
    for rank, slot, piece, *_ in collective.initial.tolist():
        block = int(collective.pieces["block"][piece])
        elements = collective.elements(piece, sizes(block))
        slots[rank, slot] = value(rank, block, sizes(block))[elements.start : elements.stop]
    for src, dst, src_slot, dst_slot, addend, _, _ in schedule.transfers.tolist():
        arrived = slots[memory.get((src, src_slot), (src, src_slot))]
        if addend >= 0:
            arrived = slots[memory.get((dst, addend), (dst, addend))] + arrived
        slots[memory.get((dst, dst_slot), (dst, dst_slot))] = arrived
    outputs: dict[tuple[int, int], list[Array]] = {}
    for rank, slot, piece, *_ in collective.final.tolist():
        block = int(collective.pieces["block"][piece])
        outputs.setdefault((rank, block), []).append(slots[memory.get((rank, slot), (rank, slot))])
    return {at: np.concatenate(pieces) for at, pieces in outputs.items()}


def expected(kind: Kind, n: int, root: int, sizes: Callable[[int], int]) -> Blocks:
    """The same straight from the definition of each collective."""
    everyone, blocks = range(n), range(n)

    def total(block: int) -> Array:
        return sum((value(r, block, sizes(block)) for r in everyone), np.zeros(sizes(block), int))

    match kind:
        case Kind.BROADCAST:
            return {(r, 0): value(root, 0, sizes(0)) for r in everyone}
        case Kind.REDUCE:
            return {(root, 0): total(0)}
        case Kind.SCATTER:
            return {(r, r): value(root, r, sizes(r)) for r in everyone}
        case Kind.GATHER:
            return {(root, b): value(b, b, sizes(b)) for b in blocks}
        case Kind.ALLGATHER:
            return {(r, b): value(b, b, sizes(b)) for r in everyone for b in blocks}
        case Kind.REDUCESCATTER:
            return {(r, r): total(r) for r in everyone}
        case Kind.ALLREDUCE | Kind.BARRIER:
            return {(r, 0): total(0) for r in everyone}
        case Kind.ALLTOALL:
            return {
                (d, s * n + d): value(s, s * n + d, sizes(s * n + d))
                for d in everyone
                for s in everyone
            }
