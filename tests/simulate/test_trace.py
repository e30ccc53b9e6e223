"""Whatever the schedule, the machine and the misfortunes: nothing is lost, doubled or too early."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from twins.machines import any_run, noisy_run, quiet_run
from weft import classic
from weft.collective import Collective
from weft.kinds import Kind
from weft.schedule.schedule import NONE
from weft.simulate.conditions import NEVER
from weft.simulate.machine import link_name
from weft.simulate.trace import SECOND, Trace, bus_factor
from weft.topology.topology import Route
from weft.topology.zoo.generators import full

seeds = st.integers(0, 2**48)
Span = tuple[int, int]


class Step(NamedTuple):
    """A segment of a message, sent or applied by a rank."""

    start: int
    end: int
    rank: int
    sends: bool
    message: int
    segment: int


def steps(trace: Trace) -> Iterator[Step]:
    """All that was done, where two were done together as two."""
    for _, start, end, rank, receives, message, segment, follower, *_ in trace.records.tolist():
        yield Step(start, end, rank, not receives, message, segment)
        if follower != NONE:
            sends = trace.crosses(follower)
            yield Step(start, end, rank, sends, follower, segment)


def route_of(trace: Trace, message: int) -> Route:
    """The links that a message crosses."""
    src, dst, route, *_ = trace.connections[trace.messages["connection"][message]].tolist()
    return trace.topology.routes(src, dst)[route]


def links_used(trace: Trace) -> dict[str, list[Span]]:
    """When each link and what it shares is used, where nothing slows it."""
    used: dict[str, list[Span]] = defaultdict(list)
    for step in steps(trace):
        if not step.sends:
            continue
        size = trace.bytes_of(step.message, step.segment)
        links = {number: trace.topology.links[number] for number in route_of(trace, step.message)}
        rates = {link_name(trace.topology, n): link.bandwidth for n, link in links.items()}
        for name in {name for link in links.values() for name in link.shares}:
            rates[name] = trace.topology.resources[name]
        for name, rate in rates.items():
            used[name].append((step.start, step.start + -(-size * SECOND // rate)))
    return used


def processors_used(trace: Trace) -> dict[str, list[Span]]:
    """When each rank is busy: as long as it applies, or moves the bytes, or else begins to send."""
    used: dict[str, list[Span]] = defaultdict(list)
    for _, start, end, rank, receives, message, *_ in trace.records.tolist():
        links = [] if receives else [trace.topology.links[n] for n in route_of(trace, message)]
        whole = receives or any(link.by_processor for link in links)
        until = end if whole else start + trace.topology.overheads.send
        used[f"rank {rank}"].append((start, until))
    return used


@given(seeds)
@settings(max_examples=150)
def test_every_segment_is_sent_once_and_applied_once(seed):
    trace = noisy_run(Random(seed))
    done = Counter((s.rank, s.sends, s.message, s.segment) for s in steps(trace))
    wanted = Counter(
        (rank, sends, message, segment)
        for message, (src, dst) in enumerate(trace.messages[["src", "dst"]].tolist())
        for rank, sends in ([(src, True)] if src != dst else []) + [(dst, False)]
        for segment in range(trace.segments)
    )
    assert done == wanted
    assert trace.finished


@given(seeds)
@settings(max_examples=100)
def test_nothing_is_applied_before_it_has_left_and_crossed(seed):
    trace = any_run(Random(seed))
    left = {(s.message, s.segment): s.end for s in steps(trace) if s.sends}
    for step in steps(trace):
        if not step.sends and trace.crosses(step.message):
            links = [trace.topology.links[n] for n in route_of(trace, step.message)]
            latency = sum(link.latency for link in links)
            assert left[step.message, step.segment] + latency <= step.start


@given(seeds)
@settings(max_examples=100)
def test_a_resource_serves_one_at_a_time_and_is_busy_for_what_that_takes(seed):
    trace = quiet_run(Random(seed))
    used = links_used(trace) | processors_used(trace)
    for use in trace.uses:
        spans = sorted(span for span in used[use.name] if span[0] < span[1])
        assert all(before[1] <= after[0] for before, after in pairwise(spans)), use
        assert use.busy == sum(end - start for start, end in spans), use


@given(seeds)
@settings(max_examples=100)
def test_records_come_in_the_order_of_their_ends_and_never_begin_before_they_are_ready(seed):
    trace = any_run(Random(seed))
    ends = trace.records["end"].tolist()
    assert ends == sorted(ends)
    assert (trace.records["ready"] <= trace.records["start"]).all()
    assert (trace.records["start"] <= trace.records["end"]).all()
    assert trace.time == max(ends, default=0)


@given(seeds)
@settings(max_examples=50)
def test_the_segments_of_a_message_are_all_of_it(seed):
    trace = quiet_run(Random(seed))
    for message, (first, count) in enumerate(trace.messages[["first", "count"]].tolist()):
        whole = int(trace.parts["elements"][first : first + count].sum())
        assert sum(trace.bytes_of(message, s) for s in range(trace.segments)) == whole


@given(seeds)
@settings(max_examples=50)
def test_the_same_inputs_give_the_same_trace(seed):
    first, second = any_run(Random(seed)), any_run(Random(seed))
    assert first.records.tolist() == second.records.tolist()
    assert first.rank_ends.tolist() == second.rank_ends.tolist()
    assert first.failures == second.failures
    assert (first.uses, first.events) == (second.uses, second.events)


@given(seeds)
@settings(max_examples=200)
def test_a_rank_either_ends_or_fails_or_has_died(seed):
    trace = any_run(Random(seed))
    faults = trace.conditions.faults
    dead = {fault.rank for fault in faults if fault.dies}
    for rank, end in enumerate(trace.rank_ends.tolist()):
        failures = [failure for failure in trace.failures if failure.rank == rank]
        ended = end != NEVER
        assert ended + len(failures) == 1 or (rank in dead and not ended and not failures)


@given(seeds)
@settings(max_examples=200)
def test_a_failure_is_about_a_transfer_of_that_rank_and_a_peer_of_that_transfer(seed):
    trace = any_run(Random(seed))
    for failure in trace.failures:
        ends = {int(trace.schedule.transfers[failure.transfer][name]) for name in ("src", "dst")}
        assert failure.rank in ends
        assert failure.peer is None or ends == {failure.rank, failure.peer}
        assert 0 <= failure.segment < trace.segments
        assert failure.text.startswith(f"rank {failure.rank} gave up at ")
        assert f"transfer {failure.transfer}, " in failure.text
        assert failure.text.count("\n") == 0


@given(seeds)
@settings(max_examples=200)
def test_who_is_said_to_have_gone_has_died_or_given_up_before(seed):
    trace = any_run(Random(seed))
    gone = [(fault.rank, fault.start) for fault in trace.conditions.faults if fault.dies]
    gone += [(failure.rank, failure.time) for failure in trace.failures]
    for failure in trace.failures:
        if "because its deadline passed: " not in failure.text:
            assert min(time for rank, time in gone if rank == failure.peer) <= failure.time
            assert f" because rank {failure.peer} had gone: " in failure.text


@pytest.mark.parametrize(
    ("kind", "factor"),
    [
        (Kind.ALLREDUCE, Fraction(7, 4)),
        (Kind.ALLGATHER, Fraction(7, 8)),
        (Kind.REDUCESCATTER, Fraction(7, 8)),
        (Kind.ALLTOALL, Fraction(7, 8)),
        (Kind.GATHER, Fraction(7, 8)),
        (Kind.SCATTER, Fraction(7, 8)),
        (Kind.BROADCAST, Fraction(1)),
        (Kind.REDUCE, Fraction(1)),
        (Kind.BARRIER, Fraction(0)),
    ],
)
def test_bus_bandwidth_is_that_of_nccl_tests(kind, factor):
    assert bus_factor(Collective(kind, 8, 0 if kind.rooted else None)) == factor


def test_algorithm_bandwidth_is_size_over_time():
    trace = weft.simulate(classic.ring_allgather(weft.allgather(4)), full(4), 4 << 20, segments=1)
    assert trace.algbw == pytest.approx((4 << 20) * 1e12 / trace.time)
    assert trace.busbw == pytest.approx(trace.algbw * 3 / 4)


def test_what_does_not_finish_has_no_bandwidth():
    trace = weft.simulate(
        classic.ring_allgather(weft.allgather(3)),
        full(3),
        3 << 20,
        faults=[weft.Fault(0, rank=1, dies=True)],
    )
    assert (trace.finished, trace.algbw, trace.busbw) == (False, 0.0, 0.0)
    assert "not finished after" in repr(trace)


def test_a_trace_says_how_long_it_took():
    trace = weft.simulate(classic.ring_allgather(weft.allgather(2)), full(2), 50_000, segments=1)
    assert repr(trace) == "<Trace ring on full:2, 50000 bytes: 2 us>"
