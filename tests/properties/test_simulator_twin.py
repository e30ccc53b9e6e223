"""The simulator, with the lowering and the engine under it, agrees with its slow twin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twins.draw import good_schedule
from twins.engine import ARRIVAL, ROOM, START
from twins.lowering import Case, Path, Place, messages_of
from twins.simulate import NEVER, SECOND, Simulator, Trace
from weft import _native
from weft.schedule.lowering import elements_moved
from weft.schedule.replay import modes
from weft.schedule.schedule import NONE

Array = npt.NDArray[Any]
Slow = tuple[int, int, int]

FAILURE = np.dtype(
    [("time", "i8"), ("rank", "i4"), ("reason", "u1")]
    + [(name, "i4") for name in ("message", "segment", "peer", "cause")],
    align=True,
)
RECORD = np.dtype(
    [(name, "i8") for name in ("ready", "start", "end")]
    + [(name, "i4") for name in ("rank", "receives", "message", "segment", "follower")]
    + [(name, "i4") for name in ("cause", "resource")],
    align=True,
)
LINKS = 4  # resources besides the processors
RATES = (0, SECOND, SECOND, 3 * SECOND, 2 * SECOND // 7)

seeds = st.integers(0, 2**48)


def native(case: Case) -> Trace:
    plan = lowered(case)
    ways = plan.connections.view(np.int32).reshape(-1, 5)[:, :3].tolist()
    paths = [case.paths[src, dst, route] for src, dst, route in ways]
    ends = np.cumsum([len(resources) for *_, resources in paths])
    slow = [
        (*row, resource) for resource in sorted(case.slowdowns) for row in case.slowdowns[resource]
    ]
    trace = _native.simulate(
        plan,
        segments=case.segments,
        window=case.window,
        record=True,
        rates=np.array(case.rates, np.int64),
        overheads=table([case.overheads], 4),
        paths=table([(path[0], path[1], end) for path, end in zip(paths, ends, strict=True)], 3),
        resources=np.array([number for *_, numbers in paths for number in numbers], np.int64),
        slowdowns=table(slow, 4),
        deaths=table(case.deaths, 2),
        deadline=case.deadline,
    )
    return Trace(
        trace.rank_ends.view(np.int64).tolist(),
        trace.end,
        trace.events,
        trace.busy.view(np.int64).tolist(),
        trace.failures.view(FAILURE).tolist(),
        trace.records.view(RECORD).tolist(),
    )


def lowered(case: Case) -> _native.Plan:
    memory = [(rank, slot, place) for (rank, slot), (_, place) in case.memory.items()]
    return _native.lower(
        ranks=case.ranks,
        slots=1 + max([case.first_scratch, *(max(row[2:5]) for row in case.transfers)]),
        first_scratch=case.first_scratch,
        empty_too=case.empty_too,
        transfers=table(case.transfers, 7, np.int32),
        aliases=table(memory, 3, np.int32),
        elements=np.array(case.elements, np.int64),
    )


def table(rows: Iterable[tuple[int, ...]], width: int, kind: type = np.int64) -> Array:
    return np.array(list(rows), kind).reshape(-1, width)


def draw_case(draw: Random) -> Case:
    work = draw_good_work(draw) if draw.random() < 0.3 else draw_any_work(draw)
    ranks = work["ranks"]
    deaths = draw_deaths(draw, ranks) if draw.random() < 0.3 else {}
    resources = ranks + LINKS
    slowed = draw.sample(range(resources), draw.choice([0, 0, 1, 3]))
    slowdowns = {number: draw_slowdowns(draw) for number in slowed}
    for rank, time in deaths.items():
        before = [(start, min(until, time), by) for start, until, by in slowdowns.get(rank, [])]
        slowdowns[rank] = [slow for slow in before if slow[0] < slow[1]] + [(time, NEVER, 0)]
    return Case(
        **work,
        segments=draw.randint(1, 5),
        window=draw.randint(1, 4),
        rates=[draw.choice(RATES) for _ in range(LINKS)],
        overheads=(draw_time(draw), draw_time(draw), draw.choice(RATES), draw.choice(RATES)),
        paths={row[:2] + row[6:]: draw_path(draw, ranks) for row in work["transfers"]},
        slowdowns=slowdowns,
        deaths=[(time, rank) for rank, time in deaths.items()],
        deadline=draw.randint(0, 200) if draw.random() < 0.3 else NEVER,
    )


def draw_time(draw: Random) -> int:
    return draw.choice([0, 0, 1, 2, draw.randint(3, 30)])


def draw_path(draw: Random, ranks: int) -> Path:
    links = draw.sample(range(ranks, ranks + LINKS), draw.randint(0, 3))
    return draw_time(draw), draw.random() < 0.5, links


def draw_deaths(draw: Random, ranks: int) -> dict[int, int]:
    dead = draw.sample(range(ranks), draw.randint(1, min(2, ranks)))
    return {rank: draw.randint(0, 100) for rank in dead}


def draw_slowdowns(draw: Random) -> list[Slow]:
    """Some may touch, and the last may have no end."""
    moments = sorted(draw.sample(range(150), 2 * draw.randint(1, 3)))
    spans = list(zip(moments[::2], moments[1::2], strict=True))
    if len(spans) > 1 and draw.random() < 0.3:
        spans[1] = (spans[0][1], spans[1][1])
    if draw.random() < 0.2:
        spans[-1] = (spans[-1][0], NEVER)
    return [(start, until, draw.choice([0, 0, 2, 3, 7])) for start, until in spans]


def draw_good_work(draw: Random) -> dict[str, Any]:
    schedule = good_schedule(draw, most_ranks=5)
    collective = schedule.collective
    sizes = [draw.choice([0, 1, 7, 40]) for _ in range(collective.blocks)]
    memory = draw.choice(modes(schedule)).aliases.tolist()
    return {
        "ranks": collective.ranks,
        "transfers": schedule.transfers.tolist(),
        "elements": elements_moved(schedule, sizes).tolist(),
        "first_scratch": collective.scratch(0),
        "memory": {(rank, slot): (rank, place) for rank, slot, place in memory},
        "empty_too": False,
    }


def draw_any_work(draw: Random) -> dict[str, Any]:
    """A list without sense that can be lowered."""
    ranks, first_scratch = draw.randint(1, 4), draw.randint(1, 3)
    memory = {
        (rank, slot): (rank, 0)
        for rank in range(ranks)
        for slot in range(1, first_scratch)
        if draw.random() < 0.3
    }
    large = draw.choice([1] * 19 + [10_000_001])
    transfers = draw_list(draw, ranks, first_scratch + draw.randint(0, 3), memory)
    return {
        "ranks": ranks,
        "transfers": transfers,
        "elements": [draw.choice([0, 1, 7, 7, 30]) * large for _ in transfers],
        "first_scratch": first_scratch,
        "memory": memory,
        "empty_too": draw.random() < 0.3,
    }


def draw_list(
    draw: Random, ranks: int, slots: int, memory: dict[Place, Place]
) -> list[tuple[int, ...]]:
    """Messages that often pass on what came last, and read nothing that they write themselves."""
    rows: list[tuple[int, ...]] = []
    dst, target = draw.randrange(ranks), draw.randrange(slots)
    for message in range(draw.randint(0, 14)):
        passes_on = draw.random() < 0.6
        src, source = (dst, target) if passes_on else (draw.randrange(ranks), draw.randrange(slots))
        dst = draw.randrange(ranks)
        route = draw.randrange(2) if src != dst else 0
        parts = draw.choice([1, 1, 1, 2, 3])
        name = draw.choice([message, NONE]) if parts == 1 else message
        written: set[Place] = set()
        for _ in range(parts):
            if memory.get((src, source), (src, source)) not in written:
                target = draw.randrange(slots)
                addend = draw.choice([NONE, NONE, target, draw.randrange(slots)])
                rows.append((src, dst, source, target, addend, name, route))
                written.add(memory.get((dst, target), (dst, target)))
            source = draw.randrange(slots)
    return rows


@given(seeds)
@settings(max_examples=1500)
def test_twins_agree_on_any_run(seed):
    case = draw_case(Random(seed))
    assert native(case) == Simulator(case).run()


@given(seeds)
@settings(max_examples=20_000)
@pytest.mark.slow
def test_twins_agree_on_many_runs(seed):
    case = draw_case(Random(seed))
    assert native(case) == Simulator(case).run()


@given(seeds)
@settings(max_examples=500)
def test_every_list_ends_where_nothing_fails(seed):
    """With a window of 1 too, and whatever is slow: no rank waits for ever."""
    case = draw_case(Random(seed))
    slowdowns = {
        number: [slow for slow in slows if slow[1] != NEVER]
        for number, slows in case.slowdowns.items()
    }
    trace = native(replace(case, slowdowns=slowdowns, deaths=[], deadline=NEVER))
    assert max(trace.rank_ends) == trace.end
    assert trace.failures == []


def test_random_runs_meet_all_that_can_happen():
    """Else the agreement of the twins would say nothing about it."""
    causes: set[tuple[int, bool]] = set()
    reasons: set[tuple[int, int]] = set()
    together: set[tuple[bool, bool]] = set()
    for seed in range(2000):  # What is rarest comes about once in 650.
        case = draw_case(Random(seed))
        trace, messages = native(case), messages_of(case)
        reasons |= {(failure[2], min(failure[6], 0)) for failure in trace.failures}
        for *_, rank, _, message, _, follower, cause, resource in trace.records:
            causes.add((min(cause, 0), resource != NONE))
            if follower != NONE:
                together.add((messages[message].comes(rank), messages[follower].leaves(rank)))
    assert causes == {(cause, waited) for cause in (0, START, ARRIVAL, ROOM) for waited in (0, 1)}
    waits = {(reason, cause) for reason in (0, 1) for cause in (START, ARRIVAL, ROOM)}
    assert reasons == waits | {(0, 0)}  # 0: for another message
    assert together == {(comes, leaves) for comes in (0, 1) for leaves in (0, 1)}
