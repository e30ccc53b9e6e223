"""Machines of regular shape: every link alike, 25 GB/s and 1 us unless said otherwise.

Ranks of a mesh or torus count along the last side first, so rank = x * width + y in two dimensions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import prod

import numpy as np
from msgspec.structs import replace

from weft.checks import require_range
from weft.topology.topology import NO_OVERHEADS, Link, Overheads, Topology, both_ways
from weft.units import GIGABYTE, MICROSECOND, NANOSECOND

BANDWIDTH = 25 * GIGABYTE
LATENCY = MICROSECOND
HOST_COPY = 20 * GIGABYTE  # measured by benchmarks/engine.py, like all of these
HOST_LATENCY = 100 * NANOSECOND
HOST_OVERHEADS = Overheads(
    send=15 * NANOSECOND, receive=15 * NANOSECOND, reduce=20 * GIGABYTE, copy=HOST_COPY
)
NETWORK_BANDWIDTH = 12_500 * GIGABYTE // 1000  # 100 Gbit/s
NETWORK_OVERHEADS = Overheads(
    send=MICROSECOND, receive=MICROSECOND, reduce=20 * GIGABYTE, copy=20 * GIGABYTE
)
MOST_LINKS = 1 << 21
MOST_SIDES = 16


def full(ranks: int, *, bandwidth: int = BANDWIDTH, latency: int = LATENCY) -> Topology:
    """Every pair of ranks has a wire of its own."""
    _require_size("full", ranks, ranks * (ranks - 1))
    return _wired(f"full:{ranks}", ranks, combinations(range(ranks), 2), bandwidth, latency)


def star(ranks: int, *, bandwidth: int = BANDWIDTH, latency: int = LATENCY) -> Topology:
    """Every rank has a wire to one switch; a route crosses two wires, of half the latency each."""
    _require_size("star", ranks, 2 * ranks)
    return _around_switch(f"star:{ranks}", ranks, Link(0, ranks, bandwidth, latency // 2))


def ring(ranks: int, *, bandwidth: int = BANDWIDTH, latency: int = LATENCY) -> Topology:
    """Every rank has a wire to the next, and the last to the first."""
    _require_size("ring", ranks, 2 * ranks)
    return _wired(f"ring:{ranks}", ranks, _grid_pairs((ranks,), closed=True), bandwidth, latency)


def host(ranks: int) -> Topology:
    """The processes of one host that share memory; `make bench` measures what it costs here."""
    _require_size("host", ranks, ranks * (ranks - 1))
    wires = combinations(range(ranks), 2)
    links = both_ways(
        Link(a, b, HOST_COPY, HOST_LATENCY, kind="memory", by_processor=True) for a, b in wires
    )
    return Topology(f"host:{ranks}", ranks, links, overheads=HOST_OVERHEADS)


def cluster(ranks: int) -> Topology:
    """Hosts of one rank each around one switch: 12.5 GB/s each way, and 1 us over a route.

    A message costs 1 us at either end, and a rank adds up and copies 20 GB/s.  These are round
    numbers of today's networks, not measured.
    """
    _require_size("cluster", ranks, 2 * ranks)
    wire = Link(0, ranks, NETWORK_BANDWIDTH, MICROSECOND // 2, kind="network")
    return _around_switch(f"cluster:{ranks}", ranks, wire, NETWORK_OVERHEADS)


def mesh(*sides: int, bandwidth: int = BANDWIDTH, latency: int = LATENCY) -> Topology:
    """A grid of any dimension, open at its sides."""
    return _grid("mesh", sides, bandwidth, latency)


def torus(*sides: int, bandwidth: int = BANDWIDTH, latency: int = LATENCY) -> Topology:
    """A grid of any dimension whose rows are closed to rings."""
    return _grid("torus", sides, bandwidth, latency)


def hypercube(dimension: int, *, bandwidth: int = BANDWIDTH, latency: int = LATENCY) -> Topology:
    """2 ** dimension ranks; those whose numbers differ in one bit have a wire."""
    require_range("hypercube: dimension", dimension, 0, 16)
    ranks = 1 << dimension
    pairs = [
        (r, r ^ 1 << bit) for r in range(ranks) for bit in range(dimension) if not r >> bit & 1
    ]
    return _wired(f"hypercube:{dimension}", ranks, pairs, bandwidth, latency)


def _grid(name: str, sides: Sequence[int], bandwidth: int, latency: int) -> Topology:
    full_name = f"{name}:{'x'.join(map(str, sides))}"
    require_range(f"{name}: sides", len(sides), 1, MOST_SIDES)
    for side in sides:
        require_range(f"{full_name[:60]}: a side", side, 1, MOST_LINKS)
    _require_size(full_name[:60], prod(sides), 2 * len(sides) * prod(sides))
    pairs = _grid_pairs(sides, closed=name == "torus")
    return _wired(full_name, prod(sides), pairs, bandwidth, latency)


def _grid_pairs(sides: Sequence[int], *, closed: bool) -> list[tuple[int, int]]:
    """Neighbours along each side; a closed side of two ranks has one wire, not two."""
    rank = np.arange(prod(sides)).reshape(sides)
    pairs: set[tuple[int, int]] = set()
    for axis, side in enumerate(sides):
        steps = range(side if closed else side - 1)
        ahead = np.roll(rank, -1, axis).take(steps, axis).ravel().tolist()
        wires = zip(rank.take(steps, axis).ravel().tolist(), ahead, strict=True)
        pairs.update((min(wire), max(wire)) for wire in wires if wire[0] != wire[1])
    return sorted(pairs)


def _around_switch(
    name: str, ranks: int, wire: Link, overheads: Overheads = NO_OVERHEADS
) -> Topology:
    """Every rank has such a wire to one switch, which hinders nobody."""
    links = both_ways(replace(wire, source=rank) for rank in range(ranks))
    return Topology(name, ranks, links, switches=("switch",), overheads=overheads)


def _wired(
    name: str, ranks: int, pairs: Iterable[tuple[int, int]], bandwidth: int, latency: int
) -> Topology:
    return Topology(name, ranks, both_ways(Link(a, b, bandwidth, latency) for a, b in pairs))


def _require_size(name: str, ranks: int, links: int) -> None:
    require_range(f"{name}: ranks", ranks, 1)
    require_range(f"{name}: links", links, 0, MOST_LINKS)
