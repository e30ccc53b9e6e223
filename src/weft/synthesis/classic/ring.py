"""Rings: every rank talks to its two neighbours only, and every link is busy in every step.

n is the number of ranks and S the size of the whole result of an allgather, of the whole input of
a reducescatter, of the buffer of an allreduce.  All three send the least that their collective can.
"""

from __future__ import annotations

import numpy as np

from weft.collective import Collective
from weft.kinds import Kind
from weft.schedule.schedule import Schedule, ScheduleDraft


def ring_allgather(collective: Collective) -> Schedule:
    """Each block goes round the ring, from every rank to the next.

    Messages: n (n - 1).  Each rank sends (n - 1) / n of S.
    """
    collective.require(Kind.ALLGATHER)
    n, draft = collective.ranks, ScheduleDraft(collective)
    rank, after = np.arange(n), np.roll(np.arange(n), -1)
    own, out = collective.input(0), collective.output
    draft.copy(rank, own, out(rank))
    for step in range(n - 1):
        block = (rank - step) % n
        draft.move(rank, after, out(block) if step else own, out(block))
    return draft.schedule("ring")


def ring_reducescatter(collective: Collective) -> Schedule:
    """The sum for rank r starts at rank r + 1 and goes round, each rank adding its part.

    Messages: n (n - 1).  Each rank sends (n - 1) / n of S.  Sums on their way take turns in two
    scratch slots.
    """
    collective.require(Kind.REDUCESCATTER)
    n, draft = collective.ranks, ScheduleDraft(collective)
    rank, after = np.arange(n), np.roll(np.arange(n), -1)
    if n == 1:
        draft.copy(0, collective.input(0), collective.output(0))
    for step in range(n - 1):
        block = (rank - step - 1) % n
        source = collective.scratch(step % 2) if step else collective.input(block)
        target = collective.scratch((step + 1) % 2) if step < n - 2 else collective.output(0)
        draft.move(rank, after, source, target, add=collective.input(block))
    return draft.schedule("ring")


def ring_allreduce(collective: Collective) -> Schedule:
    """A lap that sums up, then a lap that hands the sums out; one piece of the buffer per rank.

    Messages: 2 n (n - 1).  Each rank sends 2 (n - 1) / n of S.
    """
    collective.require(Kind.ALLREDUCE)
    n = collective.ranks
    cut = collective.cut(n)
    draft, rank, after = ScheduleDraft(cut), np.arange(n), np.roll(np.arange(n), -1)
    if n == 1:
        draft.copy(0, cut.input(0), cut.output(0))
    for step in range(n - 1):
        piece = (rank - step) % n
        source = cut.output(piece) if step else cut.input(piece)
        draft.move(rank, after, source, cut.output(piece), add=cut.input(piece))
    for step in range(n - 1):
        piece = (rank - step + 1) % n
        draft.move(rank, after, cut.output(piece), cut.output(piece))
    return draft.schedule("ring")
