"""What families of algorithms are known for, beside their counts: who sends what to whom."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from synthesis.moves import moves
from weft import classic
from weft.schedule.schedule import Schedule
from weft.schedule.verify import pieces_moved

rank_counts = st.integers(1, 64)


@given(n=rank_counts, root=st.integers(0, 63))
def test_in_a_double_tree_ranks_have_two_children_in_one_tree(n, root):
    root %= n
    schedule = classic.double_tree_broadcast(weft.broadcast(n, root=root))
    children = defaultdict(set)
    for source, target, piece in moves(schedule).tolist():
        children[source, piece].add(target)
    for source in set(range(n)) - {root}:
        counts = sorted(len(children[source, half]) for half in (0, 1))
        assert counts[0] == 0
        assert counts[1] <= 2


@given(rank_counts)
def test_both_trees_of_an_allreduce_reach_their_tops_by_few_hops(n):
    parents = {}
    transfers = moves(classic.double_tree_allreduce(weft.allreduce(n))).tolist()
    for source, target, half in transfers[: len(transfers) // 2]:
        parents[source, half] = target
    for half in (0, 1):
        for rank in range(n):
            path = [rank]
            while (path[-1], half) in parents:
                path.append(parents[path[-1], half])
            assert len(path) <= n.bit_length()


@pytest.mark.parametrize(
    "build",
    [
        lambda n: classic.halving_reducescatter(weft.reducescatter(n)),
        lambda n: classic.rabenseifner_allreduce(weft.allreduce(n)),
        lambda n: classic.rabenseifner_reduce(weft.reduce(n, root=n // 2)),
    ],
    ids=["recursive halving", "Rabenseifner allreduce", "Rabenseifner reduce"],
)
@given(n=rank_counts)
def test_messages_of_recursive_halving_are_of_adjacent_pieces(build, n):
    schedule = build(n)
    messages = defaultdict(list)
    moved = zip(
        schedule.transfers["message"].tolist(), pieces_moved(schedule).tolist(), strict=True
    )
    for message, piece in moved:
        if message >= 0:
            messages[message].append(piece)
    for pieces in messages.values():
        assert all(after == before + 1 for before, after in pairwise(pieces))


@given(st.integers(1, 42))
def test_swing_partners_are_few_and_near(half):
    n = 2 * half
    for source, target, _ in moves(classic.swing_allreduce(weft.allreduce(n))).tolist():
        assert {(target - source) % n, (source - target) % n} & {1, 3, 5, 11, 21, 43}


@given(st.integers(3, 6))
def test_bine_children_are_nearer_in_a_ring_than_binomial_ones(steps):
    n = 1 << steps

    def hops(schedule: Schedule) -> int:
        return sum(min((d - s) % n, (s - d) % n) for s, d, _ in moves(schedule).tolist())

    bine, binomial = classic.bine_broadcast, classic.binomial_broadcast
    assert hops(bine(weft.broadcast(n))) < hops(binomial(weft.broadcast(n)))
