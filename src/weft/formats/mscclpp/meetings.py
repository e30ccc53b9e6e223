"""Which act waits for which: the k-th signal is for the k-th wait, and so on.

Each end of a channel, and each side of a semaphore, has one threadblock, so who meets is known
before anything is done.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from weft.errors import BadInput
from weft.formats.mscclpp.acts import Acts, End
from weft.formats.mscclpp.memory import Range
from weft.formats.mscclpp.operations import SEMAPHORES, SIGNALS, WAITS
from weft.formats.mscclpp.threadblock import Thread
from weft.units import counted

Uses = dict[tuple[str, End], list[int]]


class Meetings(NamedTuple):
    """For each step the steps of others that it waits for."""

    tells: list[list[int]]  # and then knows what they knew
    relaxed: list[list[int]]  # which only says that their gpu has come so far
    wait_of: dict[tuple[int, End], int]  # by signal, and its end

    @property
    def all(self) -> list[list[int]]:
        return [[*told, *relaxed] for told, relaxed in zip(self.tells, self.relaxed, strict=True)]


def meetings_of(acts: Acts) -> Meetings:
    """Pair the acts of a plan; refuse those that are alone."""
    count = len(acts.steps)
    made = Meetings([[] for _ in range(count)], [[] for _ in range(count)], {})
    uses = _uses(acts)
    _signals(acts, uses, made)
    for end, tokens in acts.semaphores.items():
        releases, acquires = uses["sem_release", end], uses["sem_acquire", end]
        _require_partners(acts, releases, acquires, f"{end} is released", "acquired")
        for release, acquire in zip(releases, acquires[tokens:], strict=False):
            made.tells[acquire].append(release)
    _barriers(acts, made)
    _packets(acts, made)
    return made


def _uses(acts: Acts) -> Uses:
    """The steps that signal, wait, release and acquire at each end."""
    uses: Uses = defaultdict(list)
    for step, act in enumerate(acts.steps):
        if act.name in SIGNALS | WAITS | SEMAPHORES:
            for end in act.ends:
                name = act.name.removeprefix("rlx")
                known = uses[name, end]
                if known and acts.steps[known[0]].thread != act.thread:
                    raise BadInput(
                        f"{act} is on {end}, as is {acts.steps[known[0]]}: give each threadblock "
                        "its own"
                    )
                known.append(step)
    return uses


def _signals(acts: Acts, uses: Uses, made: Meetings) -> None:
    for end, peer in acts.peers.items():
        signals, partner = uses["signal", end], acts.partners.get(end)
        if signals and partner is None:
            raise BadInput(
                f"{acts.steps[signals[0]]} is for gpu {peer}, which has no {end.type} channel "
                "back: connect both gpus"
            )
        waits = uses["wait", partner] if partner else []
        _require_partners(acts, signals, waits, f"{end} signals gpu {peer}", "awaited there")
        if partner is None:
            _require_partners(acts, [], uses["wait", end], f"gpu {peer} signals {end}", "awaited")
        for signal, wait in zip(signals, waits, strict=True):
            made.wait_of[signal, end] = wait
            is_relaxed = any(acts.steps[step].name.startswith("rlx") for step in (signal, wait))
            (made.relaxed if is_relaxed else made.tells)[wait].append(signal)


def _require_partners(
    acts: Acts, first: list[int], second: list[int], does: str, is_done: str
) -> None:
    if len(first) != len(second):
        longer = max(first, second, key=len)
        alone = acts.steps[longer[min(len(first), len(second))]]
        raise BadInput(
            f"{does} {counted(len(first), 'time')}, and is {is_done} "
            f"{counted(len(second), 'time')}: {alone} is alone, give it a partner"
        )


def _barriers(acts: Acts, made: Meetings) -> None:
    """An act that arrives is followed by one that goes on when all have arrived."""
    visits: dict[End, dict[Thread, list[int]]] = {}
    for step, act in enumerate(acts.steps):
        if act.name == "barrier":
            visits.setdefault(act.ends[0], {}).setdefault(act.thread, []).append(step)
    for end, of_thread in visits.items():
        rounds = {len(steps) for steps in of_thread.values()}
        counts = {acts.steps[step].count for steps in of_thread.values() for step in steps}
        if len(rounds) > 1 or counts != {len(of_thread)}:
            raise BadInput(
                f"{end} is for {counted(min(counts), 'threadblock')}, and is met by "
                f"{len(of_thread)}, up to {counted(max(rounds), 'time')}: let so many come, "
                "equally often"
            )
        for visit in range(max(rounds)):
            arrived = [steps[visit] for steps in of_thread.values()]
            for step in arrived:
                made.tells[step + 1].extend(arrived)


def _packets(acts: Acts, made: Meetings) -> None:
    """Packets bring flags of their own: their reader waits until they are there."""
    writers: dict[Range, int] = {}
    for step, act in enumerate(acts.steps):
        for cell in _cells(act.packets[1]):
            if cell in writers:
                raise BadInput(
                    f"{act} writes the packets of {cell} a second time: a reader cannot tell them "
                    "apart, use other chunks"
                )
            writers[cell] = step
    for step, act in enumerate(acts.steps):
        for cell in _cells(act.packets[0]):
            if cell not in writers:
                raise BadInput(f"{act} waits for the packets of {cell}: write them somewhere")
            made.tells[step].append(writers[cell])
        for effect in act.effects if writers else ():
            _require_apart(writers, (*effect.sources, effect.target))


def _require_apart(packets: dict[Range, int], ranges: Iterable[Range]) -> None:
    """A packet is data and flag, so it takes the room of two chunks."""
    for cell in _cells(each for each in ranges if each.buffer == "s" and not each.packets):
        packet = cell._replace(first=cell.first // 2, packets=True)
        if packet in packets:
            raise BadInput(
                f"the packets of {packet} lie on its chunk {cell.first}, which holds other data: "
                "put one of them elsewhere"
            )


def _cells(ranges: Iterable[Range]) -> Iterator[Range]:
    for each in ranges:
        for chunk in range(each.first, each.end):
            yield each._replace(first=chunk, size=1)
