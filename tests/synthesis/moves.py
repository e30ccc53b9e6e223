"""Who sends which piece to whom."""

from __future__ import annotations

import numpy as np

from weft.kinds import Ints
from weft.schedule.schedule import Schedule
from weft.schedule.verify import pieces_moved


def moves(schedule: Schedule) -> Ints:
    """(src, dst, piece) of what leaves a rank, in order."""
    t = schedule.transfers
    leaves = t["src"] != t["dst"]
    columns = (t["src"], t["dst"], pieces_moved(schedule))
    return np.stack([column[leaves].astype(np.int64) for column in columns], axis=1)
