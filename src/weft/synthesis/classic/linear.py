"""Every rank sends to rank 0, then to rank 1, and so on: the first thing one would write."""

from __future__ import annotations

import numpy as np

from weft.collective import Collective
from weft.kinds import Kind
from weft.schedule.schedule import Schedule, ScheduleDraft


def linear_alltoall(collective: Collective) -> Schedule:
    """In step t, every rank sends its block for rank t straight to it.

    Messages: n (n - 1).  With blocks of B bytes each rank sends (n - 1) B, but all at once to the
    same one.  What arrives from a rank whose own block has yet to leave waits in a scratch slot.
    """
    collective.require(Kind.ALLTOALL)
    n, c, draft = collective.ranks, collective, ScheduleDraft(collective)
    rank = np.arange(n)
    draft.copy(rank, c.input(rank), c.output(rank))
    for target in range(n):
        source = np.delete(rank, target)
        into = np.where(source < target, c.output(source), c.scratch(source))
        draft.move(source, target, c.input(target), into)
        draft.copy(rank[:target], c.scratch(target), c.output(target))
    return draft.schedule("linear")
