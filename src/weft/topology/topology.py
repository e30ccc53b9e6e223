"""What the machine is: ranks, switches, directed links, and what links share.

Nodes are numbered: ranks from 0, then switches.  Rates are whole bytes per second and times whole
picoseconds, so that two programs that add them up agree exactly.

A *route* is one way from a rank to another, a row of links.  Only switches forward: data that goes
through another rank is two transfers of a schedule, not a route.  A pair's routes are those that
the topology lists for it; else each direct link, then the path of fewest links over switches.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from weft.checks import Fields, Natural, require_name, require_range
from weft.errors import BadInput
from weft.units import counted, rate_text, time_text

Pair = tuple[int, int]
Route = tuple[int, ...]  # numbers of links

MOST_NODES = 1 << 17


class Link(Fields, frozen=True):
    """A link in one direction."""

    source: Annotated[Natural, Meta(description="A node: ranks count from 0, switches follow.")]
    target: Annotated[Natural, Meta(description="Another node.")]
    bandwidth: Annotated[Natural, Meta(description="Bytes per second, of all lanes together.")]
    latency: Annotated[Natural, Meta(description="Picoseconds.")] = 0
    kind: Annotated[str, Meta(description="Such as nvlink, pcie or network.")] = "wire"
    lanes: Annotated[Natural, Meta(description="How many wires it bundles.")] = 1
    shares: Annotated[
        tuple[str, ...], Meta(description="Resources that it occupies besides itself.")
    ] = ()
    by_processor: Annotated[
        bool,
        Meta(description="The sender's processor moves the bytes, as through shared memory."),
    ] = False

    def __repr__(self) -> str:
        lanes = f", {self.lanes} lanes" if self.lanes > 1 else ""
        shares = "".join(f", shares {name}" for name in self.shares)
        speed = f"{rate_text(self.bandwidth)}, {time_text(self.latency)}"
        return f"<Link {self.source} -> {self.target}: {self.kind}, {speed}{lanes}{shares}>"


class Overheads(Fields, frozen=True):
    """What a message costs on a rank besides its links, and how fast a rank works on data."""

    send: Annotated[
        Natural, Meta(description="Picoseconds at the sender, for each segment of a message.")
    ] = 0
    receive: Annotated[Natural, Meta(description="Picoseconds at the receiver, the same.")] = 0
    reduce: Annotated[
        Natural | None,
        Meta(description="Bytes per second that a rank adds up; null takes no time."),
    ] = None
    copy: Annotated[
        Natural | None, Meta(description="Bytes per second that a rank copies; null takes no time.")
    ] = None


NO_OVERHEADS = Overheads()


@dataclass(frozen=True, repr=False)
class Topology:
    """A machine; it checks itself when it is made."""

    name: str
    ranks: int
    links: tuple[Link, ...] = ()
    switches: tuple[str, ...] = ()
    resources: Mapping[str, int] = field(default_factory=dict[str, int])  # shared; bytes/s
    listed_routes: Mapping[Pair, tuple[Route, ...]] = field(
        default_factory=dict[Pair, tuple[Route, ...]]
    )
    overheads: Overheads = NO_OVERHEADS

    def __post_init__(self) -> None:
        _check_nodes(self)
        for number, link in enumerate(self.links):
            _check_link(self, number, link)
        for pair, routes in self.listed_routes.items():
            for rank in pair:
                require_range(f"{self.name}: routes are listed for rank", rank, 0, self.ranks - 1)
            for route in routes:
                _check_route(self, pair, route)

    @property
    def nodes(self) -> int:
        return self.ranks + len(self.switches)

    def routes(self, src: int, dst: int) -> tuple[Route, ...]:
        """The ways from a rank to another, in the order in which transfers number them."""
        if src == dst:
            return ()
        if (src, dst) in self.listed_routes:
            return self.listed_routes[src, dst]
        direct = tuple((number,) for number in self.between(src, dst))
        path = self._path_over_switches(src, dst)
        return (*direct, path) if path else direct

    def between(self, source: int, target: int) -> tuple[int, ...]:
        """The links from a node to another."""
        return tuple(self._between.get((source, target), ()))

    def __repr__(self) -> str:
        switches = f", {counted(len(self.switches), 'switch')}" if self.switches else ""
        links = counted(len(self.links), "link")
        return f"<Topology {self.name}: {counted(self.ranks, 'rank')}{switches}, {links}>"

    @cached_property
    def _between(self) -> Mapping[Pair, list[int]]:
        """The links from a node to another."""
        between: dict[Pair, list[int]] = defaultdict(list)
        for number, link in enumerate(self.links):
            between[link.source, link.target].append(number)
        return between

    @cached_property
    def _to_switches(self) -> Mapping[int, list[int]]:
        """The links from a node to any switch."""
        outgoing: dict[int, list[int]] = defaultdict(list)
        for number, link in enumerate(self.links):
            if link.target >= self.ranks:
                outgoing[link.source].append(number)
        return outgoing

    def _path_over_switches(self, src: int, dst: int) -> Route | None:
        """The path of fewest links over at least one switch; of equals, the first."""
        paths: dict[int, Route] = {}
        waiting = deque([src])
        while waiting:
            node = waiting.popleft()
            path = paths.get(node, ())
            if path and (node, dst) in self._between:
                return (*path, self._between[node, dst][0])
            for number in self._to_switches.get(node, ()):
                switch = self.links[number].target
                if switch not in paths:
                    paths[switch] = (*path, number)
                    waiting.append(switch)
        return None


def both_ways(links: Iterable[Link]) -> tuple[Link, ...]:
    """Each link, followed by its like in the other direction."""
    return tuple(
        each
        for link in links
        for each in (link, replace(link, source=link.target, target=link.source))
    )


def _check_nodes(t: Topology) -> None:
    require_name("the topology", t.name)
    require_range(f"{t.name}: ranks", t.ranks, 1, MOST_NODES)
    require_range(f"{t.name}: ranks and switches", t.nodes, 1, MOST_NODES)
    if len(set(t.switches)) < len(t.switches):
        raise BadInput(f"{t.name}: two switches have the same name: name each differently")
    for name in (*t.switches, *t.resources):
        require_name(f"{t.name}: a switch or resource", name)
    for name, rate in t.resources.items():
        require_range(f"{t.name}: the bandwidth of {name}", rate, 1)
    for name, least in (("send", 0), ("receive", 0), ("reduce", 1), ("copy", 1)):
        value = getattr(t.overheads, name)
        if value is not None:
            require_range(f"{t.name}: overhead {name}", value, least)


def _check_link(t: Topology, number: int, link: Link) -> None:
    what = f"{t.name}: link {number}"
    if not (
        0 <= link.source < t.nodes and 0 <= link.target < t.nodes and link.source != link.target
    ):
        raise BadInput(
            f"{what} goes from {link.source} to {link.target}: "
            f"join two of the nodes 0 to {t.nodes - 1}"
        )
    require_range(f"{what}: bandwidth", link.bandwidth, 1)
    require_range(f"{what}: latency", link.latency, 0)
    require_range(f"{what}: lanes", link.lanes, 1)
    require_name(f"{what}: kind", link.kind)
    for name in link.shares:
        if name not in t.resources:
            raise BadInput(
                f"{what} shares {name[:40]!r}, which is not among the resources: add it there"
            )


def _check_route(t: Topology, pair: Pair, route: Route) -> None:
    what = f"{t.name}: a route from {pair[0]} to {pair[1]}"
    for number in route:
        require_range(f"{what}: link", number, 0, len(t.links) - 1)
    nodes = [pair[0], *(t.links[number].target for number in route)]
    joined = all(t.links[number].source == node for node, number in zip(nodes, route, strict=False))
    if not (route and joined and nodes[-1] == pair[1]):
        raise BadInput(
            f"{what} is the links {list(route)[:9]}, which do not lead there one after another"
        )
    if any(node < t.ranks for node in nodes[1:-1]):
        raise BadInput(f"{what} passes through another rank: list ways over switches only")
    if len(set(nodes)) < len(nodes):
        raise BadInput(f"{what} passes through a switch twice: leave the loop out")
