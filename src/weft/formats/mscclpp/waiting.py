"""Who waits for whom: which wait a put is for, and, where nothing goes on, why."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from weft.errors import BadInput
from weft.formats.mscclpp.acts import Act, Acts, End
from weft.formats.mscclpp.operations import SIGNALS, WAITS
from weft.formats.mscclpp.races import Cell, cell_of, name_of, packets_read
from weft.formats.mscclpp.threadblock import Thread

Point = tuple[Thread, int]  # an act, by its place in the list of its threadblock
Need = tuple[str, Thread | None]  # what is waited for, and who would bring it

MOST_LINKS = 4  # of a chain of waits that is told


class Users:
    """Which threadblock signals, waits, acquires, releases and writes packets where."""

    def __init__(self, acts: Acts) -> None:
        self._acts = acts
        self._of: dict[tuple[str, End | Cell], Thread] = {}
        self._readers: dict[Cell, set[Thread]] = {}
        for thread, list_ in acts.threads.items():
            for act in list_:
                for kind, what in _uses(act):
                    self._add(kind, what, thread, act)
                for cell in packets_read(act):
                    self._readers.setdefault(cell, set()).add(thread)

    def _add(self, kind: str, what: End | Cell, thread: Thread, act: Act) -> None:
        """Two that count on one channel would take each other's signals."""
        other = self._of.setdefault((kind, what), thread)
        if isinstance(what, End) and other != thread:
            raise BadInput(
                f"{act.place}: {kind} on {what.type} {what.number} of gpu {what.rank}, where "
                f"threadblock {other[1]} does so too: give each its own"
            )

    def woken_by(self, act: Act) -> set[Thread]:
        """Who may have waited for it."""
        found: set[Thread | None] = set()
        for kind, what in _uses(act):
            if not isinstance(what, End):
                found |= self._readers.get(what, set())
            elif kind == "signal":
                found.add(self._of.get(("wait", self._acts.partners[what])))
            elif kind == "sem_release":
                found.add(self._of.get(("sem_acquire", what)))
        return {thread for thread in found if thread}

    def need(self, act: Act, missing: End | Cell) -> Need:
        """Say what an act lacks."""
        if not isinstance(missing, End):
            return f"the packets of {name_of(missing)}", self._of.get(("packets", missing))
        if act.name == "sem_acquire":
            return f"semaphore {missing.number}", self._of.get(("sem_release", missing))
        partner = self._acts.partners.get(missing)
        text = f"a signal of gpu {self._acts.peers[missing]}"
        return text, self._of.get(("signal", partner)) if partner else None


def _uses(act: Act) -> Iterator[tuple[str, End | Cell]]:
    for effect in act.effects:
        if effect.target.packets:
            yield from (
                ("packets", cell_of(effect.target, chunk)) for chunk in range(effect.target.size)
            )
    if not act.effects and act.name != "barrier":
        yield from ((act.name.removeprefix("rlx"), end) for end in act.ends)


def deliveries(acts: Acts) -> dict[Point, Point]:
    """For each act that moves to a peer: the wait there for the next signal that it gets."""
    waits: dict[End, list[Point]] = {}
    for thread, list_ in acts.threads.items():
        for at, act in enumerate(list_):
            for end in act.ends if act.name in WAITS else ():
                waits.setdefault(end, []).append((thread, at))
    found: dict[Point, Point] = {}
    for thread, list_ in acts.threads.items():
        for at, rank, end, number in _announced(list_, acts.peers):
            partner = acts.partners.get(end)
            matching = waits.get(partner, []) if partner and acts.peers[end] == rank else []
            if number < len(matching):
                found.setdefault((thread, at), matching[number])
    return found


def _announced(acts: list[Act], peers: dict[End, int]) -> Iterator[tuple[int, int, End, int]]:
    """Each act that moves to a gpu, with the end and the number of the next signal to it."""
    sent: dict[End, int] = {}
    pending: list[tuple[int, int]] = []
    for at, act in enumerate(acts):
        pending += [
            (at, effect.target.rank)
            for effect in act.effects
            if effect.target.rank != act.thread[0] and not effect.target.packets
        ]
        for end in act.ends if act.name in SIGNALS else ():
            number = sent.get(end, 0)
            sent[end] = number + 1
            yield from ((put, rank, end, number) for put, rank in pending if rank == peers[end])
            pending = [each for each in pending if each[1] != peers[end]]


def deadlock(first: Thread, current: Callable[[Thread], tuple[Act, Need] | None]) -> str:
    """Follow who waits for whom, to a circle or to what never comes."""
    seen: list[Thread] = []
    links: list[str] = []
    thread = first
    while thread not in seen:
        seen.append(thread)
        found = current(thread)
        if found is None:
            links.append("which is at its end")
            break
        act, (what, then) = found
        links.append(f"{act.place} ({act.name}) waits for {what}")
        if then is None:
            links.append("which never comes")
            break
        thread = then
    else:
        links = [*links[seen.index(thread) :], "and so in a circle"]
    if len(links) > MOST_LINKS + 1:
        links[MOST_LINKS:-1] = ["..."]
    return "deadlock: " + ", ".join(links)
