"""Two levels: groups of ranks that are near each other, and one leader of each to speak for it."""

from __future__ import annotations

from math import isqrt

import numpy as np

from weft.checks import require_range
from weft.collective import Collective
from weft.kinds import Kind
from weft.schedule.schedule import Schedule
from weft.synthesis.classic.binomial import broadcast_phase, reduce_phase
from weft.synthesis.classic.pieces import PieceDraft
from weft.synthesis.classic.ring import pass_round, sum_round


def hierarchical_allreduce(collective: Collective, group: int | None = None) -> Schedule:
    """A binomial reduce to each group's leader, a ring allreduce of leaders, a binomial broadcast.

    Messages: 2 (n - m) + 2 m (m - 1), for m groups of G ranks, of which the last may be smaller.
    A leader sends 2 (m - 1) / m of S, another rank S; and each S to every child that it has in its
    group's tree, of which a leader has ceil(log2 G).  Without `group`, G is the square root of n,
    rounded down.
    """
    collective.require(Kind.ALLREDUCE)
    n = collective.ranks
    if group is None:
        group = isqrt(n)
    require_range("the number of ranks in a group", group, 1, n)
    leader = np.arange(0, n, group)
    draft, piece = PieceDraft(collective.cut(len(leader))), np.arange(len(leader))
    groups = np.split(np.arange(n), leader[1:])
    for members in groups:
        reduce_phase(draft, members)
    sum_round(draft, leader, piece)
    pass_round(draft, leader, piece)
    for members in groups:
        broadcast_phase(draft, members)
    return draft.schedule("hierarchical")
