"""Grids: ranks in rows and columns, so that each talks to those of its row and its column only.

Rank r is at row r // C and column r % C of R rows and C columns.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from weft.checks import require_range
from weft.collective import Collective
from weft.errors import BadInput
from weft.kinds import Kind
from weft.schedule.schedule import Schedule
from weft.synthesis.classic.pieces import PieceDraft
from weft.synthesis.classic.ring import pass_round, sum_round
from weft.units import counted


def grid_allreduce(collective: Collective, rows: int | None = None) -> Schedule:
    """A ring reducescatter in each row, a ring allreduce in each column, a ring allgather in rows.

    Messages: 2 n (R + C - 2), for R rows of C ranks.  Each rank sends 2 (n - 1) / n of S.  Without
    `rows` the grid is as square as it can be; a prime number of ranks has none.
    """
    collective.require(Kind.ALLREDUCE)
    n, rows = collective.ranks, rows_of(collective, rows, instead="ring")
    draft, rank = PieceDraft(collective.cut(n)), np.arange(n).reshape(rows, -1)
    share = rank.reshape(-1, rows)  # share[c, r] is the piece that ends, summed up, at row r
    lines = np.broadcast_to(rank[:, None, :], (rows, rows, n // rows))
    parts = np.broadcast_to(share.T, lines.shape)
    sum_round(draft, lines, parts)
    sum_round(draft, rank.T, share)
    pass_round(draft, rank.T, share)
    pass_round(draft, lines, parts)
    return draft.schedule("grid")


def rows_of(collective: Collective, rows: int | None, *, instead: str) -> int:
    """How many rows the grid has: those asked for, or as many as make it most square."""
    n = collective.ranks
    divisors = [d for d in range(2, isqrt(n) + 1) if n % d == 0]
    if not divisors:
        raise BadInput(
            f"grid over {counted(n, 'rank')}: it is for numbers with a divisor other than 1 and "
            f"themselves, so take {max(4, n + 1)}, or another algorithm, such as {instead}"
        )
    if rows is None:
        return divisors[-1]
    require_range("the number of rows", rows, 2, n // 2)
    if n % rows:
        raise BadInput(f"{n} ranks in {rows} rows: give a divisor of {n}, such as {divisors[-1]}")
    return rows
