"""What a plan's acts do, in an order in which they can happen, and whether every order is as good.

Each act has a bit.  What a threadblock *knows* is the set of acts that are over for all its
threads: an act of its own is known after a `nop`, one of another threadblock after a wait, and a
`nop`, for a signal that was sent by somebody who knew it.  Two acts that touch a chunk, one of them
writing, need the later to know the earlier; else they race.  What a port does is known to who
waits for a signal that went through the port behind it, and after a flush.  Packets bring their
own flags: a reader waits for each.  A relaxed signal says only that its gpu has entered the call.

A put is done late, when the threadblock that waits for it has come to the wait, as far as that is
possible: so the list of moves is in the order in which a schedule was written.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from weft.errors import BadInput
from weft.formats.mscclpp.memory import Range
from weft.formats.mscclpp.operations import PACKETS, SIGNALS, WAITS
from weft.formats.mscclpp.reading import Act, Acts, End
from weft.formats.mscclpp.threadblock import Thread

Cell = tuple[int, str, int]  # rank, buffer, chunk

MOST_LINKS = 4  # of a chain of waits that is told


class Move(NamedTuple):
    """A chunk gets the sum of others; `group` tells what travels together."""

    sources: tuple[Cell, ...]
    target: Cell
    group: tuple[Thread, int] | None


@dataclass
class _State:
    """How far a threadblock is."""

    acts: list[Act]
    knows: int
    at: int = 0
    heard: int = 0  # known after the next nop
    running: int = 0  # acts of its own that are over after the next nop

    @property
    def act(self) -> Act | None:
        return self.acts[self.at] if self.at < len(self.acts) else None

    def synchronize(self) -> None:
        self.knows |= self.heard | self.running
        self.heard = self.running = 0


@dataclass
class _Cell:
    """Who touched a chunk."""

    written: tuple[int, Act] | None = None
    read: list[tuple[int, Act]] = field(default_factory=list[tuple[int, Act]])


class Memory(NamedTuple):
    """Which chunks are one: what is added to the index of an input or output of a rank."""

    offsets: dict[tuple[int, str], int] | None  # where inputs and outputs are one memory
    double_scratch: bool

    def same(self, cell: Cell) -> Cell:
        rank, buffer, index = cell
        if self.offsets is None or buffer not in "io":
            return cell
        return rank, "io", index + self.offsets[rank, buffer]


class Run:
    """Does the acts of all threadblocks."""

    def __init__(self, acts: Acts, ranks: int, memory: Memory):
        self.moves: list[Move] = []
        self._acts, self._memory = acts, memory
        self._states = {t: _State(list_, 1 << t[0]) for t, list_ in acts.threads.items()}
        self._next_bit = ranks  # the first ones say that a rank has entered
        self._signals: dict[End, deque[int]] = {}
        self._tokens = {end: deque([0] * count) for end, count in acts.semaphores.items()}
        self._ports: dict[End, int] = {}
        self._cells: dict[Cell, _Cell] = {}
        self._packets: dict[Cell, int] = {}
        self._meeting: dict[End, list[Thread]] = {}
        self._users = _users(acts)
        self._deliveries = _deliveries(acts)
        self._run()
        self._check_end(ranks)

    def _run(self) -> None:
        """Go on with whoever can, first without doing puts early, then with one."""
        while any(state.act for state in self._states.values()):
            progress = [self._advance(thread) for thread in self._states]
            if not any(progress) and not any(self._step(t, early=True) for t in self._states):
                raise BadInput(self._stuck())

    def _advance(self, thread: Thread) -> bool:
        went = False
        while self._step(thread, early=False):
            went = True
        return went

    def _step(self, thread: Thread, *, early: bool) -> bool:
        state = self._states[thread]
        act = state.act
        if act is None or not self._can(thread, state, act, early=early):
            return False
        if act.name == "barrier":
            return self._meet(thread, act)
        state.at += 1
        if act.effects:
            self._move(state, act)
        elif act.name in SIGNALS:
            self._signal(state, act)
        elif act.name in WAITS:
            for end in act.ends:
                state.heard |= self._signals[end].popleft()
        elif act.name == "sem_acquire":
            for end in act.ends:
                state.heard |= self._tokens[end].popleft()
        elif act.name == "sem_release":
            for end in act.ends:
                self._tokens[end].append(state.knows)
        elif act.name == "flush":
            for end in act.ends:
                state.heard |= self._ports.get(end, 0)
        else:
            state.synchronize()
        return True

    def _can(self, thread: Thread, state: _State, act: Act, *, early: bool) -> bool:
        if act.name in WAITS:
            return all(self._signals.get(end) for end in act.ends)
        if act.name == "sem_acquire":
            return all(self._tokens[end] for end in act.ends)
        if act.name == "barrier":
            return thread not in self._meeting.get(act.ends[0], [])
        if _packets_read(act) - self._packets.keys():
            return False
        delivery = self._deliveries.get((thread, state.at))
        return early or delivery is None or self._states[delivery[0]].at >= delivery[1]

    def _meet(self, thread: Thread, act: Act) -> bool:
        met = self._meeting.setdefault(act.ends[0], [])
        met.append(thread)
        if len(met) == act.count:
            states = [self._states[each] for each in met]
            for state in states:
                state.synchronize()
                state.at += 1
            known = 0
            for state in states:
                known |= state.knows
            for state in states:
                state.knows = known
            met.clear()
        return True

    def _signal(self, state: _State, act: Act) -> None:
        for end in act.ends:
            partner = self._acts.partners.get(end)
            if partner is None:
                raise BadInput(
                    f"{act.place} signals gpu {self._acts.peers[end]}, which has no channel back "
                    f"of type {end.type}: connect both gpus"
                )
            known = 1 << act.thread[0] if act.name == "rlxsignal" else state.knows
            if end.type == "port" and act.name == "signal":
                known |= self._ports.get(end, 0)
            self._signals.setdefault(partner, deque()).append(known)

    def _move(self, state: _State, act: Act) -> None:
        bit = 1 << self._next_bit
        self._next_bit += 1
        knows = state.knows
        for cell in _packets_read(act):
            knows |= self._packets[cell]
        for end in act.ends:
            knows |= self._ports.get(end, 0)
        delivery = self._deliveries.get((act.thread, state.at - 1))
        for effect in act.effects:
            for chunk in range(effect.target.size):
                sources = tuple(_cell(source, chunk) for source in effect.sources)
                target = _cell(effect.target, chunk)
                for source in sources:
                    self._touch(source, act, bit, knows, writes=False)
                self._touch(target, act, bit, knows, writes=True)
                self.moves.append(Move(sources, target, delivery))
        for end in act.ends:
            self._ports[end] = self._ports.get(end, 0) | bit | state.knows
        if not act.ends:
            state.running |= bit
        state.heard |= knows

    def _touch(self, cell: Cell, act: Act, bit: int, knows: int, *, writes: bool) -> None:
        rank, buffer, _ = cell
        if buffer == PACKETS:
            self._touch_packet(cell, act, bit | knows, writes=writes)
            return
        safe = buffer == "s" and self._memory.double_scratch
        if rank != act.thread[0] and not safe and not knows >> rank & 1:
            raise BadInput(
                f"{act.place} reaches {_name(cell)} before gpu {rank} is known to have entered the "
                "call: let that gpu signal first"
            )
        state = self._cells.setdefault(self._memory.same(cell), _Cell())
        for other, their_act in [state.written] * (state.written is not None) + (
            state.read if writes else []
        ):
            if other != bit and not knows & other:
                _race(cell, act, their_act, "writes" if writes else "reads")
        if writes:
            state.written, state.read = (bit, act), []
        else:
            state.read.append((bit, act))

    def _touch_packet(self, cell: Cell, act: Act, known: int, *, writes: bool) -> None:
        if writes and cell in self._packets:
            raise BadInput(
                f"{act.place} writes the packets of {_name(cell)} a second time: a reader cannot "
                "tell them apart, use other chunks"
            )
        if writes:
            self._packets[cell] = known

    def _check_end(self, ranks: int) -> None:
        for end, left in self._signals.items():
            if left:
                raise BadInput(
                    f"gpu {end.rank} never waits for {len(left)} of the signals on its {end.type} "
                    f"channel {end.number}: the next call would take them for its own"
                )
        for end, tokens in self._tokens.items():
            if len(tokens) != self._acts.semaphores[end]:
                raise BadInput(
                    f"semaphore {end.number} of gpu {end.rank} ends with {len(tokens)}, but starts "
                    f"with {self._acts.semaphores[end]}: acquire as often as you release"
                )
        known = [0] * ranks
        for (rank, _), state in self._states.items():
            state.synchronize()
            known[rank] |= state.knows
        for (rank, buffer, index), cell in self._cells.items():
            if cell.written and cell.written[0] & ~known[rank]:
                raise BadInput(
                    f"{cell.written[1].place} writes {_name((rank, buffer, index))}, and that gpu "
                    "may leave the call before: let it wait"
                )
        for rank, buffer, index in self._packets:
            if buffer == PACKETS and self._cells.keys() & {
                (rank, "s", 2 * index),
                (rank, "s", 2 * index + 1),
            }:
                raise BadInput(
                    f"the packets of {_name((rank, buffer, index))} lie where other data is: "
                    "use scratch for one of both"
                )

    def _stuck(self) -> str:
        """Follow who waits for whom, to a circle or to what never comes."""
        thread = next(t for t, state in self._states.items() if state.act)
        seen: list[Thread] = []
        links: list[str] = []
        while thread not in seen:
            seen.append(thread)
            act = self._states[thread].act
            if act is None:
                links.append("which is at its end")
                break
            what, then = self._lacks(thread, act)
            links.append(f"{act.place} ({act.name}) waits for {what}")
            if then is None:
                links.append("which never comes")
                break
            thread = then
        else:
            links = links[seen.index(thread) :]
            links.append("and so in a circle")
        if len(links) > MOST_LINKS + 1:
            links[MOST_LINKS:-1] = ["..."]
        return "deadlock: " + ", ".join(links)

    def _lacks(self, thread: Thread, act: Act) -> tuple[str, Thread | None]:
        if act.name in WAITS:
            end = next(end for end in act.ends if not self._signals.get(end))
            text = f"a signal of gpu {self._acts.peers[end]}"
            partner = self._acts.partners.get(end)
            return text, self._users.get(("signal", partner)) if partner else None
        if act.name == "sem_acquire":
            end = next(end for end in act.ends if not self._tokens[end])
            return f"semaphore {end.number}", self._users.get(("sem_release", end))
        if act.name == "barrier":
            late = [
                other
                for other, state in self._states.items()
                if other != thread
                and any(a.name == "barrier" and a.ends == act.ends for a in state.acts[state.at :])
                and other not in self._meeting[act.ends[0]]
            ]
            return f"barrier {act.ends[0].number}", late[0] if late else None
        cell = min(_packets_read(act) - self._packets.keys())
        return f"the packets of {_name(cell)}", self._users.get(("packets", cell))


def _users(acts: Acts) -> dict[tuple[str, End | Cell | None], Thread]:
    """Which threadblock uses what in which way; two may not, for counts would mix."""
    users: dict[tuple[str, End | Cell | None], Thread] = {}
    for thread, list_ in acts.threads.items():
        for act in list_:
            if act.name == "barrier":
                continue
            kind = act.name.removeprefix("rlx")
            for end in act.ends if not act.effects else ():
                if users.setdefault((kind, end), thread) != thread:
                    first = users[kind, end][1]
                    raise BadInput(
                        f"{act.place}: {kind} on {end.type} {end.number}, which is used so by "
                        f"threadblock {first} too: give each its own"
                    )
            for effect in act.effects:
                if effect.target.buffer == PACKETS:
                    for chunk in range(effect.target.size):
                        users["packets", _cell(effect.target, chunk)] = thread
    return users


def _deliveries(acts: Acts) -> dict[tuple[Thread, int], tuple[Thread, int]]:
    """For each act that moves to a peer: which wait of whom is for the next signal there."""
    waits: dict[End, list[tuple[Thread, int]]] = {}
    for thread, list_ in acts.threads.items():
        for at, act in enumerate(list_):
            for end in act.ends if act.name in WAITS else ():
                waits.setdefault(end, []).append((thread, at))
    found: dict[tuple[Thread, int], tuple[Thread, int]] = {}
    for thread, list_ in acts.threads.items():
        sent: dict[End, int] = {}
        pending: list[tuple[int, int]] = []  # act and gpu
        for at, act in enumerate(list_):
            pending += [
                (at, effect.target.rank)
                for effect in act.effects
                if effect.target.rank != thread[0] and effect.target.buffer != PACKETS
            ]
            for end in act.ends if act.name in SIGNALS else ():
                number = sent.get(end, 0)
                sent[end] = number + 1
                partner, peer = acts.partners.get(end), acts.peers[end]
                matching = waits.get(partner, []) if partner else []
                for sender, rank in pending:
                    if rank == peer and number < len(matching):
                        found.setdefault((thread, sender), matching[number])
                pending = [each for each in pending if each[1] != peer]
    return found


def _packets_read(act: Act) -> set[Cell]:
    return {
        _cell(source, chunk)
        for effect in act.effects
        for source in effect.sources
        if source.buffer == PACKETS
        for chunk in range(source.size)
    }


def _cell(range_: Range, chunk: int) -> Cell:
    return range_.rank, range_.buffer, range_.index + chunk


def _name(cell: Cell) -> str:
    rank, buffer, index = cell
    name = {"i": "input", "o": "output", "io": "buffer"}.get(buffer, "scratch")
    return f"{name} chunk {index} of gpu {rank}"


def _race(cell: Cell, act: Act, other: Act, does: str) -> None:
    raise BadInput(
        f"race: {act.place} ({act.name}) {does} {_name(cell)}, and nothing orders that after "
        f"{other.place} ({other.name}): signal and wait, with a nop before and after"
    )
