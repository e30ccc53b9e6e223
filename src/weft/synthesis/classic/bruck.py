"""Bruck's allgather: few messages, for blocks so small that messages are what costs.

Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient algorithms for all-to-all communications in
multiport message-passing systems, IEEE TPDS 8 (1997).
"""

from __future__ import annotations

import numpy as np

from weft.collective import Collective
from weft.kinds import Kind
from weft.schedule.schedule import Schedule, ScheduleDraft


def bruck_allgather(collective: Collective) -> Schedule:
    """In step k, rank r sends its 2 ** k blocks, or as many as lack, to rank r - 2 ** k.

    Messages: n ceil(log2 n).  With blocks of B bytes each rank sends (n - 1) B.  Slots have names,
    so the rotation at the end of the original is not needed.
    """
    collective.require(Kind.ALLGATHER)
    n, draft = collective.ranks, ScheduleDraft(collective)
    rank = np.arange(n)
    draft.copy(rank, collective.input(0), collective.output(rank))
    for bit in range((n - 1).bit_length()):
        distance = 1 << bit
        sender, ahead = np.divmod(
            np.arange(n * min(distance, n - distance)), min(distance, n - distance)
        )
        block = (sender + ahead) % n
        source = np.where(ahead == 0, collective.input(0), collective.output(block))
        draft.move(
            sender, (sender - distance) % n, source, collective.output(block), message=sender
        )
    return draft.schedule("Bruck")
