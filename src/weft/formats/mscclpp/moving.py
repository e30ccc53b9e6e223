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

# By step and target gpu: the step at which it lands, and the turn there.
Landings = dict[tuple[int, int], tuple[int, int]]


def messages_of(acts: Acts, slots: Slots, landings: Landings) -> list[Message]:
    """What each act moves; what is put one after another and lands at one wait goes together.

    It lands at once where `landings` does not say at which step.
    """
    found: list[Message] = []
    turns: list[int] = []
    for thread in acts.threads():
        together: dict[tuple[int, ...], int] = {}  # by landing, turn, from, to: its number
        for step in thread:
            act = acts.steps[step]
            is_sum = act.effects and not MOVES[act.name].each
            if is_sum or not (act.effects or act.name in SIGNALS | {"nop"}):
                together.clear()
            for source, target, addend in (p for e in act.effects for p in _parts(e)):
                rows = _rows(slots, source, target, addend)
                landed, turn = landings.get((step, target.rank), (step, 0))
                key = landed, turn, source.rank, target.rank
                if key in together:
                    first = found[together[key]]
                    found[together[key]] = replace(first, rows=first.rows + rows, sent=step)
                    continue
                if not is_sum:
                    together[key] = len(found)
                found.append(Message(source.rank, target.rank, rows, step, landed))
                turns.append(turn)
    return [found[number] for number in sorted(range(len(found)), key=turns.__getitem__)]


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
    """For each act that moves to a peer: the wait there for the next signal that it gets.

    One act may wait for several signals: their order is that of what they tell of.
    """
    found: Landings = {}
    for thread in acts.threads():
        next_wait: dict[int, tuple[int, int]] = {}
        for step in reversed(thread):
            act = acts.steps[step]
            for end in act.ends if act.name in SIGNALS else ():
                wait = meetings.wait_of[step, end]
                turn = acts.steps[wait].ends.index(acts.partners[end])
                next_wait[acts.peers[end]] = wait, turn
            for effect in act.effects:
                target = effect.target
                if target.rank in next_wait and target.rank != act.rank and not target.packets:
                    found[step, target.rank] = next_wait[target.rank]
    return found
