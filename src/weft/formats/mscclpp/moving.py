"""What acts move, as messages between threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from weft.formats.mscclpp.acts import Acts
from weft.formats.mscclpp.meetings import Meetings
from weft.formats.mscclpp.memory import Range
from weft.formats.mscclpp.operations import MOVES, SIGNALS, Effect
from weft.formats.mscclpp.slots import Slots
from weft.formats.threads import Message, Row

Landings = dict[tuple[int, int], int]  # by step and target gpu


def messages_of(acts: Acts, slots: Slots, landings: Landings) -> list[Message]:
    """What each act moves; what is put one after another and lands at one wait goes together.

    It lands at once where `landings` does not say at which step.
    """
    found: list[Message] = []
    for thread in acts.threads():
        together: dict[tuple[int, int, int], int] = {}  # by landing, from, to: its number
        for step in thread:
            act = acts.steps[step]
            is_sum = act.effects and not MOVES[act.name].each
            if is_sum or not (act.effects or act.name in SIGNALS | {"nop"}):
                together.clear()
            for source, target, addend in (p for e in act.effects for p in _parts(e)):
                rows = _rows(slots, source, target, addend)
                landed = landings.get((step, target.rank), step)
                key = landed, source.rank, target.rank
                if key in together:
                    first = found[together[key]]
                    found[together[key]] = replace(first, rows=first.rows + rows, sent=step)
                    continue
                if not is_sum:
                    together[key] = len(found)
                found.append(Message(source.rank, target.rank, rows, step, landed))
    return found


def _parts(effect: Effect) -> Iterator[tuple[Range, Range, Range | None]]:
    """Source, target, addend: a sum, addend by addend, into the target."""
    # What is already there is an addend first: else it would be written before it is read.
    first, *others = sorted(effect.sources, key=lambda source: source != effect.target)
    if not others:
        yield first, effect.target, None
    for source in others:
        yield source, effect.target, first
        first = effect.target


def _rows(slots: Slots, source: Range, target: Range, addend: Range | None) -> tuple[Row, ...]:
    addends = slots.of(addend) if addend else [None] * target.size
    return tuple(map(Row, slots.of(source), slots.of(target), addends))


def landings_of(acts: Acts, meetings: Meetings) -> Landings:
    """For each act that moves to a peer: the wait there for the next signal that it gets."""
    found: Landings = {}
    for thread in acts.threads():
        next_wait: dict[int, int] = {}
        for step in reversed(thread):
            act = acts.steps[step]
            for end in act.ends if act.name in SIGNALS else ():
                next_wait[acts.peers[end]] = meetings.wait_of[step, end]
            for effect in act.effects:
                target = effect.target
                if target.rank in next_wait and target.rank != act.rank and not target.packets:
                    found[step, target.rank] = next_wait[target.rank]
    return found
