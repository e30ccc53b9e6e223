"""From what the native verifier found to what a person can act on: names, history, origin."""

from __future__ import annotations

from collections import Counter

from weft import _native
from weft.schedule.finding import MOST_LINES, Finding, Held, Write
from weft.schedule.replay import RULES, Mode, Place, replay
from weft.schedule.schedule import NONE, Schedule
from weft.schedule.text import place_text, transfer_text


def explain(schedule: Schedule, mode: Mode, found: _native.Finding) -> Finding:
    """Put a finding into words, and gather what led to it."""
    collective, transfers = schedule.collective, schedule.transfers
    number = None if found.transfer < 0 else found.transfer
    place = (found.rank, found.slot)
    exists = 0 <= found.rank < collective.ranks and 0 <= found.slot < schedule.slots
    history = story(schedule, mode, place, before=number) if exists else []
    got = _held(schedule, found.piece_got, found.got)
    want = _held(schedule, found.piece_want, found.want)
    rule, promise = RULES[found.rule]
    return Finding(
        schedule=f"{schedule.name}, {collective!r}",
        mode=mode.name,
        rule=rule,
        promise=promise,
        number=number,
        transfer=None if number is None else transfer_text(collective, transfers[number]),
        place=place_text(collective, *place),
        start=_start(schedule, mode, place),
        got=got,
        want=want,
        history=tuple(history),
        origin=tuple(_origin(schedule, mode, history)),
    )


def story(
    schedule: Schedule, mode: Mode, place: Place, *, before: int | None = None
) -> list[Write]:
    """The last writes to a slot, up to a transfer, the end, or the first broken rule."""
    _, writes = replay(schedule, mode, watched=place, before=before)
    return [
        Write(
            number,
            transfer_text(schedule.collective, schedule.transfers[number]),
            Held(schedule.collective.piece_name(piece), Counter(dict(counts))),
        )
        for number, piece, counts in writes
    ]


def _start(schedule: Schedule, mode: Mode, place: Place) -> Held | None:
    """What a slot holds before all transfers, if anything."""
    aliases = {(rank, slot): (rank, of) for rank, slot, of in mode.aliases.tolist()}
    rank, slot = aliases.get(place, place)
    initial = schedule.collective.initial
    rows = initial[(initial["rank"] == rank) & (initial["slot"] == slot)]
    return _held(schedule, int(rows["piece"][0]), [(rank, 1)]) if len(rows) else None


def _origin(schedule: Schedule, mode: Mode, history: list[Write]) -> list[Write]:
    """The writes that led to the last of a history, earliest first.

    From each, go on to what it read: to the addend if only that has counted a rank twice, else to
    the source.  Where a rank was counted twice, stop at the transfer that made it so.
    """
    origin: list[Write] = []
    while history and len(origin) < MOST_LINES:
        number, twice = history[-1].number, _counts_twice(history)
        src, dst, src_slot, _, addend, _, _ = schedule.transfers[number].tolist()
        read = [story(schedule, mode, (src, src_slot), before=number)]
        if addend != NONE:
            read.append(story(schedule, mode, (dst, addend), before=number))
        guilty = [writes for writes in read if _counts_twice(writes)]
        if twice and not guilty:
            break
        history = (guilty or read)[0]
        origin[:0] = history[-1:]
    return origin


def _counts_twice(writes: list[Write]) -> bool:
    return bool(writes) and any(times > 1 for times in writes[-1].held.ranks.values())


def _held(schedule: Schedule, piece: int, counts: list[tuple[int, int]]) -> Held | None:
    if piece < 0:
        return None
    return Held(schedule.collective.piece_name(piece), Counter(dict(counts)))
