"""The same algorithm on each of several equal parts of every block."""

from __future__ import annotations

import numpy as np

from weft.checks import require_range
from weft.collective import MOST_PIECES, Collective
from weft.kinds import Ints
from weft.schedule.schedule import NONE, Schedule


def in_parts(schedule: Schedule, parts: int) -> Schedule:
    """Cut every block into so many parts, and do the schedule with each, transfer by transfer."""
    require_range("the number of parts", parts, 1, MOST_PIECES)
    if parts == 1:
        return schedule
    c, t = schedule.collective, schedule.transfers
    whole = Collective(c.kind, c.ranks, c.root, c.uneven, tuple(w * parts for w in c.weights))
    slots = _slots(schedule, whole, parts)
    table = np.repeat(t, parts)
    part = np.tile(np.arange(parts), len(t))
    table["src_slot"] = slots[table["src"], table["src_slot"], part]
    table["dst_slot"] = slots[table["dst"], table["dst_slot"], part]
    adds = table["addend"] != NONE
    table["addend"][adds] = slots[table["dst"], table["addend"], part][adds]
    table["message"] = np.where(table["message"] == NONE, NONE, table["message"] * parts + part)
    # Transfers of a message stay adjacent: sort by message and part where there is one.
    first = np.arange(len(t))
    numbered = t["message"] != NONE
    starts = np.ones(len(t), bool)
    starts[1:] = ~(numbered[1:] & (t["message"][1:] == t["message"][:-1]))
    group = np.maximum.accumulate(np.where(starts, first, 0))
    order = np.lexsort((np.repeat(first, parts), part, np.repeat(group, parts)))
    return Schedule(
        schedule.name,
        whole,
        table[order],
        schedule.scratch * parts,
        schedule.in_place,
        schedule.out_of_place,
    )


def _slots(schedule: Schedule, whole: Collective, parts: int) -> Ints:
    """The slot of each part of what was in a slot: by rank, slot and part."""
    c = schedule.collective
    block = c.pieces["block"]
    first = np.searchsorted(block, block)  # of the pieces of its block
    size = np.bincount(block)[block]
    piece = np.arange(len(block)) - first
    part = np.arange(parts)
    # Of each old piece its parts among the new pieces, and of those the slots on each rank.
    new_piece = (first * parts + piece)[:, None] + part * size[:, None]
    slots = np.full((c.ranks, schedule.slots, parts), NONE)
    scratch = np.arange(schedule.scratch)
    slots[:, c.scratch(0) :] = whole.scratch(scratch[:, None] * parts + part)
    for old, new in ((c.initial, whole.initial), (c.final, whole.final)):
        slot_of = np.full((c.ranks, len(whole.pieces)), NONE)
        slot_of[new["rank"], new["piece"]] = new["slot"]
        slots[old["rank"], old["slot"]] = slot_of[old["rank"][:, None], new_piece[old["piece"]]]
    return slots
