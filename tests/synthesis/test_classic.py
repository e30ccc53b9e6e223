"""Each algorithm three times over: proved, done on real arrays, and counted against its formula."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from synthesis.promises import algorithms_for, always, promise
from twins.execute import execute, expected
from weft.collective import Collective
from weft.errors import BadInput
from weft.kinds import Kind
from weft.schedule.schedule import Schedule
from weft.schedule.traffic import blocks_sent
from weft.synthesis.classic.algorithms import ALGORITHMS, Algorithm
from weft.topology.zoo.generators import full


def name_of(algorithm: Algorithm) -> str:
    return f"{algorithm.name} {algorithm.kind}"


def each(algorithms: Iterable[Algorithm]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("algorithm", list(algorithms), ids=name_of)


each_algorithm = each(ALGORITHMS)
each_rooted = each(a for a in ALGORITHMS if a.kind.rooted)
each_of_many_blocks = each(a for a in ALGORITHMS if a.kind.shape.blocks)
each_allreduce = each(a for a in ALGORITHMS if a.kind is Kind.ALLREDUCE)
some = st.data()
machine_latency = full(2).links[0].latency
seeds = st.integers(0, 10**9)


def ranks_of(algorithm: Algorithm, most: int = 64) -> list[int]:
    return [n for n in range(1, most + 1) if promise(algorithm).exists(n)]


def build(algorithm: Algorithm, n: int, root: int = 0, *, uneven: bool = False) -> Schedule:
    collective = Collective(algorithm.kind, n, root % n if algorithm.kind.rooted else None, uneven)
    return algorithm.build(collective)


@each_algorithm
@pytest.mark.slow
def test_correct_for_1_to_64_ranks(algorithm):
    for n in ranks_of(algorithm):
        schedule = build(algorithm, n, root=n // 2)
        assert schedule.in_place
        assert schedule.out_of_place
        weft.verify(schedule)


@each_rooted
@given(data=some, root=seeds)
def test_correct_from_every_root(algorithm, data, root):
    weft.verify(build(algorithm, data.draw(st.sampled_from(ranks_of(algorithm))), root))


@each(a for a in ALGORITHMS if promise(a).exists is not always)
def test_where_an_algorithm_does_not_exist_it_names_one_that_does(algorithm):
    for n in set(range(1, 65)) - set(ranks_of(algorithm)):
        with pytest.raises(BadInput, match=f"over {n} ranks?: .*take .* or .*") as refusal:
            build(algorithm, n)
        named = str(refusal.value).rpartition("such as ")[2]
        assert (named, algorithm.kind) in {(a.name, a.kind) for a in algorithms_for(n)}


@each_algorithm
@given(data=some, root=seeds, size=st.sampled_from([0, 1, 7, 64]), in_place=st.booleans())
def test_arrays_end_as_the_collective_defines(algorithm, data, root, size, in_place):
    """Values say whose they are and where they belong, so a swapped piece shows."""
    n = data.draw(st.sampled_from(ranks_of(algorithm, 13)))
    schedule = build(algorithm, n, root)
    size *= not schedule.collective.heard_is_enough

    got = execute(schedule, lambda _: size, in_place=in_place)
    want = expected(algorithm.kind, n, root % n, lambda _: size)
    assert got.keys() == want.keys()
    for at, block in want.items():
        np.testing.assert_array_equal(got[at], block)


@each_of_many_blocks
@given(data=some, root=seeds, size=st.integers(0, 5), in_place=st.booleans())
def test_blocks_may_have_any_sizes(algorithm, data, root, size, in_place):
    n = data.draw(st.sampled_from(ranks_of(algorithm, 9)))
    schedule = build(algorithm, n, root, uneven=True)
    weft.verify(schedule)

    def sizes(block: int) -> int:
        return (block * 7 + int(size)) % 5

    got = execute(schedule, sizes, in_place=in_place)
    for at, block in expected(algorithm.kind, n, root % n, sizes).items():
        np.testing.assert_array_equal(got[at], block)


@each_algorithm
@given(data=some, root=seeds)
def test_messages_and_bytes_are_as_promised(algorithm, data, root):
    n = data.draw(st.sampled_from(ranks_of(algorithm)))
    schedule = build(algorithm, n, root)

    assert schedule.messages == promise(algorithm).messages(n)
    turn = root % n if algorithm.kind.rooted else 0
    got = blocks_sent(schedule)
    assert got[turn:] + got[:turn] == promise(algorithm).sent(n)


@each_algorithm
@given(data=some)
def test_nothing_waits_longer_in_place(algorithm, data):
    """Counted in latencies: what two modes share must not order what is done at once in one."""
    n = data.draw(st.sampled_from(ranks_of(algorithm, 16)))
    schedule, machine = build(algorithm, n), full(n)
    out_of_place, in_place = (
        weft.simulate(schedule, machine, n, segments=1, in_place=mode).time // machine_latency
        for mode in (False, True)
    )
    assert in_place == out_of_place


@each_algorithm
def test_docstrings_state_messages_and_bytes(algorithm):
    """What they state is what `PROMISES` counts; this only asks that they do."""
    text = algorithm.build.__doc__ or ""
    assert re.search(r"Messages: .*n|\(n - p\) messages", text)
    assert re.search(r"ends? .*S|ends? .*B", text)


def test_binomial_steps_are_the_root_s_messages():
    schedule = weft.classic.binomial_broadcast(weft.broadcast(64))
    assert blocks_sent(schedule)[0] == 6


@each_algorithm
def test_an_algorithm_refuses_another_collective(algorithm):
    other = weft.allreduce(4) if algorithm.kind is Kind.BARRIER else weft.barrier(4)
    with pytest.raises(BadInput, match=f"is for {algorithm.kind}, not for {other.kind}"):
        algorithm.build(other)


@each_algorithm
def test_an_algorithm_refuses_blocks_that_are_cut(algorithm):
    whole = build(algorithm, 4).collective.cut(1)
    with pytest.raises(BadInput, match="give them whole"):
        algorithm.build(whole.cut(3))


@each_allreduce
@given(some)
def test_results_of_an_allreduce_are_the_same_bits_on_all_ranks(algorithm, data):
    """Sums of floats depend on their order, so every rank must add in the same one."""
    n = data.draw(st.sampled_from(ranks_of(algorithm)))
    terms = summed_terms(build(algorithm, n))
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
