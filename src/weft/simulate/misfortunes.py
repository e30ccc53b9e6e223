"""The simulator's tables of what goes wrong: spans in which a resource is slow or stopped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np

from weft.checks import require_range
from weft.errors import BadInput
from weft.kinds import Ints
from weft.simulate.conditions import MOST_FACTOR, Conditions, Fault, Slowdown
from weft.simulate.machine import Machine
from weft.topology.topology import Topology
from weft.units import time_text

MOST_PAUSES = 1 << 20  # over all ranks


@dataclass(frozen=True, eq=False)
class Misfortunes:
    """What goes wrong before a horizon."""

    slowdowns: Ints  # from, until, factor, resource; by resource and time
    deaths: Ints  # time, rank


def misfortunes(
    topology: Topology, machine: Machine, conditions: Conditions, horizon: int
) -> Misfortunes:
    """What happens to which resource; where things overlap their factors multiply."""
    slow: defaultdict[int, list[Slowdown]] = defaultdict(list)
    for fault in conditions.faults:
        for resource in _resources(topology, machine, fault):
            slow[resource].append((fault.start, fault.end, fault.factor))
    noise = conditions.noise
    if noise:
        if horizon // (noise.every + noise.longest // 2) * topology.ranks > MOST_PAUSES:
            raise BadInput(
                f"a run of {time_text(horizon)} has more than {MOST_PAUSES} pauses: "
                "let them be rarer, or the deadline earlier"
            )
        for rank in range(topology.ranks):
            slow[rank] += noise.pauses(rank, horizon)
    rows = [
        (*each, resource) for resource in sorted(slow) for each in _one_at_a_time(slow[resource])
    ]
    deaths = [(fault.start, fault.rank) for fault in conditions.faults if fault.dies]
    return Misfortunes(
        np.array(rows, np.int64).reshape(-1, 4), np.array(deaths, np.int64).reshape(-1, 2)
    )


def _resources(topology: Topology, machine: Machine, fault: Fault) -> list[int]:
    if fault.rank is not None:
        require_range("the rank of a fault", fault.rank, 0, topology.ranks - 1)
        if fault.factor > 1 and not (machine.overheads.any() or machine.paths[:, 1].any()):
            raise BadInput(
                f"nothing that rank {fault.rank} does takes time on {topology.name}, so that it "
                "cannot be slower: give the topology overheads"
            )
        return [fault.rank]
    assert fault.link is not None
    links = topology.between(*fault.link)
    if not links:
        raise BadInput(
            f"{topology.name} has no link {fault.link[0]}->{fault.link[1]} that could fail: "
            "name one that it has"
        )
    return [machine.links[number] for number in links if number in machine.links]


def _one_at_a_time(slowdowns: list[Slowdown]) -> Iterable[Slowdown]:
    """The same as spans that do not overlap."""
    moments = sorted({moment for start, end, _ in slowdowns for moment in (start, end)})
    waiting = sorted(slowdowns, reverse=True)
    active: list[Slowdown] = []
    for start, end in pairwise(moments):
        while waiting and waiting[-1][0] <= start:
            active.append(waiting.pop())
        active = [each for each in active if each[1] > start]
        if active:
            factor = prod(factor for *_, factor in active)
            what = f"the factor of all faults at {time_text(start)}, multiplied,"
            require_range(what, factor, 0, MOST_FACTOR)
            yield start, end, factor
