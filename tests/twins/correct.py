"""Random schedules that are right by construction: sums along random trees, copies along others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import numpy as np

from twins.draw import any_collective
from weft.collective import Collective
from weft.errors import BadInput
from weft.schedule.replay import Mode, replay
from weft.schedule.schedule import NONE, TRANSFER, Schedule

Place = tuple[int, int]  # rank, slot
Move = tuple[int, int, int, int, int]  # src, dst, src_slot, dst_slot, addend
SCRATCH = 3  # of each piece: two for sums in turn, one to pass copies on


def correct_schedule(draw: Random, ranks: int) -> Schedule:
    collective = any_collective(draw, ranks)
    while collective.ranks != ranks:
        collective = any_collective(draw, ranks)
    pieces = range(len(collective.pieces))
    moves = _merged(draw, [list(_moves(draw, collective, piece)) for piece in pieces])
    rows = np.array(list(_with_messages(draw, moves)), TRANSFER)
    schedule = Schedule("random", collective, rows, SCRATCH * len(pieces), in_place=False)
    return replace(schedule, in_place=_works_in_place(schedule))


def _works_in_place(schedule: Schedule) -> bool:
    try:
        aliases = schedule.collective.in_place
    except BadInput:
        return False
    return replay(schedule, Mode("in place", aliases))[0] is None


def _moves(draw: Random, collective: Collective, piece: int) -> Iterator[Move]:
    """What brings one piece from where it is to where it is wanted."""
    given, wanted = (
        [(row[0], row[1]) for row in table.tolist() if row[2] == piece]
        for table in (collective.initial, collective.final)
    )
    scratch = range(collective.scratch(SCRATCH * piece), collective.scratch(SCRATCH * (piece + 1)))
    held: list[Place] = list(given)
    draw.shuffle(held)
    while len(held) > 1:
        (src, source), (dst, addend) = held.pop(), held.pop()
        target = draw.choice(scratch[:2])
        yield src, dst, source, target, addend
        held.append((dst, target))
        draw.shuffle(held)
    draw.shuffle(wanted)
    for rank, slot in wanted:
        src, source = draw.choice(held)
        relay = draw.randrange(collective.ranks)
        if draw.random() < 0.3 and (relay, scratch[2]) not in held:
            yield src, relay, source, scratch[2], NONE
            held.append((relay, scratch[2]))
            src, source = held[-1]
        yield src, rank, source, slot, NONE
        held.append((rank, slot))


def _merged(draw: Random, lists: list[list[Move]]) -> Iterator[Move]:
    """All of them, each in its own order."""
    lists = [moves for moves in lists if moves]
    while lists:
        moves = draw.choice(lists)
        yield moves.pop(0)
        lists = [moves for moves in lists if moves]


def _with_messages(draw: Random, moves: Iterator[Move]) -> Iterator[tuple[int, ...]]:
    """Neighbours that go the same way travel together, or do not."""
    message, last = 0, (NONE, NONE)
    for src, dst, *slots in moves:
        message += (src, dst) != last or src == dst or draw.random() < 0.2
        yield src, dst, *slots, message, 0
        last = (src, dst)
