"""PAT, parallel aggregated trees: few messages, and those that go far are small.

Every block goes down a binomial tree of its own, farthest distance first.  All trees are alike: at
distance v from a block's owner, v hangs below v without its lowest bit.  So each rank sends to the
same few distances, and blocks for the same one share a message.

With at most 2 ** k blocks in a message, k steps spread every block over 2 ** k ranks, evenly; the
trees below them are then walked side by side, depth first, a message a step.  The fewer blocks in a
message, the less scratch a reducescatter needs.

Jeaugey: PAT: a new algorithm for all-gather and reduce-scatter operations at scale,
arXiv 2506.20252 (2025).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from weft.checks import require_range
from weft.collective import Collective
from weft.kinds import Ints, Kind
from weft.schedule.schedule import Schedule
from weft.synthesis.classic.pieces import PieceDraft


def pat_allgather(collective: Collective, most: int | None = None) -> Schedule:
    """Blocks go down their trees, at most `most` of them in a message, or as many as there are.

    Messages: n ceil(log2 n), or n (n - 1) if `most` is 1.  Each rank sends (n - 1) B, where
    blocks have B bytes.
    """
    collective.require(Kind.ALLGATHER)
    n, draft = collective.ranks, PieceDraft(collective)
    rank = np.arange(n)[:, None]
    for lower, distance in _steps(n, _tree_bits(n, most)):
        draft.send(rank, (rank + distance) % n, (rank + distance - lower) % n)
    return draft.schedule("PAT")


def pat_reducescatter(collective: Collective, most: int | None = None) -> Schedule:
    """The allgather backwards: sums come up the trees, nearest distance first.

    Messages: n ceil(log2 n), or n (n - 1) if `most` is 1.  Each rank sends (n - 1) B, where
    blocks have B bytes.  Walking trees depth first needs a scratch slot per tree and level.
    """
    collective.require(Kind.REDUCESCATTER)
    n, draft = collective.ranks, PieceDraft(collective)
    rank, bits = np.arange(n)[:, None], _tree_bits(n, most)
    tree, within = np.divmod(np.arange(n), 1 << bits)
    sum_slot = collective.scratch(tree * bits + _levels(bits)[within] - 1)
    sum_slot[0] = collective.output(0)
    for lower, distance in reversed(list(_steps(n, bits))):
        into = sum_slot[lower - distance]
        draft.add(rank, (rank - distance) % n, (rank - lower) % n, into=into)
    return draft.schedule("PAT")


def _tree_bits(n: int, most: int | None) -> int:
    """The trees that are walked side by side have 2 ** bits positions each."""
    if most is not None:
        require_range("most blocks of a message", most, 1)
    depth = (n - 1).bit_length()
    return max(1, depth + 1 - (n if most is None else most).bit_length())


def _steps(n: int, bits: int) -> Iterator[tuple[Ints, int]]:
    """Which positions get their block in each step of the allgather, and from how far."""
    for bit in reversed(range(bits, (n - 1).bit_length())):
        yield np.arange(1 << bit, n, 2 << bit), 1 << bit
    for first in _depth_first(bits):
        if first < n:
            yield np.arange(first, n, 1 << bits), first & -first


def _depth_first(bits: int, top: int = 0) -> Iterator[int]:
    """All positions below the top one of a tree of 2 ** bits."""
    for bit in reversed(range(bits)):
        yield top + (1 << bit)
        yield from _depth_first(bit, top + (1 << bit))


def _levels(bits: int) -> Ints:
    """The lowest bit of each position of a tree, as a number; 0 for the top one, too.

    Those of the same level have their sums one after another, so that they can share a slot.
    """
    levels = np.zeros(1 << bits, np.int64)
    for bit in range(bits):
        levels[1 << bit :: 2 << bit] = bit
    return levels
