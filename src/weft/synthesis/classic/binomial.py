"""Binomial trees: in every step, twice as many ranks take part.

Positions count from the root: position 0 is the root, and position v hangs below v without its
highest bit.  A message from each position but the root's, or to it, is n - 1 messages for n ranks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from weft.collective import Collective
from weft.kinds import Ints, Kind
from weft.schedule.schedule import Schedule, ScheduleDraft


def binomial_broadcast(collective: Collective) -> Schedule:
    """Each step, every rank that has the block of S bytes sends it to one that has not.

    Messages: n - 1.  The rank at position v sends S for each bit above its highest that leads to a
    position below n; the root sends ceil(log2 n) times S, which is the number of steps.
    """
    collective.require(Kind.BROADCAST)
    c = collective.cut(1)
    draft = ScheduleDraft(c)
    source = np.where(np.arange(c.ranks) == c.root, c.input(0), c.output(0))
    draft.copy(np.flatnonzero(source == c.input(0)), c.input(0), c.output(0))
    for upper, lower in _levels(c):
        draft.move(upper, lower, source[upper], c.output(0))
    return draft.schedule("binomial")


def binomial_reduce(collective: Collective) -> Schedule:
    """The broadcast backwards: sums flow to the root.

    Messages: n - 1.  Every rank but the root sends S once.
    """
    collective.require(Kind.REDUCE)
    c = collective.cut(1)
    draft = ScheduleDraft(c)
    sum_slot = np.where(np.arange(c.ranks) == c.root, c.output(0), c.scratch(0))
    value = np.full(c.ranks, c.input(0))  # where each rank's partial sum is
    if c.ranks == 1:
        draft.copy(0, c.input(0), c.output(0))
    for upper, lower in reversed(list(_levels(c))):
        draft.move(lower, upper, value[lower], sum_slot[upper], add=value[upper])
        value[upper] = sum_slot[upper]
    return draft.schedule("binomial")


def _levels(collective: Collective) -> Iterator[tuple[Ints, Ints]]:
    """(parents, children) of each step of the broadcast."""
    n, root = collective.ranks, collective.root
    assert root is not None
    for bit in range((n - 1).bit_length()):
        upper = np.arange(min(1 << bit, n - (1 << bit)))
        yield (upper + root) % n, (upper + (1 << bit) + root) % n
