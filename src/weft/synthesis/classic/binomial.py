"""Binomial trees: as many steps as n has bits, and n - 1 messages for n ranks.

Positions count from the root: position 0 is the root.  There are two ways to hang the others up.
Where every message is the whole block, position v hangs below v without its highest bit, so that
in every step twice as many ranks take part.  Where every position has a block of its own, v hangs
below v without its lowest bit, so that all below v are its neighbours, v to v + 2 ** k - 1.

The phases are here for algorithms that are made of several.  In them `rank` is the rank at each
position, and `piece` the piece that belongs to it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from weft.collective import Collective
from weft.kinds import Ints, Kind
from weft.schedule.schedule import Schedule
from weft.synthesis.classic.pieces import PieceDraft, ranks_from_root


def binomial_broadcast(collective: Collective) -> Schedule:
    """Each step, every rank that has the block of S bytes sends it to one that has not.

    Messages: n - 1.  The rank at position v sends S for each bit above its highest that leads to a
    position below n; the root sends ceil(log2 n) times S, which is the number of steps.
    """
    collective.require(Kind.BROADCAST)
    draft = PieceDraft(collective)
    broadcast_phase(draft, ranks_from_root(collective))
    return draft.schedule("binomial")


def binomial_reduce(collective: Collective) -> Schedule:
    """The broadcast backwards: sums flow to the root.

    Messages: n - 1.  Every rank but the root sends S once.
    """
    collective.require(Kind.REDUCE)
    draft = PieceDraft(collective)
    reduce_phase(draft, ranks_from_root(collective))
    return draft.schedule("binomial")


def binomial_scatter(collective: Collective) -> Schedule:
    """Each step, every rank that has blocks sends on the half that is for those farther away.

    Messages: n - 1.  With blocks of B bytes the root sends (n - 1) B, and the rank at position v
    sends B for every position below it: for v + 1 to v + 2 ** k - 1, as far as they are below n,
    where 2 ** k is the lowest bit of v.
    """
    collective.require(Kind.SCATTER)
    draft, rank = PieceDraft(collective), ranks_from_root(collective)
    scatter_phase(draft, rank, piece=rank)
    return draft.schedule("binomial")


def binomial_gather(collective: Collective) -> Schedule:
    """The scatter backwards: every rank sends its block with those of all that are below it.

    Messages: n - 1.  With blocks of B bytes the rank at position v sends B for itself and for every
    position below it: min(2 ** k, n - v) B, where 2 ** k is the lowest bit of v.
    """
    collective.require(Kind.GATHER)
    draft, rank = PieceDraft(collective), ranks_from_root(collective)
    gather_phase(draft, rank, piece=rank)
    return draft.schedule("binomial")


def broadcast_phase(draft: PieceDraft, rank: Ints) -> None:
    """All ranks get all pieces that the first has."""
    for upper, lower in _doublings(len(rank)):
        draft.send(rank[upper, None], rank[lower, None], _all_pieces(draft))


def reduce_phase(draft: PieceDraft, rank: Ints) -> None:
    """The first rank gets the sums of all pieces."""
    for upper, lower in reversed(list(_doublings(len(rank)))):
        draft.add(rank[lower, None], rank[upper, None], _all_pieces(draft))


def scatter_phase(draft: PieceDraft, rank: Ints, piece: Ints) -> None:
    """Each rank gets its piece from the first, by way of those that it hangs below."""
    for upper, lower, below in reversed(list(_subtrees(len(rank)))):
        draft.send(rank[upper], rank[lower], piece[below])


def gather_phase(draft: PieceDraft, rank: Ints, piece: Ints) -> None:
    """The first rank gets each rank's piece."""
    for upper, lower, below in _subtrees(len(rank)):
        draft.send(rank[lower], rank[upper], piece[below])


def _doublings(n: int) -> Iterator[tuple[Ints, Ints]]:
    """By steps of the broadcast: the positions that send, and those that get."""
    for bit in range((n - 1).bit_length()):
        upper = np.arange(min(1 << bit, n - (1 << bit)))
        yield upper, upper + (1 << bit)


def _subtrees(n: int) -> Iterator[tuple[Ints, Ints, Ints]]:
    """By steps of the gather: the positions that get, those that send, and whose pieces."""
    position = np.arange(n)
    for bit in range((n - 1).bit_length()):
        below = position[position >> bit & 1 == 1]
        lower = below >> bit << bit
        yield lower - (1 << bit), lower, below


def _all_pieces(draft: PieceDraft) -> Ints:
    return np.arange(len(draft.collective.pieces))
