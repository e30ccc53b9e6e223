"""Random schedules, right and wrong, for twins to agree on; a draw is a seed."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from synthesis.promises import algorithms_for
from weft.collective import Collective
from weft.kinds import Kind
from weft.schedule.schedule import NONE, TRANSFER, Schedule

DAMAGES = (
    "drop",
    "repeat",
    "redirect",
    "resend",
    "reorder",
    "copy or reduce",
    "other addend",
    "other slot",
    "other message",
    "other route",
    "out of range",
)


def any_collective(draw: Random, most_ranks: int = 5) -> Collective:
    kind = draw.choice(list(Kind))
    ranks = draw.randint(1, most_ranks)
    uneven = kind in {Kind.SCATTER, Kind.ALLGATHER, Kind.ALLTOALL} and draw.random() < 0.3
    collective = Collective(kind, ranks, draw.randrange(ranks) if kind.rooted else None, uneven)
    if draw.random() < 0.3:
        cuts = [_weights(draw) for _ in range(collective.blocks)]
        twins = collective.kind is Kind.ALLTOALL  # Those that swap blocks cut them alike.
        n = ranks
        return collective.cut_blocks(
            [cuts[min(b, b % n * n + b // n)] if twins else cut for b, cut in enumerate(cuts)]
        )
    return collective.cut(_weights(draw))


def _weights(draw: Random) -> list[int]:
    return [draw.randint(1, 3) for _ in range(draw.randint(1, 2))]


def good_schedule(draw: Random, most_ranks: int = 7) -> Schedule:
    ranks = draw.randint(1, most_ranks)
    algorithm = draw.choice(algorithms_for(ranks))
    root = draw.randrange(ranks) if algorithm.kind.rooted else None
    return algorithm.build(Collective(algorithm.kind, ranks, root))


def any_schedule(draw: Random) -> Schedule:
    """A list without sense, whose numbers stray a little outside their ranges."""
    collective = any_collective(draw)
    scratch = draw.randint(0, 2)
    slots = collective.scratch(scratch)
    rows, message = [], 0
    for _ in range(draw.randint(0, 12)):
        src, dst = draw.randrange(collective.ranks), draw.randrange(collective.ranks)
        target = draw.randrange(slots)
        addend = draw.choice([NONE, NONE, target, draw.randrange(slots)])
        message += draw.random() < 0.5
        rows.append(
            (src, dst, draw.randrange(slots), target, addend, draw.choice([NONE, message]), 0)
        )
    schedule = _with(Schedule("any", collective, np.array(rows, TRANSFER), scratch), rows)
    return damaged(schedule, draw) if rows and draw.random() < 0.3 else schedule


def damaged(schedule: Schedule, draw: Random, damage: str | None = None) -> Schedule:
    """Change one thing about one transfer."""
    rows = [list(row) for row in schedule.transfers.tolist()]
    if not rows:
        return schedule
    at, other = draw.randrange(len(rows)), draw.randrange(len(rows))
    ranks, slots = schedule.collective.ranks, schedule.slots
    row = rows[at]
    match damage or draw.choice(DAMAGES):
        case "drop":
            del rows[at]
        case "repeat":
            rows.insert(at, list(row))
        case "redirect":
            row[1] = draw.randrange(ranks)
        case "resend":
            row[0] = draw.randrange(ranks)
        case "reorder":
            rows[at], rows[other] = rows[other], rows[at]
        case "copy or reduce":
            row[4] = NONE if row[4] != NONE else row[3]
        case "other addend":
            row[4] = draw.randrange(slots)
        case "other slot":
            row[draw.choice([2, 3])] = draw.randrange(slots)
        case "other message":
            row[5] = draw.choice([-2, NONE, 0, rows[other][5], rows[other][5] + 1])
        case "other route":
            row[6] = draw.choice([-1, 1, 2])
        case "out of range":
            column = draw.randrange(5)
            most = ranks if column < 2 else slots
            row[column] = draw.choice([-2, -1, most, most + 1, 2**31 - 1, -(2**31)])
    return _with(schedule, rows)


def _with(schedule: Schedule, rows: Sequence[Sequence[int]]) -> Schedule:
    transfers = np.array([tuple(row) for row in rows], TRANSFER)
    claims = (schedule.in_place, schedule.out_of_place)
    return Schedule(schedule.name, schedule.collective, transfers, schedule.scratch, *claims)
