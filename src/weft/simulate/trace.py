"""What became of a simulated run: every segment, every resource, and the figures people compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from weft.collective import Collective, Table
from weft.kinds import Ints, Kind
from weft.schedule.schedule import NONE, Schedule
from weft.schedule.text import transfer_text
from weft.simulate.conditions import NEVER, Conditions
from weft.topology.topology import Topology
from weft.units import time_text

SECOND = 10**12

RECORD = np.dtype(
    [(name, "<i8") for name in ("ready", "start", "end")]
    + [(name, "<i4") for name in ("rank", "receives", "message", "segment", "follower")]
    + [(name, "<i4") for name in ("cause", "resource")],
    align=True,
)
FAILURE = np.dtype(
    [("time", "<i8"), ("rank", "<i4"), ("reason", "u1")]
    + [(name, "<i4") for name in ("message", "segment", "peer", "cause")],
    align=True,
)
MESSAGE = np.dtype(
    [(name, "<i4") for name in ("connection", "src", "dst", "first", "count", "sent", "received")]
)
PART = np.dtype([("elements", "<i8"), ("transfer", "<i4"), ("adds", "?")], align=True)
CONNECTION = np.dtype([(name, "<i4") for name in ("src", "dst", "route", "outgoing", "incoming")])

START, ARRIVAL, ROOM = -1, -2, -3  # causes; else a message of the same rank

# By kind: how often, and whether for all ranks but oneself, data crosses a rank's links.
_BUS: Mapping[Kind, tuple[int, bool]] = {
    Kind.ALLREDUCE: (2, True),
    Kind.ALLGATHER: (1, True),
    Kind.REDUCESCATTER: (1, True),
    Kind.ALLTOALL: (1, True),
    Kind.GATHER: (1, True),
    Kind.SCATTER: (1, True),
    Kind.BROADCAST: (1, False),
    Kind.REDUCE: (1, False),
    Kind.BARRIER: (0, False),
}


def bus_factor(collective: Collective) -> Fraction:
    """Busbw is algbw times this: 2(n-1)/n, (n-1)/n or 1, as nccl-tests has it."""
    times, shared = _BUS[collective.kind]
    return times * (Fraction(collective.ranks - 1, collective.ranks) if shared else Fraction(1))


@dataclass(frozen=True)
class Failure:
    """A rank that gave up: what it could not finish, and what that waited for."""

    time: int
    rank: int
    text: str
    transfer: int  # the first that was not done
    segment: int
    peer: int | None  # whom it waits for


@dataclass(frozen=True)
class Use:
    """A resource, and for how long it was busy."""

    name: str
    busy: int


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """A run of a schedule on a topology; times are whole picoseconds."""

    schedule: Schedule
    topology: Topology
    size: int  # bytes that a rank gives or gets, whichever is more
    segments: int
    conditions: Conditions
    time: int  # when the last segment was done
    rank_ends: Ints  # NEVER: it has not finished
    events: int
    uses: tuple[Use, ...]
    records: Table  # RECORD rows in the order of their ends: one or two messages' segment each
    messages: Table  # MESSAGE rows
    parts: Table  # PART rows: the transfers of the messages
    connections: Table  # CONNECTION rows
    failed: Table  # FAILURE rows

    @property
    def finished(self) -> bool:
        return bool((self.rank_ends != NEVER).all())

    @property
    def algbw(self) -> float:
        """Bytes per second: size / time."""
        return self.size * SECOND / self.time if self.time and self.finished else 0.0

    @property
    def busbw(self) -> float:
        """Bytes per second, to be compared with a link's."""
        return self.algbw * float(bus_factor(self.schedule.collective))

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        return tuple(self._failure(row) for row in self.failed.tolist())

    def transfer_of(self, message: int) -> int:
        """The first transfer of a message."""
        return int(self.parts["transfer"][self.messages["first"][message]])

    def message_text(self, message: int) -> str:
        """Say what a message is: `transfer 3, 0.in0 -> 1.out0 + in0`."""
        return f"transfer {self.transfer_of(message)}, {self.message_name(message)}"

    def message_name(self, message: int) -> str:
        """Say what it moves: `0.in0 -> 1.out0 + in0`, and of several the first."""
        first = self.schedule.transfers[self.transfer_of(message)]
        more = int(self.messages["count"][message]) - 1
        text = transfer_text(self.schedule.collective, first)
        return text + (f" and {more} more" if more else "")

    def crosses(self, message: int) -> bool:
        """Whether it goes to another rank."""
        return int(self.messages["connection"][message]) != NONE

    def bytes_of(self, message: int, segment: int) -> int:
        """How many bytes of a message are in a segment."""
        first, count = self.messages[["first", "count"]][message].tolist()
        return sum(
            elements * (segment + 1) // self.segments - elements * segment // self.segments
            for elements in self.parts["elements"][first : first + count].tolist()
        )

    def wait_text(self, cause: int, message: int) -> str:
        """Say what a segment of a message waited for last."""
        src, dst = self.messages[["src", "dst"]][message]
        if cause == START:
            return "nothing"
        if cause == ARRIVAL:
            return f"its arrival from rank {src}"
        return f"room at rank {dst}" if cause == ROOM else self.message_text(cause)

    def __repr__(self) -> str:
        end = (
            time_text(self.time) if self.finished else f"not finished after {time_text(self.time)}"
        )
        return f"<Trace {self.schedule.name} on {self.topology.name}, {self.size} bytes: {end}>"

    def _failure(self, row: tuple[int, ...]) -> Failure:
        time, rank, reason, message, segment, peer, cause = row
        why = "its deadline passed" if reason else f"rank {peer} had gone"
        waits = f"waiting for {self.wait_text(cause, message)}"
        if cause == START:
            waits = "under way" if peer == NONE else f"under way to rank {peer}"
        text = (
            f"rank {rank} gave up at {time_text(time)} because {why}: "
            f"{self.message_text(message)}, segment {segment} of {self.segments}, was {waits}"
        )
        return Failure(
            time, rank, text, self.transfer_of(message), segment, None if peer == NONE else peer
        )
