"""What the docstrings of the algorithms promise: messages, blocks sent, and for which ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from weft.schedule.schedule import Schedule
from weft.synthesis.classic.algorithms import ALGORITHMS, Algorithm


def always(_: int) -> bool:
    return True


def even(n: int) -> bool:
    return n % 2 == 0


class Promise(NamedTuple):
    """All of it for n ranks; those that send count from the root, and what they send in blocks."""

    messages: Callable[[int], int]
    sent: Callable[[int], Sequence[Fraction | int]]
    exists: Callable[[int], bool] = always  # and where not, it is refused
    thrifty: bool = True  # no rank is sent what it has


def bits(n: int) -> int:
    return (n - 1).bit_length()


def children(n: int) -> list[int]:
    """How many hang below each position where it hangs below itself without its highest bit."""
    return [sum(v + 2**k < n for k in range(v.bit_length(), bits(n))) for v in range(n)]


def subtrees(n: int) -> list[int]:
    """How many are below each position, with it, where it hangs below itself without its lowest."""
    return [n] + [min(v & -v, n - v) for v in range(1, n)]


def below(n: int) -> list[int]:
    return [size - 1 for size in subtrees(n)]


def every_but_first(n: int) -> list[int]:
    return [0] + [1] * (n - 1)


def doubling_sent(n: int) -> list[int]:
    steps = n.bit_length() - 1
    core, extra = 1 << steps, n - (1 << steps)
    return [steps + (rank < extra) for rank in range(core)] + [1] * extra


def total(*parts: Sequence[int]) -> list[int]:
    return [sum(of_rank) for of_rank in zip(*parts, strict=True)]


TREE = (lambda n: n - 1, every_but_first)
EACH_TO_EACH = Promise(lambda n: n * (n - 1), lambda n: [n - 1] * n)
FEW_TO_EACH = Promise(lambda n: n * bits(n), lambda n: [n - 1] * n)

PROMISES = {
    "flat broadcast": Promise(lambda n: n - 1, lambda n: [n - 1] + [0] * (n - 1)),
    "chain broadcast": Promise(lambda n: n - 1, lambda n: [1] * (n - 1) + [0]),
    "binomial broadcast": Promise(lambda n: n - 1, children),
    "scatter and allgather broadcast": Promise(
        lambda n: (n + 1) * (n - 1),
        lambda n: [Fraction(n - 1 + size, n) for size in below(n)],
        thrifty=False,
    ),
    "flat reduce": Promise(*TREE),
    "chain reduce": Promise(*TREE),
    "binomial reduce": Promise(*TREE),
    "flat scatter": Promise(lambda n: n - 1, lambda n: [n - 1] + [0] * (n - 1)),
    "binomial scatter": Promise(lambda n: n - 1, below),
    "flat gather": Promise(*TREE),
    "binomial gather": Promise(lambda n: n - 1, lambda n: [0, *subtrees(n)[1:]]),
    "Bruck allgather": FEW_TO_EACH,
    "ring allgather": EACH_TO_EACH,
    "bidirectional ring allgather": EACH_TO_EACH,
    "neighbour exchange allgather": Promise(lambda n: n * n // 2, lambda n: [n - 1] * n, even),
    "PAT allgather": FEW_TO_EACH,
    "gather and broadcast allgather": Promise(
        lambda n: 2 * (n - 1),
        lambda n: total([0, *subtrees(n)[1:]], [n * count for count in children(n)]),
        thrifty=False,
    ),
    "ring reducescatter": EACH_TO_EACH,
    "pairwise reducescatter": EACH_TO_EACH,
    "PAT reducescatter": FEW_TO_EACH,
    "reduce and scatter reducescatter": Promise(
        lambda n: 2 * (n - 1), lambda n: total([0] + [n] * (n - 1), below(n))
    ),
    "recursive doubling allreduce": Promise(lambda n: sum(doubling_sent(n)), doubling_sent),
    "ring allreduce": Promise(lambda n: 2 * n * (n - 1), lambda n: [Fraction(2 * (n - 1), n)] * n),
    "reduce and broadcast allreduce": Promise(
        lambda n: 2 * (n - 1), lambda n: total(every_but_first(n), children(n))
    ),
    "pairwise alltoall": EACH_TO_EACH,
    "dissemination barrier": Promise(lambda n: n * bits(n), lambda n: [bits(n)] * n, thrifty=False),
}


def promise(of: Algorithm | Schedule) -> Promise:
    kind = of.kind if isinstance(of, Algorithm) else of.collective.kind
    return PROMISES[f"{of.name} {kind}"]


def algorithms_for(ranks: int) -> list[Algorithm]:
    """Those that exist for so many ranks."""
    return [algorithm for algorithm in ALGORITHMS if promise(algorithm).exists(ranks)]
