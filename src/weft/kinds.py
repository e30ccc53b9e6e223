"""The collectives, each defined by one row of a table: how many blocks, who gives, who wants."""

from __future__ import annotations

from enum import Enum, StrEnum, auto
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class Holds(Enum):
    """Which of n ranks has which block."""

    OWN = auto()  # rank r has block r
    ALL = auto()  # every rank has every block
    ROOT = auto()  # the root has every block
    ROW = auto()  # rank r has blocks r * n to r * n + n - 1; block r * n + d is for rank d
    COLUMN = auto()  # rank r has the n blocks that are for it


class Shape(NamedTuple):
    """A row of the table."""

    blocks: int  # 0: one block in all, 1: one per rank, 2: one per pair of ranks
    gives: Holds  # where ALL give a block, the result is its sum over all of them
    wants: Holds


class Kind(StrEnum):
    """The collectives by name."""

    BROADCAST = auto()
    REDUCE = auto()
    SCATTER = auto()
    GATHER = auto()
    ALLGATHER = auto()
    REDUCESCATTER = auto()
    ALLREDUCE = auto()
    ALLTOALL = auto()
    BARRIER = auto()

    @property
    def shape(self) -> Shape:
        return _SHAPES[self]

    @property
    def rooted(self) -> bool:
        return Holds.ROOT in self.shape

    def blocks(self, n: int) -> int:
        """How many blocks there are over n ranks."""
        return int(n**self.shape.blocks)


_SHAPES = {
    Kind.BROADCAST: Shape(0, Holds.ROOT, Holds.ALL),
    Kind.REDUCE: Shape(0, Holds.ALL, Holds.ROOT),
    Kind.SCATTER: Shape(1, Holds.ROOT, Holds.OWN),
    Kind.GATHER: Shape(1, Holds.OWN, Holds.ROOT),
    Kind.ALLGATHER: Shape(1, Holds.OWN, Holds.ALL),
    Kind.REDUCESCATTER: Shape(1, Holds.ALL, Holds.OWN),
    Kind.ALLREDUCE: Shape(0, Holds.ALL, Holds.ALL),
    Kind.ALLTOALL: Shape(2, Holds.ROW, Holds.COLUMN),
    Kind.BARRIER: Shape(0, Holds.ALL, Holds.ALL),
}


def holders(holds: Holds, n: int, block_count: int, root: int | None) -> tuple[Ints, Ints]:
    """(rank, block) of all that n ranks hold, by rank and then block."""
    blocks = np.arange(block_count)
    match holds:
        case Holds.OWN:
            return blocks, blocks
        case Holds.ALL:
            return np.repeat(np.arange(n), block_count), np.tile(blocks, n)
        case Holds.ROOT:
            return np.full_like(blocks, root), blocks
        case Holds.ROW:
            return blocks // n, blocks
        case Holds.COLUMN:
            return blocks // n, blocks % n * n + blocks // n


def contributors(kind: Kind, n: int, blocks: Ints, root: int | None) -> tuple[Ints, int]:
    """Whose data makes up the result of each block: its first rank, and how many from there."""
    match kind.shape.gives:
        case Holds.ALL:
            return np.zeros_like(blocks), n
        case Holds.ROOT:
            return np.full_like(blocks, root), 1
        case Holds.ROW:
            return blocks // n, 1
        case _:
            return blocks, 1
