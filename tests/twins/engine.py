"""The engine's slow twin: it remembers what it was told, and asks each time anew what that allows.

Rule 1: all that happens in a moment is told before anybody decides.
Rule 2: of what has its data, the lowest (segment, message) has the first room.
Rule 3: the last room of a way is kept for its lowest segment that is not yet sent.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from twins.lowering import NONE, Case, Message, Way, followers_of, needs_of

Key = tuple[int, int]  # segment, message
START, ARRIVAL, ROOM = -1, -2, -3  # what a segment waited for last, if not for a message


@dataclass
class Job:
    """A segment that is sent or applied, perhaps with one of another message."""

    rank: int
    segment: int
    message: int
    cause: int
    follower: int = NONE
    ready: int = 0
    start: int = 0
    resource: int = NONE  # that it waited for last

    def sent(self, messages: list[Message]) -> list[int]:
        both = [number for number in (self.message, self.follower) if number != NONE]
        return [number for number in both if messages[number].leaves(self.rank)]


class Engine:
    """One rank: what it may do, by what it was told."""

    def __init__(self, rank: int, messages: list[Message], case: Case) -> None:
        self.rank, self.messages, self.case = rank, messages, case
        self.needs, self.followers = needs_of(messages), followers_of(messages, case.first_scratch)
        self.mine = [number for number, m in enumerate(messages) if rank in m.way[:2]]
        zeros = dict.fromkeys(self.mine, 0)
        self.next, self.done, self.arrived, self.cause = (dict(zeros) for _ in range(4))
        self.room = dict.fromkeys(case.paths, case.window)
        self.ready: defaultdict[Way, list[Key]] = defaultdict(list)  # but for room
        self.touched: list[Way] = []  # to look at in the next poll, in this order
        self.parked: list[Key] = []  # what may be applied
        self.ended: set[Key] = set()
        self.failed = False
        for number in self.mine:
            self.consider(number)

    def finished(self) -> bool:
        return all(done == self.case.segments for done in self.done.values())

    def lacks(self, number: int) -> list[int]:
        """What a message's next segment waits for, but for room."""
        segment = self.next[number]
        comes = self.messages[number].comes(self.rank) and self.arrived[number] <= segment
        missing = [n for n in self.needs[self.rank, number] if self.done[n] <= segment]
        return missing + [ARRIVAL] * comes

    def consider(self, number: int, cause: int = START) -> None:
        if self.next[number] == self.case.segments or self.lacks(number):
            return
        self.cause[number] = cause
        message = self.messages[number]
        leaves = message.leaves(self.rank)
        (self.ready[message.way] if leaves else self.parked).append((self.next[number], number))
        self.touch(message.way)

    def touch(self, way: Way) -> None:
        if self.ready[way] and way not in self.touched:
            self.touched.append(way)

    def advance(self, number: int) -> None:
        self.next[number] += 1
        self.consider(number)

    def arrive(self, number: int) -> None:
        self.arrived[number] += 1
        if self.arrived[number] == self.next[number] + 1:
            self.consider(number, ARRIVAL)

    def credit(self, way: Way) -> None:
        self.room[way] += 1
        self.touch(way)

    def end(self, number: int, segment: int) -> None:
        """It counts when all earlier segments have ended too."""
        self.ended.add((segment, number))
        while (self.done[number], number) in self.ended:
            self.done[number] += 1
            for other in self.mine:
                needs = number in self.needs[self.rank, other]
                if needs and self.next[other] + 1 == self.done[number]:
                    self.consider(other, number)

    def poll(self) -> list[Job]:
        """All that is to be done now."""
        jobs: list[Job] = []
        self.parked.sort()
        for segment, number in self.parked:  # It may grow meanwhile.
            jobs.append(Job(self.rank, segment, number, self.cause[number]))
            jobs[-1].follower = self.take_follower(segment, number)
            self.advance(number)
        for way in self.touched:
            jobs += self.send(way)
        self.parked, self.touched = [], []
        return jobs

    def take_follower(self, segment: int, number: int) -> int:
        """What waits for nothing but this to be applied is done together with it."""
        follower = self.followers.get((self.rank, number), NONE)
        if follower == NONE or self.next[follower] != segment or self.lacks(follower) != [number]:
            return NONE
        message = self.messages[follower]
        if message.leaves(self.rank):
            if not (self.case.paths[message.way][1] and self.has_room(segment, follower)):
                return NONE
            self.room[message.way] -= 1
        self.advance(follower)
        return follower

    def has_room(self, segment: int, number: int) -> bool:
        way = self.messages[number].way
        unsent = [n for n in self.mine if self.messages[n].way == way]
        lowest = min((self.next[n], n) for n in unsent if self.next[n] < self.case.segments)
        return self.room[way] > (lowest != (segment, number))

    def send(self, way: Way) -> list[Job]:
        jobs = []
        while self.ready[way]:
            segment, number = min(self.ready[way])
            if not self.has_room(segment, number):
                break
            self.ready[way].remove((segment, number))
            self.room[way] -= 1
            jobs.append(Job(self.rank, segment, number, self.cause[number]))
            self.advance(number)
        for _, number in self.ready[way]:
            self.cause[number] = ROOM
        return jobs

    def first_of(self, number: int, peer: int) -> int:
        """The first segment that is not done, or that still needs the peer if there is one."""
        message = self.messages[number]
        if peer == NONE:
            return self.done[number]
        if message.leaves(self.rank) and message.way[1] == peer:
            return self.next[number]
        if message.comes(self.rank) and message.way[0] == peer:
            return self.arrived[number]
        return self.case.segments

    def awaited(self, segment: int, number: int) -> int:
        message = self.messages[number]
        if self.next[number] > segment:
            return START
        if message.comes(self.rank) and self.arrived[number] <= segment:
            return ARRIVAL
        missing = [n for n in self.needs[self.rank, number] if self.done[n] <= segment]
        full = message.leaves(self.rank) and not self.has_room(segment, number)
        return max(missing, default=ROOM if full else START)

    def blame(self, peer: int) -> tuple[int, ...] | None:
        """The lowest that is not done, or still needs the peer, and what it waits for."""
        firsts = [(self.first_of(number, peer), number) for number in self.mine]
        segment, number = min(firsts, default=(self.case.segments, NONE))
        if segment == self.case.segments:
            return None
        src, dst, _ = self.messages[number].way
        cause = self.awaited(segment, number)
        sends = self.messages[number].leaves(self.rank)
        return number, segment, dst if sends else src if cause == ARRIVAL else NONE, cause
