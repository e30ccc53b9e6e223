"""The native replay of a schedule: what breaks a rule, what a transfer moves, what a slot held."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from weft import _native
from weft.collective import ALIAS, Table
from weft.errors import BadInput
from weft.schedule.schedule import Schedule
from weft.topology.topology import Topology

Rows = npt.NDArray[np.int32]
Place = tuple[int, int]  # rank, slot
Writes = list[tuple[int, int, list[tuple[int, int]]]]  # transfer, piece, (rank, times)

RULES: tuple[tuple[str, str], ...] = tuple(_native.rules())  # name and promise, in order
MOST_WRITES: int = _native.MOST_WRITES  # to a watched slot that a replay remembers


class Mode(NamedTuple):
    """A way to call a schedule, by its name and the slots that are the same memory."""

    name: str
    aliases: Table


def modes(schedule: Schedule) -> list[Mode]:
    """The ways to call it that a schedule claims to support."""
    claimed = [Mode("out of place", np.empty(0, ALIAS))] if schedule.out_of_place else []
    return (
        [*claimed, Mode("in place", schedule.collective.in_place)] if schedule.in_place else claimed
    )


def mode_named(schedule: Schedule, name: str) -> Mode:
    """The mode of that name, if the schedule claims it."""
    claimed = {mode.name: mode for mode in modes(schedule)}
    if name not in claimed:
        raise BadInput(f"{schedule.name} does not work {name}: it works {' and '.join(claimed)}")
    return claimed[name]


def replay(
    schedule: Schedule,
    mode: Mode,
    *,
    ways: Rows | None = None,
    pieces: Rows | None = None,
    watched: Place | None = None,
    before: int | None = None,
) -> tuple[_native.Finding | None, Writes]:
    """Return the first finding, and the last writes to the watched slot.

    `pieces` receives the piece that each transfer moves; `before` that transfer the replay ends.
    """
    collective = schedule.collective
    try:
        return _native.verify(
            ranks=collective.ranks,
            slots=schedule.slots,
            first_scratch=collective.scratch(0),
            heard_is_enough=collective.heard_is_enough,
            transfers=table_rows(schedule.transfers[:before]),
            initial=table_rows(collective.initial),
            final=table_rows(collective.final),
            aliases=table_rows(mode.aliases),
            ways=ways,
            pieces=pieces,
            watched=watched,
        )
    except _native.TooManySums as problem:
        raise BadInput(f"{schedule.name} cannot be checked: {problem}") from None


def ways_of(topology: Topology, schedule: Schedule) -> Rows:
    """How many routes the topology has for each pair of ranks that the schedule joins."""
    ranks = schedule.collective.ranks
    if ranks != topology.ranks:
        raise BadInput(
            f"{schedule.name} is for {ranks} ranks, {topology.name} has {topology.ranks}: "
            "take a topology of that size"
        )
    t = schedule.transfers
    inside = (t["src"] >= 0) & (t["src"] < ranks) & (t["dst"] >= 0) & (t["dst"] < ranks)
    pairs = np.unique(t["src"][inside].astype(np.int64) * ranks + t["dst"][inside])
    rows = [
        (*divmod(pair, ranks), len(topology.routes(*divmod(pair, ranks))))
        for pair in pairs.tolist()
    ]
    return np.array(rows, np.int32).reshape(-1, 3)


def table_rows(table: Table) -> Rows:
    """A structured array of 32-bit columns as the matrix that it is."""
    width = len(table.dtype.names or ())
    return np.ascontiguousarray(table).view(np.int32).reshape(len(table), width)
