"""Comparisons against simulations one by one, and against what textbooks say."""

from __future__ import annotations

from fractions import Fraction

import pytest

import weft
from weft.collective import Collective
from weft.comparison import Comparison, Contender, LeftOut, Win, compare
from weft.errors import BadInput
from weft.kinds import Kind
from weft.schedule.schedule import Schedule
from weft.topology.zoo import find_topology

KINDS = sorted({algorithm.kind for algorithm in weft.ALGORITHMS})


def contender(name: str, schedule: Schedule, *times: int) -> Contender:
    return Contender(name, schedule, Fraction(1), Fraction(1), times, (1,) * len(times))


def comparison(*contenders: Contender) -> Comparison:
    sizes = tuple(8 * 4**place for place in range(len(contenders[0].times)))
    return Comparison(weft.allreduce(4), find_topology("full:4"), sizes, contenders, ())


@pytest.mark.parametrize("kind", KINDS)
def test_each_figure_is_that_of_a_simulation_by_itself(kind):
    machine = find_topology("cluster:6")
    sizes = None if kind is Kind.BARRIER else [30, 1000, 1 << 20]
    found = compare(Collective.named(kind, 6), machine, sizes)
    assert found.contenders
    for each in found.contenders:
        traces = [weft.simulate(each.schedule, machine, size) for size in found.sizes]
        assert each.times == tuple(trace.time for trace in traces)
        assert each.segments == tuple(trace.segments for trace in traces)


@pytest.mark.parametrize("name", ["cluster:6", "ring:8", "torus:2x4"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_algorithm_contends_or_is_left_out(kind, name):
    machine = find_topology(name)
    sizes = None if kind is Kind.BARRIER else [64]
    found = compare(Collective.named(kind, machine.ranks), machine, sizes)
    names = [algorithm.name for algorithm in weft.ALGORITHMS if algorithm.kind is kind]
    contending, left_out = ([e.name for e in each] for each in (found.contenders, found.left_out))
    assert sorted(contending + left_out) == sorted(names)
    assert contending == [each for each in names if each in contending]


def test_who_has_no_route_is_left_out():
    found = compare(weft.allreduce(8), find_topology("ring:8"), [64])
    assert "ring" in {each.name for each in found.contenders}
    why = {each.name: each.why for each in found.left_out}
    assert why["recursive doubling"].startswith("no route for 0.")


def test_who_does_not_exist_for_the_collective_is_left_out_with_its_own_words():
    found = compare(weft.allreduce(4).cut(2), find_topology("full:4"), [64])
    assert (found.contenders, found.wins) == ((), ())
    assert all("this algorithm cuts blocks itself" in each.why for each in found.left_out)
    assert LeftOut("ring", found.left_out[0].why) in found.left_out


@pytest.mark.parametrize("kind", KINDS)
def test_ranges_of_the_winners_tile_the_sizes(kind):
    sizes = None if kind is Kind.BARRIER else [20, 500, 10_000, 1 << 20]
    found = compare(Collective.named(kind, 5), find_topology("cluster:5"), sizes)
    at = [size for win in found.wins for size in found.sizes if win.first <= size <= win.last]
    assert tuple(at) == found.sizes
    for place, name in enumerate(found.winners):
        times = {each.name: each.times[place] for each in found.contenders}
        assert times[name] <= min(times.values()) * 1.01


def test_within_a_hundredth_the_one_of_fewer_messages_wins_and_then_the_first():
    many = weft.classic.ring_allreduce(weft.allreduce(4))
    few = weft.classic.recursive_doubling_allreduce(weft.allreduce(4))
    assert few.messages < many.messages
    found = comparison(
        contender("many", many, 500, 500, 400),
        contender("few", few, 505, 506, 400),
        contender("so", few, 500, 700, 900),
    )
    assert found.winners == ("few", "many", "few")
    assert found.wins == (Win("few", 8, 8), Win("many", 32, 32), Win("few", 128, 128))


def test_a_comparison_is_the_same_each_time():
    sizes = [20, 500, 10_000]
    runs = [compare(weft.allgather(5), find_topology("cluster:5"), sizes) for _ in range(2)]
    assert runs[0] == runs[1]


def test_sizes_are_from_a_byte_for_every_block_to_4_gib():
    assert compare(weft.allreduce(2), find_topology("full:2")).sizes[0] == 4
    sizes = compare(weft.allgather(5), find_topology("full:5")).sizes
    assert (sizes[0], sizes[-1]) == (16, 1 << 32)
    assert compare(weft.allreduce(2), find_topology("full:2"), [64, 8, 64]).sizes == (8, 64)


@pytest.mark.parametrize(
    ("collective", "size", "message"),
    [
        (weft.allgather(4), 3, "the size, with 4 blocks on a rank, is 3: give 4 to"),
        (weft.allreduce(4), 0, "the size is 0: give 1 to"),
        (weft.allreduce(4), 1 << 60, "give 1 to 1125899906842624"),
        (weft.barrier(4), 8, "a barrier moves no data: give no sizes"),
    ],
)
def test_sizes_that_say_nothing_are_refused(collective, size, message):
    with pytest.raises(BadInput, match=message):
        compare(collective, find_topology("full:4"), [size])


def test_progress_is_told():
    told: list[str] = []
    compare(weft.allreduce(4), find_topology("full:4"), [64, 4096], report=told.append)
    assert "building and verifying ring" in told
    assert "simulating ring at 4K" in told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "winners"),
    [
        (Kind.BROADCAST, ["binomial", "double tree", "chain"]),
        (Kind.REDUCE, ["binomial", "Rabenseifner", "double tree", "chain"]),
        (Kind.SCATTER, ["binomial", "flat"]),
        (Kind.GATHER, ["binomial", "flat"]),
        (Kind.ALLGATHER, ["Bruck", "neighbour exchange", "ring"]),
        (Kind.REDUCESCATTER, ["recursive halving", "pairwise", "ring"]),
        (Kind.ALLREDUCE, ["recursive doubling", "Rabenseifner", "ring"]),
        (Kind.ALLTOALL, ["Bruck", "grid", "pairwise"]),
    ],
)
def test_on_a_flat_machine_the_textbooks_are_right(kind, winners):
    """From small sizes to large ones: first few messages win, then few bytes on each rank."""
    found = compare(Collective.named(kind, 16), find_topology("cluster:16"))
    assert [win.name for win in found.wins] == winners
