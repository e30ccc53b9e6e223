"""Swing: partners lie to the left and to the right in turn, so they are nearer on rings and tori.

De Sensi, Bonato, Saam, Hoefler: Swing: Short-cutting rings for higher bandwidth allreduce, NSDI
2024.
"""

from __future__ import annotations

import numpy as np

from weft.collective import Collective
from weft.kinds import Kind
from weft.schedule.schedule import Schedule
from weft.synthesis.classic.butterfly import allgather_steps, swinging_partners
from weft.synthesis.classic.pieces import PieceDraft


def swing_allreduce(collective: Collective) -> Schedule:
    """A reducescatter among partners 1, 1, 3, 5, 11, ... apart, then an allgather the way back.

    Messages: 2 m ceil(log2 m), m being n or, of an odd n, n - 1; and 4 m more for the last of an
    odd n, which swaps pieces with each other rank directly.  Each rank sends 2 (n - 1) / n of S.
    Where m is no power of two, some ranks could swap a piece twice: its sum goes the last time,
    its result the first.  The partners are as published; that rule, and what the last of an odd n
    does, are ours, and the authors may do it in another way.
    """
    collective.require(Kind.ALLREDUCE)
    n = collective.ranks
    draft = PieceDraft(collective.cut(n))
    rank = np.arange(n - n % 2)
    steps = list(allgather_steps(rank, swinging_partners(len(rank))[::-1]))
    odd = range(len(rank), n)
    for last in odd:
        draft.add(last, rank, rank)
        for one in rank:
            draft.add(one, last, last)
    for source, target, piece in reversed(steps):
        draft.add(target, source, piece)
    for source, target, piece in steps:
        draft.send(source, target, piece)
    for last in odd:
        draft.send(last, rank, last)
        draft.send(rank, last, rank)
    return draft.schedule("Swing")
