"""Bine trees: binomial trees with children on both sides of their parent, so that more are near.

De Sensi et al.: Bine trees: Enhancing collective operations by optimizing communication locality,
SC 2025.  The partners are theirs, for powers of two; where the text of a function says that
something is ours, they may do it in another way.
"""

from __future__ import annotations

import numpy as np

from weft.collective import Collective
from weft.kinds import Ints, Kind
from weft.schedule.schedule import Schedule
from weft.synthesis.classic.butterfly import require_power_of_two, swinging_partners
from weft.synthesis.classic.pieces import PieceDraft, ranks_from_root
from weft.synthesis.classic.recursive_doubling import allreduce_by_swaps


def bine_broadcast(collective: Collective) -> Schedule:
    """Each step, every rank that has the block sends it to its partner; for powers of two.

    Messages: n - 1.  The root sends log2 n times S; a rank that gets the block in one of the
    log2 n steps sends S in each step after it.
    """
    collective.require(Kind.BROADCAST)
    require_power_of_two(collective, "Bine", instead="binomial")
    draft = PieceDraft(collective)
    for upper, lower in _levels(collective):
        draft.send(upper, lower, 0)
    return draft.schedule("Bine")


def bine_reduce(collective: Collective) -> Schedule:
    """The broadcast backwards: sums flow to the root; for powers of two.

    Messages: n - 1.  Every rank but the root sends S once.
    """
    collective.require(Kind.REDUCE)
    require_power_of_two(collective, "Bine", instead="binomial")
    draft = PieceDraft(collective)
    for upper, lower in reversed(_levels(collective)):
        draft.add(lower, upper, 0)
    return draft.schedule("Bine")


def bine_allreduce(collective: Collective) -> Schedule:
    """Recursive doubling with the partners of a Bine tree: ..., 11, 5, 3, 1, 1 apart.

    With n ranks and S bytes, p = 2 ** k: k steps, k p + 2 (n - p) messages of S bytes each.  A rank
    below p sends k S, and S more to its partner beyond p if it has one; a rank beyond p sends S.
    Two things are ours: that ranks beyond p join as in recursive doubling, and that the nearest
    come last.  The other way round, ranks would add up in different orders.
    """
    collective.require(Kind.ALLREDUCE)
    p = 1 << collective.ranks.bit_length() - 1
    return allreduce_by_swaps(collective, swinging_partners(p)[::-1]).schedule("Bine")


def _levels(collective: Collective) -> list[tuple[Ints, Ints]]:
    """(parents, children) of each step of the broadcast, the farthest children first."""
    rank = ranks_from_root(collective)
    levels: list[tuple[Ints, Ints]] = []
    upper = np.zeros(1, np.int64)
    for partner in reversed(swinging_partners(len(rank))):
        lower = partner[upper]
        levels.append((rank[upper], rank[lower]))
        upper = np.concatenate([upper, lower])
    return levels
