"""What a plan's acts do, in an order in which they can happen, and whether every order is as good.

What a threadblock *knows* is the set of acts that are over for all its threads: an act of its own
after a `nop`; one of another threadblock after a wait, and a `nop`, for a signal that was sent by
somebody who knew it.  What a port does is known to who waits for a signal that went through the
port behind it, and after a flush.  A relaxed signal, or wait, tells that its gpu has entered the
call, and that reads are over, but nothing about what was written.

A put is done late, when the threadblock that waits for it has come to the wait, as far as that is
possible: so the list of moves is in the order in which a schedule was written.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from weft.errors import BadInput
from weft.formats.mscclpp.acts import Act, Acts, End
from weft.formats.mscclpp.operations import SIGNALS, WAITS
from weft.formats.mscclpp.races import Cell, Ledger, Memory, cell_of, packets_read
from weft.formats.mscclpp.threadblock import Thread
from weft.formats.mscclpp.waiting import Need, Point, Users, deadlock, deliveries


class Move(NamedTuple):
    """A chunk gets the sum of others; `group` tells what travels together."""

    sources: tuple[Cell, ...]
    target: Cell
    group: Point | None


@dataclass
class _State:
    """How far a threadblock is."""

    acts: list[Act]
    knows: int
    at: int = 0
    heard: int = 0  # known after the next nop
    running: int = 0  # acts of its own that are over after the next nop
    over: int = 0  # what else is over, though what it wrote may not be seen yet

    @property
    def act(self) -> Act | None:
        return self.acts[self.at] if self.at < len(self.acts) else None

    def synchronize(self) -> None:
        self.knows |= self.heard | self.running
        self.heard = self.running = 0


def moves_of(acts: Acts, ranks: int, memory: Memory) -> list[Move]:
    """Do the acts of all threadblocks."""
    run = _Run(acts, ranks, memory)
    run.go()
    run.check_end()
    return run.moves


class _Run:
    def __init__(self, acts: Acts, ranks: int, memory: Memory) -> None:
        self.moves: list[Move] = []
        self._acts, self._ranks = acts, ranks
        self._states = {t: _State(list_, 1 << t[0]) for t, list_ in acts.threads.items()}
        self._next_bit = 1 << ranks
        self._entries = self._next_bit - 1  # the bits before say that a rank has entered
        self._ledger = Ledger(memory)
        # What is known to who receives the next signals, takes the next tokens, flushes a port.
        # A signal tells it apart from what is merely over, for it may be relaxed.
        self._signals: dict[End, deque[tuple[int, int]]] = {end: deque() for end in acts.peers}
        self._tokens = {end: deque([0] * count) for end, count in acts.semaphores.items()}
        self._ports: dict[End, int] = {}
        self._meeting: dict[End, list[Thread]] = {}
        self._users = Users(acts)
        self._deliveries = deliveries(acts)
        self._senders: dict[Thread, set[Thread]] = {}
        for (sender, _), (waiter, _) in self._deliveries.items():
            self._senders.setdefault(waiter, set()).add(sender)
        self._turns: list[tuple[int, Thread]] = []
        self._held: list[Thread] = []  # by a put that might be early
        self._now = (0, (0, 0))

    def go(self) -> None:
        """Let everybody go on who can, in turn; when nobody can, do one put early."""
        for thread in self._states:
            heappush(self._turns, (0, thread))
        while self._turns or self._held:
            if self._turns:
                self._now = heappop(self._turns)
                while self._step(self._now[1], early=False):
                    pass
            else:
                thread = heappop(self._held)
                if self._step(thread, early=True):
                    self._wake(thread)
        for thread, state in self._states.items():
            if state.act:
                raise BadInput(deadlock(thread, self._current))

    def _wake(self, *threads: Thread) -> None:
        """Those behind the one whose turn it is come in this round, the others in the next."""
        turn, now = self._now
        for thread in threads:
            heappush(self._turns, (turn + (thread <= now), thread))

    def _step(self, thread: Thread, *, early: bool) -> bool:
        state = self._states[thread]
        act = state.act
        if act is None or self._missing(act):
            return False
        if act.name == "barrier":
            return self._meet(thread, act)
        if act.effects:
            waiter = self._deliveries.get((thread, state.at))
            if waiter and not early and self._states[waiter[0]].at < waiter[1]:
                heappush(self._held, thread)
                return False
            self._move(state, act, waiter)
        else:
            self._synchronize(state, act)
        state.at += 1
        self._wake(*self._users.woken_by(act), *self._senders.get(thread, ()))
        return True

    def _missing(self, act: Act) -> list[End | Cell]:
        """What an act waits for, but for barriers."""
        if act.name in WAITS:
            return [end for end in act.ends if not self._signals[end]]
        if act.name == "sem_acquire":
            return [end for end in act.ends if not self._tokens[end]]
        return [*self._ledger.missing(packets_read(act))]

    def _synchronize(self, state: _State, act: Act) -> None:
        if act.name == "nop":
            state.synchronize()
        for end in act.ends:
            if act.name in SIGNALS:
                self._signal(state, act, end)
            elif act.name in WAITS:
                known, over = self._signals[end].popleft()
                state.heard |= known if act.name == "wait" else known & self._entries
                state.over |= over
            elif act.name == "sem_acquire":
                state.heard |= self._tokens[end].popleft()
            elif act.name == "sem_release":
                self._tokens[end].append(state.knows)
            else:
                state.heard |= self._ports.get(end, 0)

    def _signal(self, state: _State, act: Act, end: End) -> None:
        partner = self._acts.partners.get(end)
        if partner is None:
            raise BadInput(
                f"{act.place} signals gpu {self._acts.peers[end]}, which has no channel of type "
                f"{end.type} back: connect both gpus"
            )
        if act.name == "rlxsignal":
            known = 1 << act.thread[0]
        else:
            known = state.knows | self._ports.get(end, 0)
        self._signals[partner].append((known, state.knows | state.over))

    def _move(self, state: _State, act: Act, waiter: Point | None) -> None:
        bit, known = self._next_bit, state.knows | self._ledger.told_by(packets_read(act))
        self._next_bit <<= 1
        for end in act.ends:
            known |= self._ports.get(end, 0)  # a port does one thing after the other
        for effect in act.effects:
            for chunk in range(effect.target.size):
                sources = tuple(cell_of(source, chunk) for source in effect.sources)
                target = cell_of(effect.target, chunk)
                for source in sources:
                    self._ledger.touch(source, act, bit, known, write=False)
                self._ledger.touch(target, act, bit, known, write=True)
                self.moves.append(Move(sources, target, waiter))
        for end in act.ends:
            self._ports[end] = bit | known
        state.heard |= known
        state.running |= 0 if act.ends else bit

    def _meet(self, thread: Thread, act: Act) -> bool:
        met = self._meeting.setdefault(act.ends[0], [])
        if thread in met:
            return False
        met.append(thread)
        if len(met) == act.count:
            known = 0
            for state in (self._states[each] for each in met):
                state.synchronize()
                state.at += 1
                known |= state.knows
            for each in met:
                self._states[each].knows = known
            self._wake(*met)
            for each in met:
                self._wake(*self._senders.get(each, ()))
            met.clear()
        return True

    def check_end(self) -> None:
        """What is left over would meet the next call."""
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
                    f"with {self._acts.semaphores[end]}: acquire it as often as you release it"
                )
        known, over = [0] * self._ranks, [0] * self._ranks
        for (rank, _), state in self._states.items():
            state.synchronize()
            known[rank] |= state.knows
            over[rank] |= state.knows | state.over
        self._ledger.check_end(known, over)

    def _current(self, thread: Thread) -> tuple[Act, Need] | None:
        """The act at which a threadblock is, and what it lacks."""
        act = self._states[thread].act
        if act is None:
            return None
        if act.name == "barrier":
            return act, (f"barrier {act.ends[0].number}", self._late(act))
        return act, self._users.need(act, self._missing(act)[0])

    def _late(self, barrier: Act) -> Thread | None:
        """One that has yet to come to the barrier."""
        for thread, state in self._states.items():
            ahead = state.acts[state.at :]
            comes = any(act.name == "barrier" and act.ends == barrier.ends for act in ahead)
            if comes and thread not in self._meeting[barrier.ends[0]]:
                return thread
        return None
