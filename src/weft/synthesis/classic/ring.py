"""Rings: every rank talks to its two neighbours only, and sends something in every step.

n is the number of ranks and S the size of the whole result of an allgather, of the whole input of
a reducescatter, of the buffer of an allreduce.  All send the least that their collective can.
"""

from __future__ import annotations

import numpy as np

from weft.collective import Collective
from weft.kinds import Ints, Kind
from weft.schedule.schedule import Schedule
from weft.synthesis.classic.pieces import PieceDraft


def ring_allgather(collective: Collective) -> Schedule:
    """Each block goes round the ring, from every rank to the next.

    Messages: n (n - 1).  Each rank sends (n - 1) / n of S.
    """
    collective.require(Kind.ALLGATHER)
    draft, rank = PieceDraft(collective), np.arange(collective.ranks)
    pass_round(draft, rank, piece=rank)
    return draft.schedule("ring")


def bidirectional_ring_allgather(collective: Collective) -> Schedule:
    """Each block goes both ways round the ring, and half of the way each.

    Messages: n (n - 1), in half as many steps.  Each rank sends (n - 1) / n of S, half of it each
    way, or where n is even a block more one way.
    """
    collective.require(Kind.ALLGATHER)
    n, draft = collective.ranks, PieceDraft(collective)
    both = np.stack([np.arange(n), np.arange(n)[::-1]])
    for step in range(n // 2):
        last_of_even = 2 * (step + 1) == n
        ring = both[:1] if last_of_even else both
        _pass_on(draft, ring, ring, step)
    return draft.schedule("bidirectional ring")


def ring_reducescatter(collective: Collective) -> Schedule:
    """The sum for rank r starts at rank r + 1 and goes round, each rank adding its part.

    Messages: n (n - 1).  Each rank sends (n - 1) / n of S.  Sums on their way take turns in two
    scratch slots.
    """
    collective.require(Kind.REDUCESCATTER)
    n, draft = collective.ranks, PieceDraft(collective)
    rank, after = np.arange(n), np.roll(np.arange(n), -1)
    for step in range(n - 1):
        into = collective.scratch(step % 2) if step < n - 2 else collective.output(0)
        draft.add(rank, after, (rank - step - 1) % n, into=into)
    return draft.schedule("ring")


def ring_allreduce(collective: Collective) -> Schedule:
    """A lap that sums up, then a lap that hands the sums out; one piece of the buffer per rank.

    Messages: 2 n (n - 1).  Each rank sends 2 (n - 1) / n of S.
    """
    collective.require(Kind.ALLREDUCE)
    n = collective.ranks
    draft, rank = PieceDraft(collective.cut(n)), np.arange(n)
    ends_with = (rank + 1) % n
    sum_round(draft, rank, ends_with)
    pass_round(draft, rank, ends_with)
    return draft.schedule("ring")


def sum_round(draft: PieceDraft, ring: Ints, piece: Ints) -> None:
    """A lap of n - 1 steps, after which each rank of the ring has the sum of its piece.

    `ring` and `piece` go along the ring in their last dimension; there may be many rings.
    """
    n = ring.shape[-1]
    for step in range(n - 1):
        draft.add(ring, np.roll(ring, -1, -1), np.roll(piece, step + 1, -1))


def pass_round(draft: PieceDraft, ring: Ints, piece: Ints) -> None:
    """A lap of n - 1 steps in which each rank's piece goes to all others of the ring."""
    for step in range(ring.shape[-1] - 1):
        _pass_on(draft, ring, piece, step)


def _pass_on(draft: PieceDraft, ring: Ints, piece: Ints, step: int) -> None:
    draft.send(ring, np.roll(ring, -1, -1), np.roll(piece, step, -1))
