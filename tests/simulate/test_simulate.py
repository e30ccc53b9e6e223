"""Runs whose times have closed forms, and requests that cannot be carried out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import weft
from synthesis.promises import algorithms_for
from weft import classic
from weft.collective import Collective
from weft.errors import BadInput, WrongSchedule
from weft.schedule.schedule import Schedule, ScheduleDraft
from weft.simulate.conditions import LATEST, Conditions
from weft.simulate.simulate import prepare
from weft.topology.topology import Link, Overheads, Topology, both_ways
from weft.topology.zoo.generators import full, host, ring, star

RATE = 25 * 10**9  # of the generators: 40 ps a byte
LATENCY = 10**6
BYTE = 40


def chain(ranks: int) -> Schedule:
    collective = weft.broadcast(ranks)
    draft = ScheduleDraft(collective)
    draft.copy(0, collective.input(0), collective.output(0))
    for rank in range(ranks - 1):
        source = collective.output(0) if rank else collective.input(0)
        draft.move(rank, rank + 1, source, collective.output(0))
    return draft.schedule("chain")


def gatherv_directly(ranks: int) -> Schedule:
    collective = weft.gatherv(ranks)
    draft = ScheduleDraft(collective)
    rank = np.arange(ranks)
    draft.move(rank, 0, collective.input(0), collective.output(rank))
    return draft.schedule("direct", in_place=False)


def sum_of_two() -> Schedule:
    collective = weft.reduce(2)
    draft = ScheduleDraft(collective)
    draft.move(1, 0, collective.input(0), collective.output(0), add=collective.input(0))
    return draft.schedule("sum of two")


def from_root_to_two() -> Schedule:
    collective = weft.broadcast(3)
    draft = ScheduleDraft(collective)
    for rank in (1, 2):
        draft.move(0, rank, collective.input(0), collective.output(0))
    draft.copy(0, collective.input(0), collective.output(0))
    return draft.schedule("from root to two")


def time_of(schedule: Schedule, topology: Topology, size: int, segments: int = 1) -> int:
    return weft.simulate(schedule, topology, size, segments=segments).time


@pytest.mark.parametrize("n", [2, 3, 4, 7, 8, 16])
@pytest.mark.parametrize("each", [1, 1000, 12_345])
def test_ring_allreduce(n, each):
    allreduce = classic.ring_allreduce(weft.allreduce(n))
    assert time_of(allreduce, ring(n), n * each) == 2 * (n - 1) * (LATENCY + each * BYTE)


def test_a_byte_takes_whole_picoseconds_and_never_less_than_the_rate_allows():
    allreduce = classic.ring_allreduce(weft.allreduce(4))
    for bandwidth in (3 * 10**12, 2**63 - 1):
        assert time_of(allreduce, ring(4, bandwidth=bandwidth), 4) == 6 * (LATENCY + 1)


@pytest.mark.parametrize("levels", [1, 2, 3, 5])
def test_binomial_broadcast_takes_a_latency_a_level(levels):
    n = 2**levels
    broadcast = classic.binomial_broadcast(weft.broadcast(n))
    assert time_of(broadcast, full(n), 8) == levels * (LATENCY + 8 * BYTE)


def test_binomial_broadcast_with_overheads():
    """The root copies its own block first, then every level sends, crosses and applies."""
    broadcast = classic.binomial_broadcast(weft.broadcast(8))
    overheads = Overheads(send=15_000, receive=20_000, copy=10**9)
    machine = replace(full(8), overheads=overheads)
    assert time_of(broadcast, machine, 8) == 8000 + 3 * (15_000 + LATENCY + 20_000 + 8000)


@pytest.mark.parametrize("segments", [1, 2, 5, 16])
def test_a_chain_is_a_pipeline(segments):
    size, hops = 800_000, 4
    wire = (segments + hops - 1) * (size // segments) * BYTE
    assert time_of(chain(5), full(5), size, segments) == wire + hops * LATENCY


def test_a_route_over_two_links_takes_both_at_once():
    allgather = classic.ring_allgather(weft.allgather(4))
    assert time_of(allgather, star(4), 400_000) == 3 * (LATENCY + 100_000 * BYTE)


def test_links_that_share_a_resource_take_turns():
    allgather = classic.ring_allgather(weft.allgather(2))
    wire = Link(0, 1, RATE, LATENCY)
    apart = Topology("apart", 2, both_ways([wire]))
    bus = Link(0, 1, RATE, LATENCY, shares=("bus",))
    together = Topology("together", 2, both_ways([bus]), resources={"bus": RATE // 2})
    assert time_of(allgather, apart, 2000) == LATENCY + 1000 * BYTE
    assert time_of(allgather, together, 2000) == LATENCY + 2 * (1000 * 2 * BYTE)


def test_rates_of_adding_and_copying():
    machine = replace(full(2), overheads=Overheads(reduce=10**10, copy=10**9))
    crossing = LATENCY + 1000 * BYTE
    assert time_of(sum_of_two(), machine, 1000) == crossing + 1000 * 100
    root_copies_first = 1000 * 1000
    assert time_of(chain(2), machine, 1000) == root_copies_first + crossing + 1000 * 1000


@pytest.mark.parametrize("send", [0, 30_000, 90_000])
def test_the_overhead_of_a_send_runs_beside_the_wire(send):
    machine = replace(full(2), overheads=Overheads(send=send, receive=7000))
    assert time_of(sum_of_two(), machine, 1000) == max(send, 1000 * BYTE) + LATENCY + 7000


def test_a_processor_that_moves_the_bytes_serves_one_link_at_a_time():
    wires = full(3)
    links = tuple(Link(a.source, a.target, RATE, LATENCY, by_processor=True) for a in wires.links)
    assert time_of(from_root_to_two(), wires, 1000) == LATENCY + 1000 * BYTE
    by_processor = replace(wires, links=links)
    assert time_of(from_root_to_two(), by_processor, 1000) == LATENCY + 2 * 1000 * BYTE


def test_what_passes_through_a_processor_is_added_and_sent_on_at_once():
    """As over shared memory: the sum goes on while it is made, so the slower of both counts."""
    reducescatter = classic.ring_reducescatter(weft.reducescatter(3))
    machine = host(3)
    o, link = machine.overheads, machine.links[0]
    assert o.reduce
    move, add = (-(-1200 * 10**12 // rate) for rate in (link.bandwidth, o.reduce))
    first = max(o.send, move) + link.latency
    then = max(o.receive + add + o.send, move) + link.latency
    assert time_of(reducescatter, machine, 3600) == first + then + o.receive + add


@pytest.mark.parametrize("schedule", [chain(3), classic.ring_allreduce(weft.allreduce(3))])
def test_nothing_takes_no_time(schedule):
    trace = weft.simulate(schedule, full(3), 0)
    assert (trace.time, trace.algbw, len(trace.records), trace.finished) == (0, 0.0, 0, True)


@pytest.mark.parametrize("algorithm", algorithms_for(1), ids=lambda a: f"{a.name} {a.kind}")
def test_one_rank_is_done_at_once(algorithm):
    root = 0 if algorithm.kind.rooted else None
    collective = Collective(algorithm.kind, 1, root)
    trace = weft.simulate(algorithm.build(collective), full(1), 1000)
    assert (trace.time, trace.finished) == (0, True)
    assert trace.size == (0 if collective.heard_is_enough else 1000)


def test_a_barrier_takes_latencies_whatever_the_size():
    text = weft.format_text(classic.recursive_doubling_allreduce(weft.allreduce(8)))
    barrier = weft.parse_text(text.replace("allreduce", "barrier"))
    for size in (0, 64, 1 << 40):
        trace = weft.simulate(barrier, full(8), size)
        assert (trace.time, trace.size, trace.busbw) == (3 * LATENCY, 0, 0.0)


def test_sizes_of_uneven_blocks():
    trace = weft.simulate(gatherv_directly(3), full(3), [5, 0, 1000])
    assert (trace.time, trace.size) == (LATENCY + 1000 * BYTE, 1005)
    assert weft.simulate(gatherv_directly(3), full(3), [0, 0, 0]).time == 0


def test_the_largest_block_sets_the_pace_of_a_ring():
    allgather = classic.ring_allgather(weft.allgatherv(3))
    time = weft.simulate(allgather, ring(3), [10, 2000, 0], segments=1).time
    assert time == 2 * (LATENCY + 2000 * BYTE)


def test_large_sizes_are_added_up_exactly():
    """Their sum has more digits than a float."""
    ranks, block = 17, (1 << 50) - 1
    assert weft.simulate(gatherv_directly(ranks), full(ranks), [block] * ranks).size == 17 * block


def test_numpy_counts_are_counts():
    allreduce = classic.ring_allreduce(weft.allreduce(2))
    expected = weft.simulate(allreduce, full(2), 1000).time
    sizes: list[Any] = [np.int64(1000), np.array([1000]), [np.int32(1000)]]
    for size in sizes:
        assert weft.simulate(allreduce, full(2), size).time == expected


def test_size_is_that_of_nccl_tests():
    """Of a gather it is what the root gets, of an alltoall all that a rank has for others."""
    assert weft.simulate(classic.pairwise_alltoall(weft.alltoall(4)), full(4), 4096).size == 4096
    reduced = weft.simulate(classic.ring_reducescatter(weft.reducescatter(4)), full(4), 4099)
    assert reduced.size == 4096  # what does not divide is left out


def test_what_is_there_already_is_not_copied():
    allgather = classic.ring_allgather(weft.allgather(2))
    machine = replace(full(2), overheads=Overheads(copy=10**9))
    out_of_place = weft.simulate(allgather, machine, 2000, segments=1)
    in_place = weft.simulate(allgather, machine, 2000, segments=1, in_place=True)
    assert in_place.time == LATENCY + 1000 * BYTE + 1000 * 1000
    assert in_place.time < out_of_place.time


def test_a_larger_window_absorbs_more_of_the_noise():
    noise = weft.Noise(40_000_000, 100_000_000, seed=1)
    lost = []
    for window in (1, 2, 4):
        simulation = prepare(chain(5), full(5), 8_000_000)
        quiet, noisy = (simulation.run(32, Conditions(window, n)) for n in (None, noise))
        lost.append(noisy.time - quiet.time)
    assert lost[0] > lost[1] > lost[2] > 0


def test_a_wrong_schedule_is_not_simulated():
    right = classic.ring_allreduce(weft.allreduce(3))
    wrong = Schedule("wrong", right.collective, right.transfers[1:], right.scratch)
    with pytest.raises(WrongSchedule):
        weft.simulate(wrong, ring(3), 1000)


def test_a_schedule_is_simulated_only_as_it_claims_to_work():
    with pytest.raises(BadInput, match="direct does not work in place: it works out of place"):
        weft.simulate(gatherv_directly(2), full(2), [1, 2], in_place=True)


SLOW = Overheads(reduce=1)


@pytest.mark.parametrize(
    ("topology", "size", "run", "message"),
    [
        (ring(3), 99, {"window": 0}, "the window is 0: give 1 to 1048576"),
        (ring(3), 99, {"segments": 0}, "0 segments of transfers that have 33 bytes at most: give "),
        (ring(3), 99, {"segments": 34}, "34 segments of .* give 1 to 33"),
        (ring(3), 1 << 50, {"segments": 1 << 24}, "is more than 16777216 messages: give fewer se"),
        (ring(4), 99, {}, "ring is for 3 ranks, ring:4 has 4: take a topology of that size"),
        (ring(3), -1, {}, "the size is -1: give 0 to"),
        (ring(3), 1 << 51, {}, "the size is 2251799813685248: give 0 to"),
        (ring(3), [1, 2], {}, "2 sizes for 1 block: give one for each"),
        (ring(3), [-1], {}, "the size of a block is -1: give 0 to"),
        (ring(3), [1.5], {}, "the size of a block is 1.5: give a whole number"),
        (ring(3), 1.5, {}, "the size is 1.5: give whole bytes, or a list with those of each"),
        (ring(3), "64M", {}, "the size is '64M': give whole bytes, or a list with those of each"),
        (ring(3), None, {}, "the size is None: give whole bytes"),
        (ring(3), 1, {"segments": 2}, "2 segments of transfers that have 1 byte at most: give 1$"),
        (ring(3), 99, {"segments": 1.5}, "the number of segments is 1.5: give a whole number"),
        (ring(3), 99, {"window": 1.5}, "the window is 1.5: give a whole number"),
        (ring(3), 99, {"deadline": 1.5}, "the deadline in picoseconds is 1.5: give a whole num"),
        (ring(3), [1 << 51], {}, "the size of a block is 2251799813685248: give 0 to"),
        (ring(3), 99, {"deadline": -1}, "the deadline in picoseconds is -1: give 0 to"),
        (ring(3), 99, {"deadline": LATEST + 1}, "the deadline in picoseconds is .*: give 0 to"),
        (ring(3, latency=LATEST + 1), 99, {}, "the latency of a route in picoseconds is .*: give"),
        (ring(3, latency=LATEST), 99, {}, "would take more than 26 days: simulate less data or a "),
        (ring(3, bandwidth=1), 1 << 50, {}, "would take more than 26 days"),
        (replace(ring(3), overheads=SLOW), 1 << 50, {}, "would take more than 26 days"),
        (replace(ring(3), overheads=Overheads(send=LATEST + 1)), 99, {}, "the time to send a mess"),
        (replace(ring(3), overheads=Overheads(receive=LATEST + 1)), 99, {}, "the time to receive "),
        (replace(ring(3), overheads=Overheads(receive=LATEST)), 99, {}, "more than 26 days"),
        (
            Topology("apart", 3),
            99,
            {},
            "apart has no route 0 from rank 0 to rank 1, .* it has none there;",
        ),
        (ring(3), 99, {"faults": [weft.Fault(0, rank=3)]}, "the rank of a fault is 3: give 0 to 2"),
        (
            ring(3),
            99,
            {"faults": [weft.Fault(0, link=(0, 3))]},
            "ring:3 has no link 0->3 that could fail: name one that it has",
        ),
        (
            ring(3),
            99,
            {"noise": weft.Noise(1, 1)},
            "has more than 1048576 pauses: let them be rarer, or the deadline earlier",
        ),
    ],
)
def test_what_cannot_be_simulated_is_one_line_that_says_why(topology, size, run, message):
    allreduce = classic.ring_allreduce(weft.allreduce(3))
    with pytest.raises(BadInput, match=message) as problem:
        weft.simulate(allreduce, topology, size, **run)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize("size", [np.int32(99), np.array([99]), [np.uint8(99)]])
def test_numbers_may_be_those_of_numpy(size):
    allreduce = classic.ring_allreduce(weft.allreduce(3))
    plain = weft.simulate(allreduce, ring(3), 99, segments=2, window=3, deadline=10**12)
    numbers: dict[str, Any] = {
        "segments": np.int8(2),
        "window": np.int8(3),
        "deadline": np.int64(10**12),
    }
    trace = weft.simulate(allreduce, ring(3), size, **numbers)
    assert trace.records.tolist() == plain.records.tolist()


def test_uneven_blocks_need_a_size_each():
    for size, message in ((99, "has blocks of any size: give a list"), ([1], "1 size for 2 blo")):
        with pytest.raises(BadInput, match=message):
            weft.simulate(gatherv_directly(2), full(2), size)


def test_more_bytes_than_can_be_counted_are_refused():
    """One message of many large parts; else their sum would be out of range."""
    collective = weft.broadcast(2)
    draft = ScheduleDraft(collective)
    draft.copy(0, collective.input(0), collective.output(0))
    spare = collective.scratch(np.arange(1 << 13))
    draft.move(0, 1, collective.input(0), spare, message=0)
    draft.move(0, 1, collective.input(0), collective.output(0))
    with pytest.raises(BadInput, match=r"what wasteful moves, in bytes, is .*: give 0 to"):
        weft.simulate(draft.schedule("wasteful"), full(2), 1 << 50)
