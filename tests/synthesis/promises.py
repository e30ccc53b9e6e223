"""What the docstrings of the algorithms promise: messages, and blocks that each rank sends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, log2

Promise = tuple[Callable[[int], int], Callable[[int], Sequence[Fraction | int]]]


def bits(n: int) -> int:
    return ceil(log2(n))


def doubling_sent(n: int) -> list[int]:
    steps = n.bit_length() - 1
    core, extra = 1 << steps, n - (1 << steps)
    return [steps + (rank < extra) for rank in range(core)] + [1] * extra


# By name and collective: both for n ranks; ranks count from the root.
PROMISES: dict[str, Promise] = {
    "ring allgather": (lambda n: n * (n - 1), lambda n: [n - 1] * n),
    "ring reducescatter": (lambda n: n * (n - 1), lambda n: [n - 1] * n),
    "ring allreduce": (lambda n: 2 * n * (n - 1), lambda n: [Fraction(2 * (n - 1), n)] * n),
    "recursive doubling allreduce": (lambda n: sum(doubling_sent(n)), doubling_sent),
    "binomial broadcast": (
        lambda n: n - 1,
        lambda n: [sum(v + 2**k < n for k in range(v.bit_length(), bits(n))) for v in range(n)],
    ),
    "binomial reduce": (lambda n: n - 1, lambda n: [0] + [1] * (n - 1)),
    "pairwise alltoall": (lambda n: n * (n - 1), lambda n: [n - 1] * n),
    "Bruck allgather": (lambda n: n * bits(n), lambda n: [n - 1] * n),
}
