"""Dissemination: in every round each rank tells one twice as far away all that it has heard.

Hensgen, Finkel, Manber: Two algorithms for barrier synchronization, International Journal of
Parallel Programming 17 (1988).
"""

from __future__ import annotations

import numpy as np

from weft.collective import Collective
from weft.kinds import Kind
from weft.schedule.schedule import Schedule, ScheduleDraft


def dissemination_barrier(collective: Collective) -> Schedule:
    """In round k, rank r sends to rank r + 2 ** k; after the last one it has heard from everyone.

    Messages: n ceil(log2 n).  Each rank sends ceil(log2 n) S, and a barrier's S is 0.  What was
    heard takes turns in two scratch slots, so nothing waits but for what came the round before.
    """
    collective.require(Kind.BARRIER)
    n, draft = collective.ranks, ScheduleDraft(collective)
    rank, heard = np.arange(n), collective.input(0)
    for step in range((n - 1).bit_length()):
        target = collective.scratch(step % 2)
        draft.move(rank, (rank + (1 << step)) % n, heard, target, add=heard)
        heard = target
    draft.copy(rank, heard, collective.output(0))
    return draft.schedule("dissemination")
