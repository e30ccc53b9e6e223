"""Pairwise exchange: in every step each rank sends to one rank and receives from one."""

from __future__ import annotations

import numpy as np

from weft.collective import Collective
from weft.kinds import Kind
from weft.schedule.schedule import Schedule, ScheduleDraft
from weft.synthesis.classic.pieces import PieceDraft


def pairwise_alltoall(collective: Collective) -> Schedule:
    """In step s, every rank swaps blocks with the ranks s after and s before it.

    Messages: n (n - 1).  With blocks of B bytes each rank sends (n - 1) B.  Of each pair, one keeps
    what arrives in a scratch slot until its own block has left, so that it works in place too.
    """
    collective.require(Kind.ALLTOALL)
    n, draft = collective.ranks, ScheduleDraft(collective)
    rank = np.arange(n)
    draft.copy(rank, collective.input(rank), collective.output(rank))
    for step in range(1, n // 2 + 1):
        first = rank[: n // 2] if 2 * step == n else rank
        second = (first + step) % n
        waiting = collective.scratch(step % 2)
        draft.move(first, second, collective.input(second), waiting)
        draft.move(second, first, collective.input(first), collective.output(second))
        draft.copy(second, waiting, collective.output(first))
    return draft.schedule("pairwise")


def pairwise_reducescatter(collective: Collective) -> Schedule:
    """In step s, every rank sends the rank s after it that one's block, to be added there.

    Messages: n (n - 1).  With blocks of B bytes each rank sends (n - 1) B.  It needs no scratch.
    """
    collective.require(Kind.REDUCESCATTER)
    n, draft = collective.ranks, PieceDraft(collective)
    rank = np.arange(n)
    for step in range(1, n):
        receiver = (rank + step) % n
        draft.add(rank, receiver, piece=receiver)
    return draft.schedule("pairwise")
