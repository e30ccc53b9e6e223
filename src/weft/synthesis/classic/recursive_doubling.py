"""Recursive doubling: in every step each rank swaps all that it has with a partner twice as far."""

from __future__ import annotations

import numpy as np

from weft.collective import Collective
from weft.kinds import Kind
from weft.schedule.schedule import Schedule, ScheduleDraft


def recursive_doubling_allreduce(collective: Collective) -> Schedule:
    """Partners swap partial sums; ranks beyond p, the last power of two, join by a partner below p.

    With n ranks and S bytes, p = 2 ** k: k steps, k p + 2 (n - p) messages of S bytes each.  A rank
    below p sends k S, and S more to its partner beyond p if it has one; a rank beyond p sends S.
    """
    collective.require(Kind.ALLREDUCE)
    n, c = collective.ranks, collective.cut(1)
    draft = ScheduleDraft(c)
    steps = n.bit_length() - 1
    rank, extra = np.arange(1 << steps), np.arange(1 << steps, n)
    given, wanted = c.input(0), c.output(0)
    draft.move(extra, extra - len(rank), given, c.scratch(0), add=given)
    value = np.where(rank < len(extra), c.scratch(0), given)
    if steps == 0:
        draft.copy(0, given, wanted)
    if steps == 1:  # Where the result goes may be what the second rank has still to send.
        draft.move(0, 1, value[0], c.scratch(0))
        draft.move(1, 0, value[1], wanted, add=value[0])
        draft.copy(1, c.scratch(0), wanted, add=value[1])
        steps = 0
    for step in range(steps):
        target = c.scratch(step + 1) if step < steps - 1 else wanted
        draft.move(rank, rank ^ 1 << step, value, target, add=value[rank ^ 1 << step])
        value = np.full_like(rank, target)
    draft.move(extra - len(rank), extra, wanted, wanted)
    return draft.schedule("recursive doubling")
