"""Recursive doubling: in every step each rank swaps all that it has with a partner twice as far."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.collective import Collective
from weft.kinds import Ints, Kind
from weft.schedule.schedule import Schedule, ScheduleDraft
from weft.synthesis.classic.butterfly import (
    allgather_steps,
    doubling_partners,
    require_power_of_two,
)
from weft.synthesis.classic.pieces import PieceDraft


def recursive_doubling_allgather(collective: Collective) -> Schedule:
    """Partners swap all blocks that they have; for powers of two.

    Messages: n log2 n.  With blocks of B bytes each rank sends (n - 1) B.
    """
    collective.require(Kind.ALLGATHER)
    require_power_of_two(collective, "recursive doubling", instead="Bruck")
    n, draft = collective.ranks, PieceDraft(collective)
    for source, target, piece in allgather_steps(np.arange(n), doubling_partners(n)):
        draft.send(source, target, piece)
    return draft.schedule("recursive doubling")


def recursive_doubling_allreduce(collective: Collective) -> Schedule:
    """Partners swap partial sums; ranks beyond p, the last power of two, join by a partner below p.

    With n ranks and S bytes, p = 2 ** k: k steps, k p + 2 (n - p) messages of S bytes each.  A rank
    below p sends k S, and S more to its partner beyond p if it has one; a rank beyond p sends S.
    """
    collective.require(Kind.ALLREDUCE)
    steps = collective.ranks.bit_length() - 1
    draft = allreduce_by_swaps(collective, doubling_partners(1 << steps))
    return draft.schedule("recursive doubling")


def allreduce_by_swaps(collective: Collective, partners: Sequence[Ints]) -> ScheduleDraft:
    """Partners swap whole sums; sums on their way take turns in the scratch slots of the steps."""
    n, c, steps = collective.ranks, collective.cut(1), len(partners)
    draft = ScheduleDraft(c)
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
        partners = ()
    for step, partner in enumerate(partners):
        target = c.scratch(step + 1) if step < steps - 1 else wanted
        draft.move(rank, partner, value, target, add=value[partner])
        value = np.full_like(rank, target)
    draft.move(extra - len(rank), extra, wanted, wanted)
    return draft
