"""Few, large messages for an alltoall: blocks stop over at other ranks and travel together.

A block's way from source to target is an element of a group, its offset: their difference in a
ring, their exclusive or in a hypercube, rows and columns in a grid.  Written in digits, each phase
moves every block by one digit of its offset.  A rank then holds just one block of each offset, so
blocks have slots by offset, two that they use in turn.
"""

from __future__ import annotations

import numpy as np

from weft.checks import require_range
from weft.collective import Collective
from weft.kinds import Ints, Kind
from weft.schedule.schedule import Schedule, ScheduleDraft
from weft.synthesis.classic.butterfly import require_power_of_two
from weft.synthesis.classic.grid import rows_of


def bruck_alltoall(collective: Collective, radix: int = 2) -> Schedule:
    """In phase k, each rank sends what has a digit d at place k of its offset d radix ** k ahead.

    Messages: n ceil(log2 n) with radix 2; in general n for each pair of a place and a digit, not 0,
    that numbers below n have there.  With blocks of B bytes each rank sends B for each digit, not
    0, of each number below n.  Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8 (1997).
    """
    collective.require(Kind.ALLTOALL)
    require_range("the radix", radix, 2)
    n, offset = collective.ranks, np.arange(collective.ranks)
    weights = [1]
    while weights[-1] * radix < n:
        weights.append(weights[-1] * radix)
    hops = [offset // weight % radix * weight for weight in weights]
    return _exchange(collective, "Bruck", (offset[:, None] + offset) % n, hops)


def hypercube_alltoall(collective: Collective) -> Schedule:
    """In phase k, each rank swaps half of its blocks with the partner 2 ** k away; powers of two.

    Messages: n log2 n.  With blocks of B bytes each rank sends n / 2 log2 n B.
    """
    collective.require(Kind.ALLTOALL)
    require_power_of_two(collective, "hypercube", instead="Bruck")
    offset = np.arange(collective.ranks)
    hops = [offset & 1 << bit for bit in range(max(1, collective.ranks.bit_length() - 1))]
    return _exchange(collective, "hypercube", offset[:, None] ^ offset, hops)


def grid_alltoall(collective: Collective, rows: int | None = None) -> Schedule:
    """Along its row, each block goes to its target's column; then along the column.

    Messages: n (R + C - 2), for R rows of C ranks.  Each rank sends (2 n - R - C) B, with blocks of
    B bytes.  Without `rows` the grid is as square as it can be; a prime number of ranks has none.
    """
    collective.require(Kind.ALLTOALL)
    rows = rows_of(collective, rows, instead="pairwise")
    columns = collective.ranks // rows
    row, column = np.divmod(np.arange(collective.ranks), columns)
    to = (row[:, None] + row) % rows * columns + (column[:, None] + column) % columns
    return _exchange(collective, "grid", to, [column, row * columns])


def _exchange(collective: Collective, name: str, to: Ints, hops: list[Ints]) -> Schedule:
    """Move every block by its hops; `to[rank, offset]` is the rank at that offset from a rank.

    `hops[phase][offset]` is how far that phase moves a block, itself an offset.
    """
    c, draft, rank = collective, ScheduleDraft(collective), np.arange(collective.ranks)
    back = np.argmin(to, axis=1)  # from the target to the source
    first = np.argmax(np.array(hops) != 0, axis=0)
    last = len(hops) - 1 - np.argmax(np.array(hops[::-1]) != 0, axis=0)
    # In place, a block's output is the memory of the block that goes the other way: it waits in
    # scratch until that has left.
    waits = (first[back] >= last) & (rank > 0)
    gone, slot = np.zeros_like(rank), c.scratch(2 * rank)  # by offset: how far, and where now
    other = slot + 1
    draft.copy(rank, c.input(rank), c.output(rank))
    for phase, hop in enumerate(hops):
        moving = np.argsort(hop, kind="stable")[np.count_nonzero(hop == 0) :]
        source = to[:, back[gone[moving]]]
        at = np.where(first[moving] == phase, c.input(to[source, moving]), slot[moving])
        ends = (last[moving] == phase) & ~waits[moving]
        into = np.where(ends, c.output(source), other[moving])
        parcel = np.cumsum(np.diff(hop[moving], prepend=0) != 0) - 1
        message = rank[:, None] * (parcel.max(initial=0) + 1) + parcel
        draft.move(rank[:, None], to[:, hop[moving]], at, into, message=message)
        gone[moving] = to[gone[moving], hop[moving]]
        slot[moving], other[moving] = other[moving], slot[moving]
        free = np.flatnonzero(waits & (first[back] == phase))
        draft.copy(rank[:, None], slot[free], c.output(to[:, back[free]]))
    return draft.schedule(name)
