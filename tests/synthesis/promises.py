"""What the docstrings of the algorithms promise: messages, blocks sent, and for which ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, isqrt
from typing import NamedTuple

from weft.schedule.schedule import Schedule
from weft.synthesis.classic.algorithms import ALGORITHMS, Algorithm


def always(_: int) -> bool:
    return True


def even(n: int) -> bool:
    return n % 2 == 0


def power_of_two(n: int) -> bool:
    return last_power(n) == n


def composite(n: int) -> bool:
    return any(n % d == 0 for d in range(2, n))


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


def last_power(n: int) -> int:
    return 1 << n.bit_length() - 1


def doubling_sent(n: int) -> list[int]:
    p = last_power(n)
    return [bits(p) + (rank < n - p) for rank in range(p)] + [1] * (n - p)


def folded(n: int, core: Sequence[Fraction | int], extra: Fraction | int) -> list[Fraction | int]:
    """The odd ones of the first 2 (n - p) send what `extra` says, the others what `core` says."""
    last = 2 * (n - last_power(n))
    others = iter(core)
    return [extra if rank < last and rank % 2 else next(others) for rank in range(n)]


def halving_messages(n: int) -> int:
    p = last_power(n)
    return p * bits(p) + 2 * (n - p)


def rabenseifner_sent(n: int) -> list[Fraction | int]:
    p = last_power(n)
    return folded(n, [Fraction(2 * (p - 1), p) + (place < n - p) for place in range(p)], 1)


def rabenseifner_reduce_sent(n: int) -> list[Fraction | int]:
    p = last_power(n)
    gathered = [Fraction(place > 0, 1 << place.bit_length()) for place in range(p)]
    return folded(n, [Fraction(p - 1, p) + share for share in gathered], 1)


def negabinary_run(position: int, n: int) -> int:
    """How many of the log2 n lowest digits to base -2 of a position are like the last, from it."""
    digits: list[int] = []
    for _ in range(bits(n)):
        digits.append(position % 2)
        position = -(position // 2)
    return next((at for at, digit in enumerate(digits) if digit != digits[0]), len(digits))


def bine_sent(n: int) -> list[int]:
    """A rank gets the block when that many steps are left, less one; the root has it before."""
    return [bits(n)] + [negabinary_run(position, n) - 1 for position in range(1, n)]


def children_in_order(n: int) -> list[int]:
    """Of each of the n ranks in order of a tree: those at even positions have none."""
    return [(1 + (position < n)) * (position % 2 == 0) for position in range(1, n + 1)]


def children_in_both(n: int) -> list[int]:
    first = children_in_order(n)
    return total(first, first[-1:] + first[:-1] if n % 2 else first[::-1])


def double_tree_allreduce_sent(n: int) -> list[Fraction]:
    tops = [last_power(n) - 1, last_power(n) % n if n % 2 else n - last_power(n)]
    return [
        Fraction(count + 2 - tops.count(rank), 2) for rank, count in enumerate(children_in_both(n))
    ]


def hierarchical_messages(n: int, group: int | None = None) -> int:
    leaders = ceil(n / (group or isqrt(n)))
    return 2 * (n - leaders) + 2 * leaders * (leaders - 1)


def hierarchical_sent(n: int, group: int | None = None) -> list[Fraction]:
    group = group or isqrt(n)
    groups = [min(group, n - first) for first in range(0, n, group)]
    leader = Fraction(2 * (len(groups) - 1), len(groups))
    return [
        count + (leader if place == 0 else Fraction(1))
        for size in groups
        for place, count in enumerate(children(size))
    ]


def swing_messages(n: int) -> int:
    m = n - n % 2
    return (2 * m * bits(m) if m else 0) + (4 * m if n % 2 else 0)


def digits(number: int, radix: int) -> list[int]:
    return [number % radix, *digits(number // radix, radix)] if number else []


def bruck_messages(n: int, radix: int = 2) -> int:
    pairs = {pair for number in range(n) for pair in enumerate(digits(number, radix)) if pair[1]}
    return n * len(pairs)


def bruck_sent(n: int, radix: int = 2) -> list[int]:
    return [sum(sum(map(bool, digits(number, radix))) for number in range(n))] * n


def sides(n: int) -> tuple[int, int]:
    rows = max(d for d in range(1, n) if n % d == 0 and d * d <= n)
    return rows, n // rows


def twice_all_but_own(n: int) -> list[Fraction]:
    return [Fraction(2 * (n - 1), n)] * n


def total(*parts: Sequence[int]) -> list[int]:
    return [sum(of_rank) for of_rank in zip(*parts, strict=True)]


TREE = (lambda n: n - 1, every_but_first)
EACH_TO_EACH = Promise(lambda n: n * (n - 1), lambda n: [n - 1] * n)
FEW_TO_EACH = Promise(lambda n: n * bits(n), lambda n: [n - 1] * n)

PROMISES = {
    "flat broadcast": Promise(lambda n: n - 1, lambda n: [n - 1] + [0] * (n - 1)),
    "chain broadcast": Promise(lambda n: n - 1, lambda n: [1] * (n - 1) + [0]),
    "binomial broadcast": Promise(lambda n: n - 1, children),
    "Bine broadcast": Promise(lambda n: n - 1, bine_sent, power_of_two),
    "double tree broadcast": Promise(
        lambda n: 2 * (n - 1),
        lambda n: [int(n > 1)] + [Fraction(count, 2) for count in children_in_both(n - 1)],
    ),
    "scatter and allgather broadcast": Promise(
        lambda n: (n + 1) * (n - 1),
        lambda n: [Fraction(n - 1 + size, n) for size in below(n)],
        thrifty=False,
    ),
    "flat reduce": Promise(*TREE),
    "chain reduce": Promise(*TREE),
    "binomial reduce": Promise(*TREE),
    "Bine reduce": Promise(*TREE, power_of_two),
    "double tree reduce": Promise(lambda n: 2 * (n - 1), every_but_first),
    "Rabenseifner reduce": Promise(
        lambda n: last_power(n) * bits(last_power(n)) + n - 1, rabenseifner_reduce_sent
    ),
    "flat scatter": Promise(lambda n: n - 1, lambda n: [n - 1] + [0] * (n - 1)),
    "binomial scatter": Promise(lambda n: n - 1, below),
    "flat gather": Promise(*TREE),
    "binomial gather": Promise(lambda n: n - 1, lambda n: [0, *subtrees(n)[1:]]),
    "Bruck allgather": FEW_TO_EACH,
    "recursive doubling allgather": FEW_TO_EACH._replace(exists=power_of_two),
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
    "recursive halving reducescatter": Promise(
        halving_messages, lambda n: folded(n, [n - 1] * n, n)
    ),
    "PAT reducescatter": FEW_TO_EACH,
    "reduce and scatter reducescatter": Promise(
        lambda n: 2 * (n - 1), lambda n: total([0] + [n] * (n - 1), below(n))
    ),
    "recursive doubling allreduce": Promise(lambda n: sum(doubling_sent(n)), doubling_sent),
    "Bine allreduce": Promise(lambda n: sum(doubling_sent(n)), doubling_sent),
    "double tree allreduce": Promise(lambda n: 4 * (n - 1), double_tree_allreduce_sent),
    "Rabenseifner allreduce": Promise(
        lambda n: halving_messages(n) + last_power(n) * bits(last_power(n)), rabenseifner_sent
    ),
    "Swing allreduce": Promise(swing_messages, twice_all_but_own),
    "ring allreduce": Promise(lambda n: 2 * n * (n - 1), twice_all_but_own),
    "grid allreduce": Promise(lambda n: 2 * n * (sum(sides(n)) - 2), twice_all_but_own, composite),
    "hierarchical allreduce": Promise(hierarchical_messages, hierarchical_sent),
    "reduce and broadcast allreduce": Promise(
        lambda n: 2 * (n - 1), lambda n: total(every_but_first(n), children(n))
    ),
    "pairwise alltoall": EACH_TO_EACH,
    "linear alltoall": EACH_TO_EACH,
    "Bruck alltoall": Promise(bruck_messages, bruck_sent),
    "hypercube alltoall": Promise(
        lambda n: n * bits(n), lambda n: [n * bits(n) // 2] * n, power_of_two
    ),
    "grid alltoall": Promise(
        lambda n: n * (sum(sides(n)) - 2), lambda n: [2 * n - sum(sides(n))] * n, composite
    ),
    "dissemination barrier": Promise(lambda n: n * bits(n), lambda n: [bits(n)] * n, thrifty=False),
}


def promise(of: Algorithm | Schedule) -> Promise:
    kind = of.kind if isinstance(of, Algorithm) else of.collective.kind
    return PROMISES[f"{of.name} {kind}"]


def algorithms_for(ranks: int) -> list[Algorithm]:
    """Those that exist for so many ranks."""
    return [algorithm for algorithm in ALGORITHMS if promise(algorithm).exists(ranks)]
