"""Butterflies: in each step every rank swaps with one partner, until all have heard of all.

`partners[step][rank]` is whom a rank swaps with.  Recursive doubling, recursive halving, Swing and
Bine differ in little else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from weft.collective import Collective
from weft.errors import BadInput
from weft.kinds import Ints

Step = tuple[Ints, Ints, Ints]  # source, target, piece


def require_power_of_two(collective: Collective, algorithm: str, *, instead: str) -> None:
    n = collective.ranks
    if n & (n - 1):
        low = 1 << n.bit_length() - 1
        raise BadInput(
            f"{algorithm} over {n} ranks: it is for powers of two, so take {low} or {2 * low}, "
            f"or another algorithm, such as {instead}"
        )


def doubling_partners(n: int) -> list[Ints]:
    """1, 2, 4, ... away, over the n ranks of a hypercube."""
    return [np.arange(n) ^ (1 << bit) for bit in range(n.bit_length() - 1)]


def swinging_partners(n: int) -> list[Ints]:
    """1, -1, 3, -5, 11, ... after an even rank and as far before an odd one; n is even."""
    rank = np.arange(n)
    ways = 1 - rank % 2 * 2
    distances = [(1 - (-2) ** (step + 1)) // 3 for step in range((n - 1).bit_length())]
    return [(rank + ways * distance) % n for distance in distances]


def allgather_steps(owner: Ints, partners: Sequence[Ints]) -> Iterator[Step]:
    """In each step every rank gives its partner all that it has and the partner lacks.

    A piece starts at its owner and reaches each rank once, so backwards these are the steps of a
    reducescatter: sums flow to the owner along the same tree.
    """
    has = np.zeros((len(partners[0]) if partners else 1, len(owner)), bool)
    has[owner, np.arange(len(owner))] = True
    for partner in partners:
        source, piece = np.nonzero(has & ~has[partner])
        yield source, partner[source], piece
        has |= has[partner]
