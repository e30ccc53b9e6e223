"""Recursive halving: in every step each rank gives its partner half of the sums it works on.

p is the last power of two that is not above n.  The other n - p ranks give all that they have to a
neighbour at the start, and get their result from it at the end.

Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in MPICH, IJHPCA 19
(2005).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.collective import Collective
from weft.kinds import Ints, Kind
from weft.schedule.schedule import Schedule
from weft.synthesis.classic.binomial import gather_phase
from weft.synthesis.classic.butterfly import Step, allgather_steps, doubling_partners
from weft.synthesis.classic.pieces import PieceDraft, ranks_from_root


def halving_reducescatter(collective: Collective) -> Schedule:
    """The first half of the blocks goes to the first half of the ranks, then within each half.

    Messages: p log2 p + 2 (n - p).  With an input of S bytes, each rank sends (n - 1) / n of S, but
    the n - p that do not take part send S.
    """
    collective.require(Kind.REDUCESCATTER)
    draft, block = PieceDraft(collective), np.arange(collective.ranks)
    core, extra = _fold(collective.ranks)
    owner = np.searchsorted(core, block, side="right") - 1
    _sum_up(draft, core, extra, list(allgather_steps(owner, doubling_partners(len(core)))))
    draft.send(extra - 1, extra, extra)
    return draft.schedule("recursive halving")


def rabenseifner_allreduce(collective: Collective) -> Schedule:
    """Recursive halving from the nearest partner on, then an allgather the same way back.

    Messages: 2 p log2 p + 2 (n - p).  Of a buffer of S bytes, each of p ranks sends 2 (p - 1) / p;
    each of the other n - p sends S to a neighbour and gets S from it.
    """
    collective.require(Kind.ALLREDUCE)
    core, extra = _fold(collective.ranks)
    draft = PieceDraft(collective.cut(len(core)))
    steps = _nearest_first(_bits_reversed(len(core)))
    _sum_up(draft, core, extra, steps)
    for source, target, piece in steps:
        draft.send(core[source], core[target], piece)
    draft.send(extra[:, None] - 1, extra[:, None], np.arange(len(core)))
    return draft.schedule("Rabenseifner")


def rabenseifner_reduce(collective: Collective) -> Schedule:
    """Recursive halving from the nearest partner on, then a binomial gather the same way back.

    Messages: p log2 p + n - 1.  Positions count from the root.  The n - p that do not take part
    send S.  Each of the other p sends (p - 1) / p of S, and all but the root what they gather:
    S / 2 at the second place, S / 4 at the next 2, S / 8 at the next 4, and so on.
    """
    collective.require(Kind.REDUCE)
    rank = ranks_from_root(collective)
    core, extra = (rank[position] for position in _fold(len(rank)))
    draft, owner = PieceDraft(collective.cut(len(core))), _bits_reversed(len(core))
    _sum_up(draft, core, extra, _nearest_first(owner))
    gather_phase(draft, core[owner], piece=np.arange(len(core)))
    return draft.schedule("Rabenseifner")


def _fold(n: int) -> tuple[Ints, Ints]:
    """Those who take part, and those who do not: the odd ones of the first 2 (n - p)."""
    extra = np.arange(1, 2 * (n - (1 << n.bit_length() - 1)), 2)
    return np.setdiff1d(np.arange(n), extra), extra


def _bits_reversed(p: int) -> Ints:
    """The owner of each piece, so that what is sent to the nearest are adjacent pieces."""
    owner = np.zeros(p, np.int64)
    for bit in range(p.bit_length() - 1):
        owner = owner << 1 | np.arange(p) >> bit & 1
    return owner


def _nearest_first(owner: Ints) -> list[Step]:
    """A reducescatter that starts with the nearest, written as the allgather that undoes it."""
    return list(allgather_steps(owner, doubling_partners(len(owner))[::-1]))


def _sum_up(draft: PieceDraft, core: Ints, extra: Ints, steps: Sequence[Step]) -> None:
    """An allgather backwards, after which every owner has the sum of its pieces over all ranks."""
    pieces = np.arange(len(draft.collective.pieces))
    draft.add(extra[:, None], core[: len(extra), None], pieces)
    for source, target, piece in reversed(steps):
        draft.add(core[target], core[source], piece)
