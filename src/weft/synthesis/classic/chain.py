"""Chains: each rank talks to the next one only, counting from the root.

Slow for a small block, and among the fastest for a large one: engines cut it into
segments, and each rank passes one on while the next arrives.
"""

from __future__ import annotations

import numpy as np

from weft.collective import Collective
from weft.kinds import Kind
from weft.schedule.schedule import Schedule
from weft.synthesis.classic.pieces import PieceDraft, ranks_from_root


def chain_broadcast(collective: Collective) -> Schedule:
    """The root's block of S bytes goes from rank to rank.

    Messages: n - 1.  Every rank but the last sends S.
    """
    collective.require(Kind.BROADCAST)
    draft, rank = PieceDraft(collective), ranks_from_root(collective)
    block = np.full(len(rank), collective.output(0))
    block[0] = collective.input(0)
    draft.move(rank[:-1], rank[1:], block[:-1], block[1:])
    return draft.schedule("chain")


def chain_reduce(collective: Collective) -> Schedule:
    """The sum starts at the last rank and comes to the root, each rank adding its S bytes.

    Messages: n - 1.  Every rank but the root sends S.
    """
    collective.require(Kind.REDUCE)
    draft, rank = PieceDraft(collective), ranks_from_root(collective)[::-1]
    given, total = collective.input(0), np.full(len(rank), collective.scratch(0))
    total[0], total[-1] = given, collective.output(0)
    draft.move(rank[:-1], rank[1:], total[:-1], total[1:], add=given)
    return draft.schedule("chain")
