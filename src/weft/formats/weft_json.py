"""Our own files: schedules and topologies as JSON, typed and versioned; a reader trusts none of it.

The Struct classes below are the definition; `docs/reference/weft-json.md` is made from them.  In
every file unknown fields are refused, numbers are whole, and a field that may be left out has the
default shown.  A file may be compressed with gzip.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec
import numpy as np
from msgspec import Meta, Struct, field

from weft.checks import Fields, Natural, require_range
from weft.collective import WHOLE, Collective, Table
from weft.errors import BadInput
from weft.schedule.schedule import COLUMNS, NONE, TRANSFER, Schedule
from weft.topology.topology import Link, Overheads, Topology

VERSION = 1

_USUAL = {"addend": NONE, "message": NONE, "route": 0}  # columns that are all this may be left out

Column = list[Annotated[int, Meta(ge=-1, le=2**31 - 1)]]
Version = Annotated[int, Meta(description=f"{VERSION} for this version of the format.")]


class CollectiveFields(Fields, frozen=True):
    """What the schedule is for."""

    kind: Annotated[
        str,
        Meta(description="`allreduce`, `allgather`, ...; a `v` behind it for blocks of any sizes."),
    ]
    ranks: Annotated[Natural, Meta(description="How many ranks take part.")]
    root: Annotated[
        Natural | None, Meta(description="The root, of broadcast, reduce, scatter and gather.")
    ] = None
    weights: Annotated[
        tuple[tuple[Natural, ...], ...],
        Meta(description="How blocks are cut: one list of weights for all, or one list each."),
    ] = WHOLE


class TransferFields(Fields, frozen=True):
    """One number per transfer in each column, in list order."""

    src: Annotated[Column, Meta(description="The sending rank.")]
    dst: Annotated[Column, Meta(description="The receiving rank; it may be the sender.")]
    src_slot: Annotated[
        Column,
        Meta(
            description="The slot read, on `src`. Slots count inputs, then outputs, then scratch."
        ),
    ]
    dst_slot: Annotated[Column, Meta(description="The slot written, on `dst`.")]
    addend: Annotated[
        Column | None,
        Meta(
            description="The slot on `dst` that the source is added to; -1: none. Left out: all -1."
        ),
    ] = None
    message: Annotated[
        Column | None,
        Meta(
            description="Adjacent transfers of one number travel together; numbers rise; "
            "-1 travels alone. Left out: all -1."
        ),
    ] = None
    route: Annotated[
        Column | None, Meta(description="Which of the ways from `src` to `dst`. Left out: all 0.")
    ] = None


class ScheduleFile(Fields, frozen=True, kw_only=True, tag_field="format", tag="weft-schedule"):
    """An algorithm for one collective."""

    version: Version
    name: Annotated[str, Meta(description="The name of the algorithm.")]
    collective: CollectiveFields
    transfers: TransferFields
    scratch: Annotated[Natural, Meta(description="Scratch slots on each rank.")] = 0
    in_place: Annotated[
        bool, Meta(description="Claims to work with outputs in the memory of the inputs.")
    ] = True
    out_of_place: Annotated[
        bool, Meta(description="Claims to work with outputs in memory of their own.")
    ] = True


class RouteFields(Fields, frozen=True):
    """The ways from a rank to another, where they are not the default ones."""

    source: Annotated[Natural, Meta(description="A rank.")]
    target: Annotated[Natural, Meta(description="Another rank.")]
    ways: Annotated[
        tuple[tuple[Natural, ...], ...],
        Meta(description="Each way is a list of link numbers; transfers call them route 0, 1, ..."),
    ]


class TopologyFile(Fields, frozen=True, kw_only=True, tag_field="format", tag="weft-topology"):
    """A machine."""

    version: Version
    name: Annotated[str, Meta(description="The name of the machine.")]
    ranks: Annotated[Natural, Meta(description="How many ranks it has.")]
    links: Annotated[tuple[Link, ...], Meta(description="Its links, each in one direction.")] = ()
    switches: Annotated[tuple[str, ...], Meta(description="The names of its switches.")] = ()
    resources: Annotated[
        dict[str, Natural], Meta(description="What links share: name and bytes per second.")
    ] = field(default_factory=dict[str, int])
    routes: Annotated[
        tuple[RouteFields, ...], Meta(description="Routes other than the default ones.")
    ] = ()
    overheads: Overheads = Overheads()


def schedule_from_json(content: bytes) -> Schedule:
    """Return the schedule as it stands there, not yet verified."""
    file = _decode(content, ScheduleFile)
    c = file.collective
    collective = Collective.named(c.kind, c.ranks, c.root, c.weights)
    transfers = _rows(file.transfers)
    return Schedule(
        file.name, collective, transfers, file.scratch, file.in_place, file.out_of_place
    )


def schedule_to_json(schedule: Schedule) -> bytes:
    c, t = schedule.collective, schedule.transfers
    # msgspec leaves a default out only if it is the same object.
    weights = WHOLE if c.weights == WHOLE else c.weights
    columns = {
        name: t[name].tolist()
        for name in COLUMNS
        if name not in _USUAL or np.any(t[name] != _USUAL[name])
    }
    return _encode(
        ScheduleFile(
            version=VERSION,
            name=schedule.name,
            collective=CollectiveFields(c.name, c.ranks, c.root, weights),
            transfers=TransferFields(**columns),
            scratch=schedule.scratch,
            in_place=schedule.in_place,
            out_of_place=schedule.out_of_place,
        )
    )


def topology_from_json(content: bytes) -> Topology:
    file = _decode(content, TopologyFile)
    routes = {(each.source, each.target): each.ways for each in file.routes}
    if len(routes) < len(file.routes):
        raise BadInput("two entries of routes are for one pair: put all its ways into one")
    return Topology(
        file.name, file.ranks, file.links, file.switches, file.resources, routes, file.overheads
    )


def topology_to_json(topology: Topology) -> bytes:
    return _encode(
        TopologyFile(
            version=VERSION,
            name=topology.name,
            ranks=topology.ranks,
            links=topology.links,
            switches=topology.switches,
            resources=dict(topology.resources),
            routes=tuple(RouteFields(*pair, ways) for pair, ways in topology.listed_routes.items()),
            overheads=topology.overheads,
        )
    )


class _Head(Struct):
    format: str
    version: int


MOST_VALUES = 1 << 24  # in a file; each may take a hundred bytes while it is read

_Noun = TypeVar("_Noun", ScheduleFile, TopologyFile)


def _decode(content: bytes, kind: type[_Noun]) -> _Noun:
    wanted = kind.__struct_config__.tag
    require_range("the number of values", content.count(b","), 0, MOST_VALUES)
    try:
        head = msgspec.json.decode(content, type=_Head)
        if head.format != wanted:
            raise BadInput(f"format {head.format[:40]!r}: a {wanted} file is needed here")
        if head.version != VERSION:
            raise BadInput(
                f"version {head.version}: this weft reads version {VERSION} of the format"
            )
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise BadInput(f"not a valid {wanted} file: {problem}") from None


def _encode(file: ScheduleFile | TopologyFile) -> bytes:
    return msgspec.json.encode(file) + b"\n"


def _rows(columns: TransferFields) -> Table:
    count = len(columns.src)
    transfers = np.empty(count, TRANSFER)
    for name in COLUMNS:
        column = getattr(columns, name)
        if column is not None and len(column) != count:
            raise BadInput(f"transfers.{name} has {len(column)} numbers, transfers.src has {count}")
        transfers[name] = _USUAL[name] if column is None else column
    return transfers
