"""The number of segments that is taken where none is given, against all from 1 to 64."""

from __future__ import annotations

from random import Random

import pytest

import weft
from twins.draw import good_schedule
from twins.machines import any_machine
from weft.collective import Collective
from weft.schedule.schedule import ScheduleDraft
from weft.simulate.conditions import WINDOW, Conditions
from weft.simulate.simulate import MOST_TRIED, Simulation, prepare
from weft.topology.topology import Link, Topology
from weft.topology.zoo import find_topology
from weft.topology.zoo.generators import full, ring

SIZES = (8, 4096, 65_536, 300_000, 1 << 20, 10**7)


def time_of(simulation: Simulation, segments: int, window: int) -> int:
    return simulation.run(segments, Conditions(window), record=False).time


def loss(simulation: Simulation, window: int = WINDOW) -> float:
    """How much slower it is than with the best of 1 to 64 segments."""
    chosen = time_of(simulation, simulation.best_segments(window), window)
    numbers = range(1, min(64, simulation.most_segments) + 1)
    assert chosen <= time_of(simulation, 1, window)
    return chosen / max(1, min(time_of(simulation, number, window) for number in numbers))


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", weft.ALGORITHMS, ids=lambda a: f"{a.name} {a.kind}")
def test_the_choice_is_within_a_tenth_of_the_best(algorithm):
    root = 0 if algorithm.kind.rooted else None
    schedule = algorithm.build(Collective(algorithm.kind, 8, root))
    for machine in ("full:8", "star:8", "host:8"):
        for size in SIZES:
            assert loss(prepare(schedule, find_topology(machine), size)) <= 1.1, (machine, size)


@pytest.mark.slow
def test_it_is_so_on_random_machines_too():
    for seed in range(150):
        draw = Random(seed)
        schedule = good_schedule(draw, most_ranks=8)
        machine = any_machine(draw, schedule.collective.ranks)
        simulation = prepare(schedule, machine, draw.choice(SIZES))
        assert loss(simulation, draw.choice([1, 2, 8, 32])) <= 1.1, seed


def test_where_three_are_much_faster_than_two_or_four():
    """Two segments cannot hide the latency, four cost too much of the processors' time."""
    overheads = weft.Overheads(send=50_000, reduce=2 * 10**10)
    machine = Topology("busy", 8, ring(8).links, overheads=overheads)
    schedule = weft.classic.ring_allreduce(weft.allreduce(8))
    simulation = prepare(schedule, machine, 300_000)
    assert loss(simulation) <= 1.02


@pytest.mark.parametrize("size", [0, 1, 7])
def test_what_cannot_be_cut_is_one_segment(size):
    trace = weft.simulate(weft.classic.ring_allreduce(weft.allreduce(7)), full(7), size)
    assert trace.segments == 1


def test_the_choice_ignores_what_goes_wrong():
    """So that runs under different conditions can be compared."""
    schedule = weft.classic.ring_allreduce(weft.allreduce(4))
    noise = weft.Noise(10**6, 10**6)
    quiet, noisy = (weft.simulate(schedule, ring(4), 10**6, noise=n) for n in (None, noise))
    assert quiet.segments == noisy.segments > 1


@pytest.mark.parametrize("most", [0, 15, 60, 119, 120, 10**6])
def test_the_work_of_a_try_can_be_bounded(most):
    """Without a bound it takes more segments than any of these lets it try."""
    simulation = prepare(weft.classic.binomial_broadcast(weft.broadcast(16)), full(16), 1 << 30)
    best, messages = simulation.best_segments(most_tried=most), 15
    assert best == 1 or best * messages <= most
    assert best <= simulation.best_segments()
    assert best * messages * 4 > min(most, 10**4)


@pytest.mark.slow
def test_no_number_is_tried_that_takes_long():
    """Along so many ranks 1 % can be gained up to 30,000 segments."""
    ranks = 301
    collective = weft.reduce(ranks, root=ranks - 1)
    draft = ScheduleDraft(collective)
    own, total = collective.input(0), collective.scratch(0)
    for rank in range(ranks - 1):
        target = total if rank < ranks - 2 else collective.output(0)
        draft.move(rank, rank + 1, total if rank else own, target, add=own)
    links = tuple(Link(rank, rank + 1, 10**9) for rank in range(ranks - 1))
    simulation = prepare(draft.schedule("chain"), Topology("chain", ranks, links), 1 << 30)
    assert MOST_TRIED / 4 < simulation.best_segments() * (ranks - 1) <= MOST_TRIED
