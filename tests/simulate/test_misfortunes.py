"""Ranks die, links break, processors slow down: who hears of it, when, and what goes on."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from twins.machines import any_noise, any_simulation
from weft.errors import BadInput
from weft.simulate.conditions import MOST_FACTOR, NEVER, Conditions, Fault, Noise
from weft.simulate.misfortunes import _one_at_a_time
from weft.simulate.simulate import prepare
from weft.simulate.trace import Trace
from weft.topology.zoo.generators import full, ring

LATENCY, BYTE = 10**6, 40
SIZE = 4000  # over 4 ranks, 1,000 bytes a piece
STEP = LATENCY + 1000 * BYTE

spans = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 9), st.sampled_from([0, 1, 2, 3, 7])),
    max_size=6,
)


def ring_of_4(*faults: str, deadline: int | None = None) -> Trace:
    return weft.simulate(
        weft.classic.ring_allreduce(weft.allreduce(4)),
        ring(4),
        SIZE,
        segments=1,
        faults=[Fault.written(fault) for fault in faults],
        deadline=deadline,
    )


@given(spans)
def test_slowdowns_that_overlap_multiply(drawn):
    slowdowns = [(start, start + span, factor) for start, span, factor in drawn]
    apart = list(_one_at_a_time(slowdowns))
    assert all(before[1] <= after[0] for before, after in pairwise(apart))
    for moment in range(32):
        factors = [factor for start, end, factor in slowdowns if start <= moment < end]
        found = [factor for start, end, factor in apart if start <= moment < end]
        assert prod(found) == prod(factors)


def test_a_product_beyond_what_is_counted_is_refused():
    """One that stops it too needs no product."""
    faults = [f"link 0->1 slows {MOST_FACTOR}x at 1us", "link 0->1 slows 2x at 2us"]
    assert ring_of_4(faults[0]).finished
    with pytest.raises(BadInput, match=r"all faults at 2 us, multiplied, is 2097152: give 0 to"):
        ring_of_4(*faults)
    ring_of_4(*faults, "link 0->1 breaks at 0s", deadline=10**6)


def test_a_fault_of_what_is_not_used_changes_nothing():
    quiet = ring_of_4()
    assert quiet.time == 6 * STEP
    for fault in ("link 1->0 breaks at 0s", "rank 2 dies at 1s", "link 0->1 breaks at 1s"):
        trace = ring_of_4(fault)
        assert (trace.time, trace.finished) == (quiet.time, True)


def test_a_slow_link_slows_what_crosses_it():
    """The six steps of a piece cross a link of this ring twice at most."""
    trace = ring_of_4("link 0->1 slows 3x at 0s")
    assert trace.time == 6 * STEP + 2 * (3 - 1) * 1000 * BYTE


def test_a_link_that_heals_goes_on_where_it_stopped():
    """It has sent for 10 ns of its 40, then waits for 5 us."""
    trace = ring_of_4("link 0->1 breaks at 10ns for 5us")
    assert trace.time == 6 * STEP + 5 * 10**6
    assert trace.failures == ()


def test_a_rank_that_stops_for_a_while_delays_the_others_by_no_more():
    trace = ring_of_4("rank 1 stops at 0s for 7us")
    assert 6 * STEP < trace.time <= 6 * STEP + 7 * 10**6
    assert trace.finished


def test_a_rank_that_stops_for_good_is_waited_for_and_says_nothing():
    trace = ring_of_4("rank 1 stops at 0s", deadline=10**9)
    assert {failure.rank for failure in trace.failures} == {0, 2, 3}
    assert {failure.time for failure in trace.failures} == {10**9}
    assert trace.rank_ends.tolist() == [NEVER] * 4


def test_a_link_that_stays_broken_is_waited_for_until_the_deadline():
    trace = ring_of_4("link 0->1 breaks at 0s", deadline=30 * 10**12)
    assert not trace.finished
    assert {failure.time for failure in trace.failures} == {30 * 10**12}
    first = trace.failures[0]
    assert (first.rank, first.transfer, first.segment, first.peer) == (0, 0, 0, 1)
    assert first.text == (
        "rank 0 gave up at 30 s because its deadline passed: transfer 0, "
        "0.in0 -> 1.out0 + in0, segment 0 of 1, was under way to rank 1"
    )
    sooner = ring_of_4("link 0->1 breaks at 0s", deadline=5 * 10**9)
    assert {failure.time for failure in sooner.failures} == {5 * 10**9}


def test_a_death_is_heard_after_a_latency_and_spreads():
    trace = ring_of_4("rank 1 dies at 100ns")
    died = 100_000
    assert {f.rank: f.time for f in trace.failures} == {
        0: died + LATENCY,
        2: died + LATENCY,
        3: died + 2 * LATENCY,
    }
    assert [f.text.partition(":")[0] for f in trace.failures] == [
        "rank 0 gave up at 1.1 us because rank 1 had gone",
        "rank 2 gave up at 1.1 us because rank 1 had gone",
        "rank 3 gave up at 2.1 us because rank 0 had gone",
    ]
    assert "was waiting for its arrival from rank 1" in trace.failures[1].text
    assert [f.peer for f in trace.failures if f.rank == 2] == [1]


def test_a_deadline_alone_ends_a_run_too():
    trace = ring_of_4(deadline=STEP)
    assert {failure.time for failure in trace.failures} == {STEP}
    assert ring_of_4(deadline=6 * STEP + 1).finished


def test_a_rank_that_dies_at_any_moment_stops_no_one_for_ever():
    schedule = weft.classic.ring_allreduce(weft.allreduce(3))
    simulation = prepare(schedule, full(3), 300)
    quiet = simulation.run(2, Conditions())
    moments = {int(t) for name in ("ready", "start", "end") for t in quiet.records[name]}
    for moment in sorted({m + by for m in moments for by in (-1, 0, 1) if m + by >= 0}):
        for dead in range(3):
            trace = simulation.run(2, Conditions(faults=[Fault(moment, rank=dead, dies=True)]))
            failed = {failure.rank: failure for failure in trace.failures}
            for rank, end in enumerate(trace.rank_ends.tolist()):
                assert rank == dead or (end != NEVER) != (rank in failed)
            assert dead not in failed
            for failure in trace.failures:
                assert failure.peer in {dead, *failed} - {failure.rank}
                assert moment < failure.time <= moment + 2 * LATENCY
                assert f" because rank {failure.peer} had gone: " in failure.text


def test_a_rank_hears_of_a_failure_when_its_pause_is_over_however_late_that_is():
    """Pauses are drawn as far as the last failure, not only as far as the last segment."""
    noise = Noise(longest=10**12, every=10**9)
    schedule = weft.classic.ring_allreduce(weft.allreduce(4))
    broken = [Fault(0, link=(0, 1))]
    deadline = 30 * 10**12
    trace = weft.simulate(schedule, ring(4), SIZE, noise=noise, faults=broken, deadline=deadline)
    pauses = {rank: list(noise.pauses(rank, 2 * deadline)) for rank in range(4)}
    for failure in trace.failures:
        late = [end for start, end, _ in pauses[failure.rank] if start <= deadline < end]
        assert failure.time == max([deadline, *late])
    assert any(failure.time > deadline for failure in trace.failures)


def test_ranks_that_would_wait_for_ever_give_up_30_s_after_the_last_news():
    quiet = ring_of_4("link 0->1 breaks at 0s")
    last = int(quiet.records["end"].max())
    assert {failure.time for failure in quiet.failures} == {last + 30 * 10**12}


def test_a_run_that_takes_longer_than_that_is_no_failure():
    assert ring_of_4("link 0->1 breaks at 0s for 100s").finished


def test_a_rank_of_which_nothing_takes_time_cannot_be_slower():
    with pytest.raises(weft.BadInput, match="nothing that rank 1 does takes time on ring:4"):
        weft.simulate(
            weft.classic.ring_allreduce(weft.allreduce(4)),
            weft.find_topology("ring:4"),
            SIZE,
            faults=[Fault(0, rank=1, factor=2)],
        )


def test_long_pauses_count_for_few():
    """A run of pauses only is long, and has no more of them than one may have."""
    noise = Noise(longest=2 * 10**10, every=10**3)
    trace = weft.simulate(
        weft.classic.ring_allreduce(weft.allreduce(4)), ring(4), 1 << 16, segments=1, noise=noise
    )
    assert trace.finished


@given(st.integers(0, 2**40))
def test_noise_repeats_with_its_seed(seed):
    draw = Random(seed)
    simulation, noise = any_simulation(draw), any_noise(draw)
    once, again = (simulation.run(1, Conditions(noise=noise)) for _ in range(2))
    assert once.records.tolist() == again.records.tolist()


def test_another_seed_is_another_run():
    schedule = weft.classic.ring_allreduce(weft.allreduce(4))
    times = {
        weft.simulate(schedule, ring(4), SIZE, noise=Noise(10**6, 10**6, seed)).time
        for seed in range(5)
    }
    assert len(times) == 5


@pytest.mark.parametrize("factor", [1, 2, 7])
def test_a_slow_rank_takes_longer_for_all_it_does(factor):
    machine = full(2)
    overheads = weft.Overheads(send=100, receive=1000)
    machine = weft.Topology("two", 2, machine.links, overheads=overheads)
    schedule = weft.classic.binomial_reduce(weft.reduce(2))
    slow = Fault(0, rank=0, factor=factor)
    trace = weft.simulate(schedule, machine, 10, segments=1, faults=[slow])
    assert trace.time == 10 * BYTE + LATENCY + factor * 1000
