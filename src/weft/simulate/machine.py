"""What a topology costs the connections of a schedule, as the simulator's tables.

Resources are numbered: the ranks' processors, then the links that some route takes, then what these
share.  A message takes all of its route at once, each for as long as its bytes need there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weft import _native
from weft.checks import require_range
from weft.errors import BadInput
from weft.kinds import Ints
from weft.topology.topology import Topology

Connection = tuple[int, int, int]  # src, dst, route


@dataclass(frozen=True, eq=False)
class Machine:
    """A topology, as far as it is used."""

    names: list[str]  # of all resources
    links: dict[int, int]  # link of the topology -> resource
    rates: Ints  # of the resources after the processors, bytes per second
    overheads: Ints
    paths: Ints  # by connection: latency, whether the processor moves the bytes, end in `resources`
    resources: Ints  # of all paths


def machine_of(topology: Topology, connections: list[Connection]) -> Machine:
    """The tables for these connections; each must have its route."""
    routes = [_route(topology, *connection) for connection in connections]
    links = sorted({number for route in routes for number in route})
    shared = sorted({name for number in links for name in topology.links[number].shares})
    places = {number: topology.ranks + place for place, number in enumerate(links)}
    shares = {name: topology.ranks + len(links) + place for place, name in enumerate(shared)}
    taken = [
        [places[number] for number in route]
        + sorted({shares[name] for number in route for name in topology.links[number].shares})
        for route in routes
    ]
    ends = np.cumsum([len(numbers) for numbers in taken])
    paths = [
        (sum(found.latency for found in way), any(found.by_processor for found in way), end)
        for way, end in zip(([topology.links[n] for n in r] for r in routes), ends, strict=True)
    ]
    o = topology.overheads
    for what, time in (
        ("the time to send a message", o.send),
        ("the time to receive a message", o.receive),
        ("the latency of a route", max((latency for latency, *_ in paths), default=0)),
    ):
        require_range(f"{topology.name}: {what} in picoseconds", time, 0, _native.LATEST)
    rates = [topology.links[number].bandwidth for number in links]
    rates += [topology.resources[name] for name in shared]
    return Machine(
        names=[f"rank {rank}" for rank in range(topology.ranks)]
        + [link_name(topology, number) for number in links]
        + shared,
        links=places,
        rates=np.array(rates, np.int64),
        overheads=np.array([[o.send, o.receive, o.reduce or 0, o.copy or 0]], np.int64),
        paths=np.array(paths, np.int64).reshape(-1, 3),
        resources=np.array([number for numbers in taken for number in numbers], np.int64),
    )


def link_name(topology: Topology, number: int) -> str:
    """Say which link it is: `nvlink 0->1`, and of several alike `nvlink 0->1 #2`."""
    link = topology.links[number]
    ends = [
        topology.switches[node - topology.ranks] if node >= topology.ranks else str(node)
        for node in (link.source, link.target)
    ]
    alike = [n for n in topology.between(link.source, link.target) if n <= number]
    return f"{link.kind} {ends[0]}->{ends[1]}" + f" #{len(alike)}" * (len(alike) > 1)


def _route(topology: Topology, src: int, dst: int, route: int) -> tuple[int, ...]:
    ways = topology.routes(src, dst)
    if route >= len(ways):
        raise BadInput(
            f"{topology.name} has no route {route} from rank {src} to rank {dst}, which the "
            f"schedule uses: it has {len(ways) or 'none'} there; "
            "take a schedule and a topology that fit"
        )
    return ways[route]
