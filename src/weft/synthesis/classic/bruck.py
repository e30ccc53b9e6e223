"""Bruck's allgather: few messages, for blocks so small that messages are what costs.

Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient algorithms for all-to-all communications in
multiport message-passing systems, IEEE TPDS 8 (1997).
"""

from __future__ import annotations

import numpy as np

from weft.collective import Collective
from weft.kinds import Kind
from weft.schedule.schedule import Schedule
from weft.synthesis.classic.pieces import PieceDraft


def bruck_allgather(collective: Collective) -> Schedule:
    """In step k, rank r sends its 2 ** k blocks, or as many as lack, to rank r - 2 ** k.

    Messages: n ceil(log2 n).  With blocks of B bytes each rank sends (n - 1) B.  Slots have names,
    so the rotation at the end of the original is not needed.
    """
    collective.require(Kind.ALLGATHER)
    n, draft = collective.ranks, PieceDraft(collective)
    rank = np.arange(n)[:, None]
    for bit in range((n - 1).bit_length()):
        distance = 1 << bit
        ahead = np.arange(min(distance, n - distance))
        draft.send(rank, (rank - distance) % n, (rank + ahead) % n)
    return draft.schedule("Bruck")
