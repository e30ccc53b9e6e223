"""Double trees: two binary trees, each for half of the block; a rank is a leaf in at least one.

So no rank sends twice what it gets, as the inner ranks of one binary tree do while its leaves are
idle.  Sanders, Speck, Träff: Two-tree algorithms for full bandwidth broadcast, reduction and scan,
Parallel Computing 35 (2009).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from weft.collective import Collective
from weft.kinds import Ints, Kind
from weft.schedule.schedule import NONE, Schedule
from weft.synthesis.classic.pieces import PieceDraft, ranks_from_root

Level = tuple[Ints, Ints]  # parents, children


def double_tree_broadcast(collective: Collective) -> Schedule:
    """The root gives each half of the block to the top of a tree over the other ranks.

    Messages: 2 (n - 1).  The root sends S.  Another rank has at most two children, all in one tree,
    and sends S / 2 to each.
    """
    collective.require(Kind.BROADCAST)
    draft = PieceDraft(collective.cut(2))
    _hand_down(draft, _below_root(collective), _levels(collective.ranks - 1))
    return draft.schedule("double tree")


def double_tree_reduce(collective: Collective) -> Schedule:
    """The broadcast backwards: the sums of both halves flow to the root.

    Messages: 2 (n - 1).  Every rank but the root sends S / 2 twice.
    """
    collective.require(Kind.REDUCE)
    draft = PieceDraft(collective.cut(2))
    _sum_up(draft, _below_root(collective), _levels(collective.ranks - 1))
    return draft.schedule("double tree")


def double_tree_allreduce(collective: Collective) -> Schedule:
    """Each half of the buffer is summed up to the top of its tree and handed down again.

    Messages: 4 (n - 1).  A rank sends S / 2 up in each tree but one whose top it is, and S / 2 down
    to each of its at most two children: 2 S at most.
    """
    collective.require(Kind.ALLREDUCE)
    draft, rank = PieceDraft(collective.cut(2)), np.arange(collective.ranks)
    trees, (_, *levels) = _two_trees(NONE, rank), _levels(len(rank))
    _sum_up(draft, trees, levels)
    _hand_down(draft, trees, levels)
    return draft.schedule("double tree")


def _below_root(collective: Collective) -> Ints:
    """Both trees over the ranks after the root, which is above their tops."""
    rank = ranks_from_root(collective)
    return _two_trees(rank[0], rank[1:])


def _two_trees(above: npt.ArrayLike, ranks: Ints) -> Ints:
    """The rank at each position of each tree; what is above the top has position 0.

    The second tree mirrors the first, or is shifted by one for an odd number of ranks, so that the
    inner ranks of one, at even positions, are leaves of the other.
    """
    second = np.roll(ranks, -1) if len(ranks) % 2 else ranks[::-1]
    return np.array([[above, *ranks], [above, *second]])


def _levels(n: int) -> list[Level]:
    """The edges of a binary tree over the positions 1 to n, in order, from the top down.

    A position's lowest bit tells its height, and its parent is next to its subtree.  In a level no
    parent has two children.
    """
    child = np.arange(1, n + 1)
    height = child & -child
    beside = child ^ height
    parent = np.where(beside | height << 1 <= n, beside | height << 1, beside)
    levels: list[Level] = []
    for bit in reversed(range(n.bit_length())):
        for side in (child < parent, child > parent):
            level = side & (height == 1 << bit)
            levels.append((parent[level], child[level]))
    return [level for level in levels if len(level[0])]


def _hand_down(draft: PieceDraft, trees: Ints, levels: Sequence[Level]) -> None:
    for parent, child in levels:
        for half, rank in enumerate(trees):
            draft.send(rank[parent], rank[child], half)


def _sum_up(draft: PieceDraft, trees: Ints, levels: Sequence[Level]) -> None:
    for parent, child in reversed(levels):
        for half, rank in enumerate(trees):
            draft.add(rank[child], rank[parent], half)
