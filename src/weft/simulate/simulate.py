"""Run a schedule on a machine that is only computed: the engines are real, the clock is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import index

import numpy as np

from weft import _native
from weft.checks import range_text, require_range, require_whole
from weft.errors import BadInput
from weft.schedule.lowering import elements_of, lower
from weft.schedule.replay import mode_named
from weft.schedule.schedule import Schedule
from weft.schedule.verify import pieces_moved
from weft.simulate.conditions import LATEST, NEVER, WINDOW, Conditions, Fault, Noise
from weft.simulate.machine import Connection, Machine, machine_of
from weft.simulate.misfortunes import misfortunes
from weft.simulate.sizes import block_sizes, is_there_already, most_held
from weft.simulate.trace import CONNECTION, FAILURE, MESSAGE, PART, RECORD, Trace, Use
from weft.topology.topology import Topology
from weft.units import counted

MOST_SUM = 1 << 62  # bytes that a schedule moves, so that no message's are out of range
MOST_SEGMENTS = 1 << 24
MOST_WORK = 1 << 28  # segments of all messages
MOST_RECORDED = 1 << 24  # the same, where each is remembered: some gigabytes
MOST_TRIED = 1 << 22  # the same, to find the best number of segments: some seconds
PATIENCE = 30 * 10**12  # without news, where ranks would wait for ever
IN_VAIN = 3  # doublings in a row, to look no further


@dataclass(frozen=True, eq=False)
class Simulation:
    """A schedule, a machine and a size, ready to run under different conditions."""

    schedule: Schedule
    topology: Topology
    size: int
    plan: _native.Plan
    machine: Machine
    most_segments: int  # as many as the largest transfer has bytes

    def run(
        self, segments: int | None, conditions: Conditions, *, record: int = MOST_RECORDED
    ) -> Trace:
        """Return what became of it; without `segments` it takes as many as are fastest.

        It refuses to record more than so many segments of messages; at 0 it records none.
        """
        if segments is None:
            segments = self.best_segments(conditions.window)
        require_whole("the number of segments", segments)
        segments = index(segments)
        self._require_segments(segments, record or MOST_WORK)
        done = self._with_noise(segments, conditions, record=record > 0)
        if conditions.deadline is None and _waits_for_ever(done, conditions):
            patient = replace(conditions, deadline=min(_last(done) + PATIENCE, LATEST))
            done = self._with_noise(segments, patient, record=record > 0)
        return self._trace(done, segments, conditions)

    def best_segments(self, window: int = WINDOW, most_tried: int = MOST_TRIED) -> int:
        """How many segments are fastest by the cost model, which says so of any schedule.

        More of them let the steps of a schedule overlap, and cost more messages.  So one doubles
        them, while that may gain 1 % by what is busiest, until three in a row did not, and then
        tries halfway between the best and its neighbours.  No try has more than so many segments
        of all messages.
        """
        best, least, segments = 1, NEVER, 1
        most = min(self.most_segments, MOST_SEGMENTS, most_tried // max(1, self._messages))
        while segments <= min(best << IN_VAIN, most):
            done = self._once(segments, Conditions(window), 0, record=False)
            if done.end * 100 < least * 99:
                best, least = segments, done.end
            if int(done.busy.view(np.int64).max()) * 100 >= least * 99:
                return best
            segments *= 2
        halfway = [n for n in (best * 3 // 4, best * 3 // 2) if best // 2 < n != best]
        for between in [n for n in halfway if n <= most]:
            done = self._once(between, Conditions(window), 0, record=False)
            if done.end * 100 < least * 99:
                best, least = between, done.end
        return best

    def _with_noise(self, segments: int, conditions: Conditions, *, record: bool) -> _native.Trace:
        """Run it with pauses until its end, which may be later because of them."""
        noise = conditions.noise
        horizon = 32 * noise.every if noise else 0
        while True:
            done = self._once(segments, conditions, horizon, record=record)
            if noise is None or _last(done) <= horizon:
                return done
            horizon = 2 * _last(done)

    def _once(
        self, segments: int, conditions: Conditions, horizon: int, *, record: bool
    ) -> _native.Trace:
        wrong = misfortunes(self.topology, self.machine, conditions, horizon)
        try:
            return _native.simulate(
                self.plan,
                segments=segments,
                window=conditions.window,
                record=record,
                rates=self.machine.rates,
                overheads=self.machine.overheads,
                paths=self.machine.paths,
                resources=self.machine.resources,
                slowdowns=wrong.slowdowns,
                deaths=wrong.deaths,
                deadline=NEVER if conditions.deadline is None else conditions.deadline,
            )
        except _native.TimeOverflow:
            raise BadInput(
                f"{self.schedule.name} on {self.topology.name} would take more than 26 days: "
                "simulate less data or a faster machine"
            ) from None

    def _trace(self, done: _native.Trace, segments: int, conditions: Conditions) -> Trace:
        return Trace(
            schedule=self.schedule,
            topology=self.topology,
            size=self.size,
            segments=segments,
            conditions=conditions,
            time=done.end,
            rank_ends=done.rank_ends.view(np.int64),
            events=done.events,
            uses=tuple(map(Use, self.machine.names, done.busy.view(np.int64).tolist())),
            records=done.records.view(RECORD),
            messages=self.plan.messages.view(MESSAGE),
            parts=self.plan.parts.view(PART),
            connections=self.plan.connections.view(CONNECTION),
            failed=done.failures.view(FAILURE),
        )

    @property
    def _messages(self) -> int:
        return len(self.plan.messages.view(MESSAGE))

    def _require_segments(self, segments: int, most_work: int) -> None:
        most = min(self.most_segments, MOST_SEGMENTS)
        if not 1 <= segments <= most:
            raise BadInput(
                f"{counted(segments, 'segment')} of transfers that have "
                f"{counted(self.most_segments, 'byte')} at most: give {range_text(1, most)}"
            )
        if segments * self._messages > most_work:
            raise BadInput(
                f"{self.schedule.name} in {counted(segments, 'segment')} is more than {most_work} "
                "messages: give fewer segments"
            )


def prepare(
    schedule: Schedule, topology: Topology, size: int | Sequence[int], *, in_place: bool = False
) -> Simulation:
    """Prove and lower a schedule for a machine, where a rank gives or gets `size` bytes.

    That is the size that nccl-tests counts by.  A list has the bytes of every block instead.
    """
    return next(sweep(schedule, topology, [size], in_place=in_place))


def sweep(
    schedule: Schedule,
    topology: Topology,
    sizes: Iterable[int | Sequence[int]],
    *,
    in_place: bool = False,
) -> Iterator[Simulation]:
    """Prepare it for one size after another; it is proved once.

    It is lowered once too, as long as the same transfers move nothing: those are left out.
    """
    collective = schedule.collective
    if collective.ranks != topology.ranks:
        raise BadInput(
            f"{schedule.name} is for {collective.ranks} ranks, {topology.name} has "
            f"{topology.ranks}: take a topology of that size"
        )
    mode = mode_named(schedule, "in place" if in_place else "out of place")
    pieces, there = pieces_moved(schedule), is_there_already(schedule, mode)
    lowered: tuple[_native.Plan, Machine] | None = None
    for size in sizes:
        blocks = block_sizes(schedule, size)
        elements = elements_of(schedule, pieces, blocks)
        elements[there] = 0
        moved = int(elements.sum(dtype=float))
        require_range(f"what {schedule.name} moves, in bytes,", moved, 0, MOST_SUM)
        if not lowered or not (plan := lowered[0].resized(elements)):
            plan = lower(schedule, mode, elements)
            lowered = plan, machine_of(topology, _connections(plan))
        yield Simulation(
            schedule=schedule,
            topology=topology,
            size=most_held(collective, blocks),
            plan=plan,
            machine=lowered[1],
            most_segments=max(1, int(elements.max(initial=1))),
        )


def simulate(  # noqa: PLR0913 - what a run meets is said by keyword
    schedule: Schedule,
    topology: Topology,
    size: int | Sequence[int],
    *,
    in_place: bool = False,
    segments: int | None = None,
    window: int = WINDOW,
    noise: Noise | None = None,
    faults: Sequence[Fault] = (),
    deadline: int | None = None,
) -> Trace:
    """Predict what a schedule does on a machine: when, how fast, and what waits for what.

    `size` is the bytes that a rank gives or gets, whichever is more; or a list has those of every
    block.  Times are whole picoseconds.  Without `segments` it takes as many as are fastest.
    """
    conditions = Conditions(window, noise, faults, deadline)
    return prepare(schedule, topology, size, in_place=in_place).run(segments, conditions)


def _connections(plan: _native.Plan) -> list[Connection]:
    rows: list[Connection] = plan.connections.view(CONNECTION)[["src", "dst", "route"]].tolist()
    return rows


def _last(done: _native.Trace) -> int:
    """When the last thing happened."""
    return max(done.end, int(done.failures.view(FAILURE)["time"].max(initial=0)))


def _waits_for_ever(done: _native.Trace, conditions: Conditions) -> bool:
    """Whether a rank has neither finished, nor given up, nor died."""
    ended = {fault.rank for fault in conditions.faults if fault.dies}
    ended |= set(done.failures.view(FAILURE)["rank"].tolist())
    ended |= set(np.flatnonzero(done.rank_ends.view(np.int64) != NEVER).tolist())
    return len(ended) < len(done.rank_ends.view(np.int64))
