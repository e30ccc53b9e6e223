"""Schedules as bytes for core.cpp, for its fuzzer to start from; input.hpp says what they mean."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from random import Random

from twins.correct import correct_schedule
from twins.draw import any_schedule, damaged, good_schedule
from weft.schedule.replay import Mode, modes
from weft.schedule.schedule import NONE, Schedule

MOST_RANKS, MOST_SLOTS, MOST_SCRATCH = 8, 64, 16
MOST_ROWS, MOST_TRANSFERS, MOST_ROUTES = 255, 256, 4
MOST_PIECES = 64
WILD = 240  # from here on a byte is no number in range
RUN = 12  # bytes that say how it is run


def write_seeds(folder: Path, count: int) -> int:
    """Write seeds into a folder, one per file; return how many."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = list(seeds(count))
    for number, content in enumerate(contents):
        (folder / f"seed-{number:03}").write_bytes(content)
    return len(contents)


def seeds(count: int) -> Iterator[bytes]:
    """Algorithms, random schedules, and the same damaged, as far as they fit into bytes."""
    for seed in range(count):
        draw = Random(seed)
        made = good_schedule(draw), correct_schedule(draw, draw.randint(1, 4)), any_schedule(draw)
        for schedule in (*made, damaged(made[0], draw)):
            mode = draw.choice(modes(schedule))
            if fits(schedule):
                yield encoded(schedule, mode, draw)


def fits(schedule: Schedule) -> bool:
    c, t = schedule.collective, schedule.transfers
    return (
        c.ranks <= MOST_RANKS
        and c.scratch(0) < MOST_SLOTS
        and schedule.scratch < MOST_SCRATCH
        and len(c.pieces) <= MOST_PIECES
        and max(len(c.initial), len(c.final)) <= MOST_ROWS
        and len(t) <= MOST_TRANSFERS
        and all(
            int(t[name].min(initial=0)) >= 0 and int(t[name].max(initial=0)) < end
            for name, end in (
                ("src", c.ranks),
                ("dst", c.ranks),
                ("src_slot", schedule.slots),
                ("dst_slot", schedule.slots),
                ("route", MOST_ROUTES),
            )
        )
        and int(t["addend"].min(initial=0)) >= NONE
        and int(t["addend"].max(initial=0)) < schedule.slots
    )


def encoded(schedule: Schedule, mode: Mode, draw: Random) -> bytes:
    c = schedule.collective
    tables = [c.initial.tolist(), c.final.tolist(), mode.aliases.tolist()]
    numbers = [
        *(c.ranks - 1, c.scratch(0), schedule.scratch, int(c.heard_is_enough)),
        *(draw.randrange(8) for _ in range(RUN)),
        *(*map(len, tables), 0),
        *chain.from_iterable(chain.from_iterable(tables)),
        *chain.from_iterable(_transfers(schedule)),
    ]
    assert max(numbers) < WILD
    return bytes(numbers)


def _transfers(schedule: Schedule) -> Iterator[tuple[int, ...]]:
    last = NONE
    for src, dst, src_slot, dst_slot, addend, message, route in schedule.transfers.tolist():
        add = schedule.slots if addend == NONE else addend
        step = 0 if message == NONE else 1 if message == last else 2
        last = message if message != NONE else last
        yield src, dst, src_slot, dst_slot, add, step, route
