"""Flat: the root talks to each of the others, and nobody else talks.

The fewest messages, and each is one hop long; but all of them share the root's links.
"""

from __future__ import annotations

import numpy as np

from weft.collective import Collective
from weft.kinds import Kind
from weft.schedule.schedule import Schedule
from weft.synthesis.classic.pieces import PieceDraft, ranks_from_root


def flat_broadcast(collective: Collective) -> Schedule:
    """The root sends its block of S bytes to every other rank.

    Messages: n - 1.  The root sends (n - 1) S, the others nothing.
    """
    collective.require(Kind.BROADCAST)
    draft, rank = PieceDraft(collective), ranks_from_root(collective)
    draft.send(rank[0], rank[1:], piece=0)
    return draft.schedule("flat")


def flat_reduce(collective: Collective) -> Schedule:
    """Every rank sends its block of S bytes to the root, which adds them up in turn.

    Messages: n - 1.  Every rank but the root sends S.
    """
    collective.require(Kind.REDUCE)
    draft, rank = PieceDraft(collective), ranks_from_root(collective)
    given, wanted = collective.input(0), collective.output(0)
    sum_so_far = np.full(len(rank) - 1, wanted)
    sum_so_far[:1] = given
    draft.move(rank[1:], rank[0], given, wanted, add=sum_so_far)
    return draft.schedule("flat")


def flat_scatter(collective: Collective) -> Schedule:
    """The root sends every other rank its block.

    Messages: n - 1.  With blocks of B bytes the root sends (n - 1) B, the others nothing.
    """
    collective.require(Kind.SCATTER)
    draft, rank = PieceDraft(collective), ranks_from_root(collective)
    draft.send(rank[0], rank[1:], piece=rank[1:])
    return draft.schedule("flat")


def flat_gather(collective: Collective) -> Schedule:
    """Every rank sends its block to the root.

    Messages: n - 1.  With blocks of B bytes every rank but the root sends B.
    """
    collective.require(Kind.GATHER)
    draft, rank = PieceDraft(collective), ranks_from_root(collective)
    draft.send(rank[1:], rank[0], piece=rank[1:])
    return draft.schedule("flat")
