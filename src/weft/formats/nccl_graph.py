"""Rings and chains for NCCL_GRAPH_FILE, which replaces the search of NCCL on one host.

A channel of the ring graph (id 0, pattern 4) lists the ranks in the order of a ring, and NCCL
closes it.  A channel of the tree graph (id 1, pattern 3) lists them in the order of a chain from
its root, whose sums NCCL takes up and down.  That is all such a file can say: no tree that
branches, and nothing of who sends what when.

Rank r is taken to use GPU r.  Every channel gets the same share of the data, so a ring that carries
twice as much as another is there twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import lcm
from typing import NamedTuple

from weft.errors import BadInput
from weft.kinds import Kind
from weft.schedule.schedule import NONE, Schedule
from weft.schedule.verify import pieces_moved
from weft.topology.topology import Topology
from weft.units import GIGABYTE, counted

MOST_CHANNELS = 16  # NCCL doubles them, and older releases have 32
MOST_ELEMENTS = 4096  # of its XML reader, in all

USUAL_SPEED = 20 * GIGABYTE  # of a channel: what NCCL counts for a link of NVLink 2 or 3

_KINDS = (Kind.ALLREDUCE, Kind.ALLGATHER, Kind.REDUCESCATTER, Kind.BROADCAST, Kind.REDUCE)
_PATHS = {"nvlink": "NVL", "xgmi": "NVL", "pcie": "PHB"}  # by kind of link; others are SYS
_WORSE = ("NVL", "PHB", "SYS")

Order = tuple[int, ...]  # of the ranks
Wires = set[tuple[int, int]]


class _Shape(NamedTuple):
    """Which of NCCL's graphs it is."""

    id: int
    pattern: int
    closed: bool


RING, CHAIN = _Shape(0, 4, closed=True), _Shape(1, 3, closed=False)


def nccl_graph(schedule: Schedule, topology: Topology | None = None) -> bytes:
    """Return the XML of a schedule whose pieces all go round rings, or all along chains.

    Speeds and kinds of paths are the topology's: the slowest link, shared by the channels that use
    it; without one 20 GB/s over NVLink.  NCCL uses them to choose between algorithms.
    """
    collective = schedule.collective
    if collective.kind not in _KINDS or collective.ranks == 1:
        raise BadInput(
            f"{collective!r} is nothing that NCCL does by its graphs: give "
            f"{', '.join(_KINDS)} over 2 ranks or more"
        )
    if topology and topology.ranks != collective.ranks:
        raise BadInput(
            f"{schedule.name} is for {collective.ranks} ranks, {topology.name} has "
            f"{topology.ranks}: take a topology of that size"
        )
    shape, counts = _channels(schedule)
    channels = sum(counts.values())
    elements = 2 + channels * (1 + collective.ranks)
    if channels > MOST_CHANNELS or elements > MOST_ELEMENTS:
        raise BadInput(
            f"{schedule.name} takes {channels} channels of {counted(collective.ranks, 'rank')}: "
            f"NCCL has room for {MOST_CHANNELS} channels, and {MOST_ELEMENTS} elements in a file"
        )
    orders = [order for order, count in counts.items() for _ in range(count)]
    speed, path = _speed(shape, orders, topology) if topology else (Fraction(USUAL_SPEED), "NVL")
    return _xml(shape, orders, speed, path)


def _channels(schedule: Schedule) -> tuple[_Shape, dict[Order, int]]:
    """How many channels each ring or chain takes, so that all have the same share of the data."""
    shares: dict[tuple[_Shape, Order], Fraction] = defaultdict(Fraction)
    for piece, ways in _ways(schedule).items():
        _, low, high, total = schedule.collective.pieces[piece].tolist()
        shares[_channel(schedule, piece, ways)] += Fraction(high - low, total)
    shapes = {shape for shape, _ in shares}
    if len(shapes) > 1:
        raise BadInput(
            f"{schedule.name} has pieces on rings and pieces on chains: a file says one of both"
        )
    least = min(shares.values())
    scale = lcm(*((share / least).denominator for share in shares.values()))
    return shapes.pop(), {order: int(share / least * scale) for (_, order), share in shares.items()}


class _Ways(NamedTuple):
    """Between which ranks a piece goes: where it is added to what is there, and where not."""

    adding: Wires
    copying: Wires


def _ways(schedule: Schedule) -> dict[int, _Ways]:
    transfers, pieces = schedule.transfers, pieces_moved(schedule)
    leaves = transfers["src"] != transfers["dst"]
    ways: dict[int, _Ways] = defaultdict(lambda: _Ways(set(), set()))
    columns = zip(pieces[leaves].tolist(), transfers[leaves].tolist(), strict=True)
    for piece, (src, dst, _, _, addend, *_) in columns:
        (ways[piece].copying if addend == NONE else ways[piece].adding).add((src, dst))
    return dict(sorted(ways.items()))


def _channel(schedule: Schedule, piece: int, ways: _Ways) -> tuple[_Shape, Order]:
    """The ring or chain that a piece takes; a ring begins with rank 0, a chain with its root."""
    ranks, wires = schedule.collective.ranks, ways.adding | ways.copying
    if ring := _line(ranks, wires):
        first = ring.index(0)
        return RING, ring[first:] + ring[:first]
    up_again = {(dst, src) for src, dst in ways.adding}
    if up_again == ways.copying and len(up_again) < ranks and (chain := _line(ranks, up_again)):
        return CHAIN, chain
    raise BadInput(
        f"{schedule.name}: {_fork(wires, ranks)} {schedule.collective.piece_name(piece)}: "
        "NCCL's files know only rings, and chains that are summed up and back down"
    )


def _line(ranks: int, wires: Wires) -> Order | None:
    """The ranks in a row, if they are all in one; where it closes, it may begin anywhere."""
    after = dict(wires)
    begins = set(range(ranks)) - set(after.values())
    if len(after) < len(wires) or len(begins) > 1:
        return None
    line = [begins.pop() if begins else 0]
    while len(line) < ranks and line[-1] in after:
        line.append(after[line[-1]])
    return tuple(line) if len(set(line)) == ranks else None


def _fork(wires: Wires, ranks: int) -> str:
    """Say where a piece leaves the line."""
    for end, other, verb in ((0, 1, "sends to"), (1, 0, "receives from")):
        ends: dict[int, list[int]] = defaultdict(list)
        for wire in sorted(wires):
            ends[wire[end]].append(wire[other])
        for rank, others in sorted(ends.items()):
            if len(others) > 1:
                return f"rank {rank} {verb} ranks {others[0]} and {others[1]} the same"
    missing = set(range(ranks)) - {rank for wire in wires for rank in wire}
    return f"rank {min(missing)} has no part in" if missing else "no one line leads through all of"


def _speed(shape: _Shape, orders: Sequence[Order], topology: Topology) -> tuple[Fraction, str]:
    """What each channel has of the slowest link or resource, and the worst kind of path."""
    uses: dict[str | int, int] = defaultdict(int)
    for order in orders:
        for src, dst in _wires(shape, order):
            routes = topology.routes(src, dst)
            if not routes:
                raise BadInput(
                    f"{topology.name} has no way from rank {src} to rank {dst}, which NCCL needs: "
                    "take another topology"
                )
            for number in routes[0]:
                uses[number] += 1
                for name in topology.links[number].shares:
                    uses[name] += 1
    rates = {name: topology.resources[name] for name in uses if isinstance(name, str)}
    links = [topology.links[number] for number in uses if isinstance(number, int)]
    speed = min(
        Fraction(rates[use] if isinstance(use, str) else topology.links[use].bandwidth, count)
        for use, count in uses.items()
    )
    return speed, max((_PATHS.get(link.kind, "SYS") for link in links), key=_WORSE.index)


def _wires(shape: _Shape, order: Order) -> list[tuple[int, int]]:
    """From which rank to which NCCL sends along a channel."""
    if shape.closed:
        return list(zip(order, order[1:] + order[:1], strict=True))
    return [wire for a, b in pairwise(order) for wire in ((a, b), (b, a))]


def _xml(shape: _Shape, orders: Sequence[Order], speed: Fraction, path: str) -> bytes:
    """One space between attributes and no declaration, since NCCL's reader knows no more.

    GPUs are hexadecimal, with a prefix, so that older releases read them too.
    """
    words = f"{float(speed / GIGABYTE):.6g}"
    same = int(len(set(orders)) == 1)
    lines = [
        '<graphs version="1">',
        (
            f'  <graph id="{shape.id}" pattern="{shape.pattern}" crossnic="0" '
            f'nchannels="{len(orders)}" speedintra="{words}" speedinter="{words}" '
            f'latencyinter="0" typeintra="{path}" typeinter="PIX" samechannels="{same}">'
        ),
    ]
    for order in orders:
        gpus = (f'      <gpu dev="{rank:#x}"/>' for rank in order)
        lines += ["    <channel>", *gpus, "    </channel>"]
    return "\n".join([*lines, "  </graph>", "</graphs>", ""]).encode()
