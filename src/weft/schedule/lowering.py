"""The one call into the native lowering: what each rank has to do, and what must come first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from weft import _native
from weft.kinds import Ints
from weft.schedule.replay import Mode, Rows, table_rows
from weft.schedule.schedule import Schedule
from weft.schedule.verify import pieces_moved

Longs = npt.NDArray[np.int64]


def elements_moved(schedule: Schedule, block_sizes: Sequence[int]) -> Ints:
    """Prove a schedule, and say how many elements each transfer moves, for these block sizes."""
    return elements_of(schedule, pieces_moved(schedule), block_sizes)


def elements_of(schedule: Schedule, pieces: Rows, block_sizes: Sequence[int]) -> Ints:
    """How many elements each transfer moves, where it moves these pieces."""
    sizes = np.array(schedule.collective.piece_sizes(block_sizes), np.int64)
    return sizes[pieces]


def lower(
    schedule: Schedule, mode: Mode, elements: Ints, *, rank: int | None = None
) -> _native.Plan:
    """Lower a correct schedule for one rank, or for all."""
    collective = schedule.collective
    return _native.lower(
        ranks=collective.ranks,
        slots=schedule.slots,
        first_scratch=collective.scratch(0),
        empty_too=collective.heard_is_enough,
        transfers=table_rows(schedule.transfers),
        aliases=table_rows(mode.aliases),
        elements=elements,
        rank=rank,
    )
