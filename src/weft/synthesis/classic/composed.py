"""Algorithms made of two others, one after the other.

As published, the allgather of a broadcast and the broadcast of an allgather also send ranks what
they have already.
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
    root sends as much, and every other rank S / n for each rank below it, as in the scatter.

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

    Messages: 2 (n - 1).  With blocks of B bytes every rank but rank 0 sends B for itself and for
    each rank below it, as in the gather; then every rank sends n B to each of its children.
    """
    collective.require(Kind.ALLGATHER)
    draft, rank = PieceDraft(collective), ranks_from_root(collective)
    gather_phase(draft, rank, piece=rank)
    broadcast_phase(draft, rank)
    return draft.schedule("gather and broadcast")


def reduce_scatter_reducescatter(collective: Collective) -> Schedule:
    """A binomial reduce of all blocks to rank 0, then a binomial scatter.

    Messages: 2 (n - 1).  With blocks of B bytes every rank but rank 0 sends n B to its parent.
    Then every rank sends B for each rank below it, as in the scatter.
    """
    collective.require(Kind.REDUCESCATTER)
    draft, rank = PieceDraft(collective), ranks_from_root(collective)
    reduce_phase(draft, rank)
    scatter_phase(draft, rank, piece=rank)
    return draft.schedule("reduce and scatter")
