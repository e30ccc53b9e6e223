"""Jobs for the verifier with the right answers, as one file of 32-bit numbers for harness.cpp.

Rule, transfer, rank and slot are the slow twin's answer; all else is what the native verifier says,
once it agrees with that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from random import Random

import numpy as np

import twins.replay
from twins.draw import any_collective, any_schedule, damaged, good_schedule
from twins.replay import Found
from weft import _native
from weft.schedule.replay import MOST_WRITES, RULES, Mode, Place, Rows, Writes, modes, replay
from weft.schedule.schedule import NONE, TRANSFER, Schedule
from weft.schedule.text import parse_text
from weft.topology.topology import Link, Topology, both_ways
from weft.topology.zoo import find_topology

SEEDS = 300
ANY = -1  # piece that scratch may hold
UNSET = -7  # in `pieces`, where no transfer has written


@dataclass(frozen=True)
class Job:
    schedule: Schedule
    mode: Mode
    topology: Topology | None = None
    watched: Place | None = None
    wants_pieces: bool = True


def write_corpus(path: Path) -> None:
    numbers = [len(RULES), *(number for job in jobs() for number in _numbers(job))]
    path.write_bytes(np.array(numbers, np.int32).tobytes())


def jobs() -> Iterator[Job]:
    """Good, damaged and senseless schedules."""
    for seed in range(SEEDS):
        draw = Random(seed)
        good = good_schedule(draw)
        walk = _walk(draw)
        for schedule in (any_schedule(draw), good, walk):
            yield _job(schedule, draw)
        for schedule in (good, good, walk, walk):
            yield _job(damaged(schedule, draw), draw)
    for writes in (MOST_WRITES - 1, MOST_WRITES, MOST_WRITES + 2):
        yield _often_written(writes)
    yield _resumed_message()


def _resumed_message() -> Job:
    """A message with another transfer in its middle."""
    schedule = parse_text("x: allreduce ranks=2\n" + "0.in0 -> 1.out0\n" * 3)
    transfers = schedule.transfers.copy()
    transfers["message"] = [0, NONE, 0]
    broken = Schedule("x", schedule.collective, transfers)
    return Job(broken, modes(broken)[0])


def _often_written(times: int) -> Job:
    """A slot with a longer story than is remembered."""
    schedule = parse_text("x: allreduce ranks=2\n" + "0.in0 -> 1.out0 + in0\n" * times)
    return Job(schedule, modes(schedule)[0], watched=(1, schedule.collective.output(0)))


def _walk(draw: Random) -> Schedule:
    """Messages of up to four transfers that keep nearly every rule, but have no goal."""
    collective = any_collective(draw, 4)
    ranks, scratch = range(collective.ranks), range(draw.randint(1, 3))
    wants = {(rank, slot): piece for rank, slot, piece, *_ in collective.final.tolist()}
    wants |= {(rank, collective.scratch(slot)): ANY for rank in ranks for slot in scratch}
    holds = {(rank, slot): piece for rank, slot, piece, *_ in collective.initial.tolist()}
    rows: list[tuple[int, ...]] = []
    for message in range(draw.randint(1, 15)):
        src, dst = draw.choice(list(holds))[0], draw.choice(ranks)
        sources = [slot for rank, slot in holds if rank == src]
        route = int(draw.random() < 0.1) if src != dst else 0
        for _ in range(draw.randint(1, 4)):
            source = draw.choice(sources)
            piece = holds[src, source]
            target = draw.choice([at for at in wants if at[0] == dst and wants[at] in {ANY, piece}])
            alike = [slot for (rank, slot), held in holds.items() if (rank, held) == (dst, piece)]
            addend = draw.choice([NONE, *alike])
            rows.append((src, dst, source, target[1], addend, message, route))
            holds[target] = piece
            if src == dst and target[1] in sources and len(sources) > 1 and draw.random() < 0.9:
                sources.remove(target[1])
    return Schedule("walk", collective, np.array(rows, TRANSFER), len(scratch))


def _job(schedule: Schedule, draw: Random) -> Job:
    ranks = schedule.collective.ranks
    place = draw.randrange(ranks), draw.randrange(schedule.slots)
    return Job(
        schedule,
        draw.choice(modes(schedule)),
        draw.choice([None, None, *_topologies(ranks)]),
        draw.choice([None, place]),
        draw.random() < 0.5,
    )


def _topologies(ranks: int) -> list[Topology]:
    """Machines with none, one or two routes from a rank to another."""
    wires = both_ways(Link(0, rank, 1) for rank in range(1, ranks))
    hub = Topology("hub", ranks, wires + wires)
    return [hub, *(find_topology(f"{shape}:{ranks}") for shape in ("ring", "star", "full"))]


def _numbers(job: Job) -> Iterator[int]:
    """A job and its answer, in the order in which harness.cpp reads them."""
    collective, transfers = job.schedule.collective, job.schedule.transfers
    ways = _ways(job.topology) if job.topology else None
    pieces = np.full(len(transfers), UNSET, np.int32) if job.wants_pieces else None
    found, story = replay(job.schedule, job.mode, ways=ways, pieces=pieces, watched=job.watched)
    assert _named(found) == twins.replay.replay(job.schedule, job.mode.aliases, job.topology)

    yield from (collective.ranks, job.schedule.slots, collective.scratch(0))
    yield collective.heard_is_enough
    for table in (transfers, collective.initial, collective.final, job.mode.aliases):
        yield from _rows(table.tolist())
    yield from (0,) if ways is None else (1, *_rows(ways.tolist()))
    yield from _rows([job.watched] if job.watched else [])
    yield from (UNSET, 0) if pieces is None else (UNSET, len(pieces), *pieces.tolist())
    yield from _finding(found)
    yield from _story(story)


def _finding(found: _native.Finding | None) -> Iterator[int]:
    if found is None:
        yield from (0, 0, 0)
        return
    yield from (1, found.rule, found.transfer, found.rank, found.slot)
    yield from (found.piece_got, found.piece_want, *_rows(found.got), *_rows(found.want))


def _story(story: Writes) -> Iterator[int]:
    yield len(story)
    for number, piece, counts in story:
        yield from (number, piece, *_rows(counts))


def _named(found: _native.Finding | None) -> Found | None:
    if found is None:
        return None
    return Found(RULES[found.rule][0], found.transfer, found.rank, found.slot)


def _rows(rows: Collection[Collection[int]]) -> list[int]:
    """A table as harness.cpp reads it: how many rows, then these."""
    return [len(rows), *chain.from_iterable(rows)]


def _ways(topology: Topology) -> Rows:
    """How many routes there are for each pair of ranks that has one."""
    pairs = product(range(topology.ranks), repeat=2)
    rows = [(src, dst, len(topology.routes(src, dst))) for src, dst in pairs]
    return np.array([row for row in rows if row[-1]], np.int32).reshape(-1, 3)
