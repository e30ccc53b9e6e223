"""Each algorithm three times over: proved, done on real arrays, and counted against its formula."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from synthesis.promises import PROMISES
from twins.execute import execute, expected
from weft.collective import Collective
from weft.errors import BadInput
from weft.schedule.schedule import Schedule
from weft.schedule.traffic import blocks_sent
from weft.synthesis.classic.algorithms import ALGORITHMS, Algorithm

each_algorithm = pytest.mark.parametrize(
    "algorithm", ALGORITHMS, ids=[f"{a.name} {a.kind}" for a in ALGORITHMS]
)
rank_counts = st.integers(1, 64)
seeds = st.integers(0, 10**9)


def build(algorithm: Algorithm, n: int, root: int = 0, *, uneven: bool = False) -> Schedule:
    collective = Collective(algorithm.kind, n, root % n if algorithm.kind.rooted else None, uneven)
    return algorithm.build(collective)


@each_algorithm
@pytest.mark.slow
def test_correct_for_1_to_64_ranks(algorithm):
    for n in range(1, 65):
        schedule = build(algorithm, n, root=n // 2)
        assert schedule.in_place
        assert schedule.out_of_place
        weft.verify(schedule)


@each_algorithm
@given(
    n=st.integers(1, 13), root=seeds, size=st.sampled_from([0, 1, 7, 64]), in_place=st.booleans()
)
def test_arrays_end_as_the_collective_defines(algorithm, n, root, size, in_place):
    """Values say whose they are and where they belong, so a swapped piece shows."""
    schedule = build(algorithm, n, root)

    got = execute(schedule, lambda _: size, in_place=in_place)
    want = expected(algorithm.kind, n, root % n, lambda _: size)
    assert got.keys() == want.keys()
    for at, block in want.items():
        np.testing.assert_array_equal(got[at], block)


@pytest.mark.parametrize(
    "name", ["ring allgather", "Bruck allgather", "ring reducescatter", "pairwise alltoall"]
)
@given(n=st.integers(1, 9), size=st.integers(0, 5))
def test_blocks_may_have_any_sizes(name, n, size):
    algorithm = next(a for a in ALGORITHMS if f"{a.name} {a.kind}" == name)
    schedule = build(algorithm, n, uneven=True)
    weft.verify(schedule)

    def sizes(block: int) -> int:
        return (block * 7 + int(size)) % 5

    got, want = execute(schedule, sizes, in_place=False), expected(algorithm.kind, n, 0, sizes)
    for at, block in want.items():
        np.testing.assert_array_equal(got[at], block)


@each_algorithm
@given(n=rank_counts, root=seeds)
def test_messages_and_bytes_are_as_promised(algorithm, n, root):
    schedule = build(algorithm, n, root)
    messages, sent = PROMISES[f"{algorithm.name} {algorithm.kind}"]

    assert schedule.messages == messages(n)
    turn = root % n if algorithm.kind.rooted else 0
    got = blocks_sent(schedule)
    assert got[turn:] + got[:turn] == sent(n)


@each_algorithm
def test_docstrings_state_messages_and_bytes(algorithm):
    """What they state is what `PROMISES` counts; this only asks that they do."""
    text = algorithm.build.__doc__ or ""
    assert re.search(r"Messages: (2 )?n|\(n - p\) messages", text)
    assert re.search(r"ends? .*S|ends? .*B", text)


def test_binomial_steps_are_the_root_s_messages():
    schedule = weft.classic.binomial_broadcast(weft.broadcast(64))
    assert blocks_sent(schedule)[0] == 6


@each_algorithm
def test_an_algorithm_refuses_another_collective(algorithm):
    other = weft.barrier(4)
    with pytest.raises(BadInput, match=f"is for {algorithm.kind}, not for barrier"):
        algorithm.build(other)


@each_algorithm
def test_an_algorithm_refuses_blocks_that_are_cut(algorithm):
    whole = build(algorithm, 4).collective.cut(1)
    with pytest.raises(BadInput, match="give them whole"):
        algorithm.build(whole.cut(3))


@given(rank_counts)
def test_results_of_an_allreduce_are_the_same_bits_on_all_ranks(n):
    """Sums of floats depend on their order, so every rank must add in the same one."""
    for build_one in (weft.classic.ring_allreduce, weft.classic.recursive_doubling_allreduce):
        terms = summed_terms(build_one(weft.allreduce(n)))
        for piece in {piece for _, piece in terms}:
            assert len({terms[rank, piece] for rank in range(n)}) == 1


def summed_terms(schedule: Schedule) -> dict[tuple[int, int], object]:
    """How each output was added up, as nested pairs; a + b and b + a are the same bits."""
    slots: dict[tuple[int, int], object] = {
        (rank, slot): rank for rank, slot, *_ in schedule.collective.initial.tolist()
    }
    for src, dst, src_slot, dst_slot, addend, _, _ in schedule.transfers.tolist():
        arrived = slots[src, src_slot]
        slots[dst, dst_slot] = arrived if addend < 0 else frozenset({slots[dst, addend], arrived})
    return {
        (rank, piece): slots[rank, slot]
        for rank, slot, piece, *_ in schedule.collective.final.tolist()
    }
