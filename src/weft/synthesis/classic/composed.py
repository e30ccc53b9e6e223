"""Algorithms made of two others, one after the other; S is the block, or B one of n blocks.

In the binomial trees below, position v counts from the root, or from rank 0 where there is none,
and 2 ** k is the lowest bit of v.
"""

from __future__ import annotations

import numpy as np

from weft.collective import Collective
from weft.kinds import Kind
from weft.schedule.schedule import Schedule
from weft.synthesis.classic.binomial import (
    broadcast_phase,
    gather_phase,
    reduce_phase,
    scatter_phase,
)
from weft.synthesis.classic.pieces import PieceDraft, ranks_from_root
from weft.synthesis.classic.ring import pass_round


def scatter_allgather_broadcast(collective: Collective) -> Schedule:
    """A binomial scatter of n pieces, then a ring allgather: for large blocks.

    Messages: (n + 1) (n - 1).  Each rank sends (n - 1) / n of S round the ring.  Before that the
    root sends as much, and position v sends S / n for every position below it, as in the scatter.

    Barnett, Gupta, Payne, Shuler, van de Geijn, Watts: Interprocessor collective communication
    library (InterCom), SHPCC (1994).
    """
    collective.require(Kind.BROADCAST)
    n = collective.ranks
    draft, rank, piece = PieceDraft(collective.cut(n)), ranks_from_root(collective), np.arange(n)
    scatter_phase(draft, rank, piece)
    pass_round(draft, rank, piece)
    return draft.schedule("scatter and allgather")


def reduce_broadcast_allreduce(collective: Collective) -> Schedule:
    """A binomial reduce to rank 0, then a binomial broadcast.

    Messages: 2 (n - 1).  Every rank but rank 0 sends S to its parent, and every rank sends S to
    each of its children.
    """
    collective.require(Kind.ALLREDUCE)
    draft, rank = PieceDraft(collective), ranks_from_root(collective)
    reduce_phase(draft, rank)
    broadcast_phase(draft, rank)
    return draft.schedule("reduce and broadcast")


def gather_broadcast_allgather(collective: Collective) -> Schedule:
    """A binomial gather to rank 0, then a binomial broadcast of the whole result.

    Messages: 2 (n - 1).  Rank v sends min(2 ** k, n - v) B in the gather, but rank 0 nothing; then
    every rank sends n B to each of its children.
    """
    collective.require(Kind.ALLGATHER)
    draft, rank = PieceDraft(collective), ranks_from_root(collective)
    gather_phase(draft, rank, piece=rank)
    broadcast_phase(draft, rank)
    return draft.schedule("gather and broadcast")


def reduce_scatter_reducescatter(collective: Collective) -> Schedule:
    """A binomial reduce of all blocks to rank 0, then a binomial scatter.

    Messages: 2 (n - 1).  Rank 0 sends (n - 1) B; rank v sends n B to its parent, and then B for
    every rank below it: (min(2 ** k, n - v) - 1) B.
    """
    collective.require(Kind.REDUCESCATTER)
    draft, rank = PieceDraft(collective), ranks_from_root(collective)
    reduce_phase(draft, rank)
    scatter_phase(draft, rank, piece=rank)
    return draft.schedule("reduce and scatter")
