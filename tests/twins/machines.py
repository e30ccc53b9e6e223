"""Random machines, what runs meet on them, and such runs; a draw is a seed."""

from __future__ import annotations

from random import Random

from msgspec.structs import replace

from twins.draw import good_schedule
from weft.simulate.conditions import Conditions, Fault, Noise
from weft.simulate.simulate import Simulation, prepare
from weft.simulate.trace import Trace
from weft.topology.topology import Link, Overheads, Topology
from weft.topology.zoo.generators import full, host, star

RATES = (10**9, 3 * 10**9 + 7, 25 * 10**9)
TIMES = (0, 1, 15_000, 500_000, 1_000_001)
SIZES = (0, 1, 7, 1000, 100_000)


def any_machine(draw: Random, ranks: int) -> Topology:
    shape = draw.choice([full, star, host])(ranks)
    links = tuple(_any_link(draw, link) for link in shape.links)
    overheads = Overheads(
        draw.choice(TIMES),
        draw.choice(TIMES),
        draw.choice([None, *RATES]),
        draw.choice([None, *RATES]),
    )
    bus = {"bus": draw.choice(RATES)}
    return Topology(shape.name, ranks, links, shape.switches, bus, overheads=overheads)


def _any_link(draw: Random, link: Link) -> Link:
    return replace(
        link,
        bandwidth=draw.choice(RATES),
        latency=draw.choice(TIMES),
        shares=("bus",) if draw.random() < 0.2 else (),
        by_processor=draw.random() < 0.3,
    )


def any_simulation(draw: Random, most_ranks: int = 6) -> Simulation:
    schedule = good_schedule(draw, most_ranks)
    machine = any_machine(draw, schedule.collective.ranks)
    return prepare(schedule, machine, draw.choice(SIZES), in_place=draw.random() < 0.5)


def any_segments(draw: Random, simulation: Simulation) -> int:
    return draw.randint(1, min(6, simulation.most_segments))


def any_noise(draw: Random) -> Noise:
    return Noise(draw.randint(1, 2_000_000), draw.randint(200_000, 5_000_000), draw.randint(0, 99))


def any_fault(draw: Random, machine: Topology) -> Fault:
    """Of a rank or of a link; some heal, some do not."""
    start = draw.randint(0, 5_000_000)
    end = start + draw.randint(0, 5_000_000)
    rank = draw.randrange(machine.ranks)
    if draw.random() < 0.3:
        return Fault(start, rank=rank, dies=True)
    factor = draw.choice([0, 2, 5])
    if machine.links and draw.random() < 0.5:
        link = draw.choice(machine.links)
        return Fault(start, end, link=(link.source, link.target), factor=factor)
    return Fault(start, end, rank=rank, factor=factor)


def quiet_run(draw: Random) -> Trace:
    """Nothing goes wrong."""
    simulation = any_simulation(draw)
    return simulation.run(any_segments(draw, simulation), Conditions(draw.randint(1, 8)))


def noisy_run(draw: Random) -> Trace:
    """All that goes wrong passes."""
    simulation = any_simulation(draw)
    faults = [any_fault(draw, simulation.topology) for _ in range(draw.randint(0, 2))]
    passing = [fault for fault in faults if not fault.dies]
    conditions = Conditions(draw.randint(1, 8), any_noise(draw), passing)
    return simulation.run(any_segments(draw, simulation), conditions)


def any_run(draw: Random) -> Trace:
    """It may fail."""
    simulation = any_simulation(draw)
    faults = [any_fault(draw, simulation.topology) for _ in range(draw.randint(0, 2))]
    noise = any_noise(draw) if draw.random() < 0.3 else None
    deadline = draw.choice([None, draw.randint(0, 5_000_000)])
    conditions = Conditions(draw.randint(1, 8), noise, faults, deadline)
    return simulation.run(any_segments(draw, simulation), conditions)
