"""Write what threads do as one list, each message as one entry where that is possible.

Where it is not, as when two ranks swap what they hold, the message goes to a spare slot of its
receiver first, and from there to its target when that is free.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from heapq import heappop, heappush

import numpy as np

from weft.collective import Table
from weft.formats.threads import Event, Message, Row, Threads, events_of, in_order, needs_of
from weft.schedule.schedule import NONE, TRANSFER

Heap = list[tuple[int, int]]  # of (event, message)


def listed(threads: Threads, spare: Callable[[int], int]) -> list[Message]:
    """The messages in list order; `spare` gives a slot of a rank that nothing else uses.

    The list keeps the order of all threads where it can: else at least that of what they read and
    that of what they write, and that they write something before they read what is after it.
    """
    order = in_order(threads)
    events = events_of(threads, order)
    needs = needs_of(threads, order, events)
    for ahead in (_all_ahead, _ahead_but_reads_may_wait):
        found = _Listing(threads, events, needs, ahead(threads, events), spare).messages(calm=True)
        if len(found) == len(threads.messages):
            return found
    return _Listing(threads, events, needs, ahead(threads, events), spare).messages(calm=False)


def table_of(messages: Sequence[Message]) -> Table:
    """The rows of a schedule; messages of several rows are numbered."""
    rows: list[tuple[int, ...]] = []
    numbered = 0
    for m in messages:
        number = numbered if len(m.rows) > 1 else NONE
        for source, target, addend in m.rows:
            add = NONE if addend is None else addend
            rows.append((m.src, m.dst, source, target, add, number, 0))
        numbered += number != NONE
    return np.array(rows, TRANSFER)


class _Listing:
    """Takes messages whose needs are met, if possible in the order of all threads."""

    def __init__(
        self,
        threads: Threads,
        events: Sequence[Event],
        needs: Sequence[set[int]],
        following: Sequence[set[int]],
        spare: Callable[[int], int],
    ) -> None:
        self._all, self._spare = list(threads.messages), spare
        self._read = {event.message: turn for turn, event in enumerate(events) if event.reads}
        self._write = {event.message: turn for turn, event in enumerate(events) if event.writes}
        self._message = [event.message for event in events]
        self._unmet = [0] * len(events)
        self._followers = defaultdict[int, list[int]](list)
        for turn, need in enumerate(needs):
            for other in need - {self._read[events[turn].message]}:
                self._unmet[turn] += 1
                self._followers[other].append(turn)
        self._next_in_thread = following
        self._ahead = [0] * len(self._all)  # how many precede it in its threads
        for message in (m for following in self._next_in_thread for m in following):
            self._ahead[message] += 1
        self._split, self._taken = [False] * len(self._all), [False] * len(self._all)
        self._calm, self._free, self._readable = Heap(), Heap(), Heap()

    def messages(self, *, calm: bool) -> list[Message]:
        """All of them, or as many as can be taken calmly."""
        result: list[Message] = []
        for message in range(len(self._all)):
            self._consider(message)
        while True:
            taken = self._pop(self._calm) if calm else self._pop(self._calm, self._free)
            aside = self._pop(self._readable) if taken is None and not calm else None
            if taken is not None:
                result.append(self._take(taken))
            elif aside is not None:
                result.append(self._set_aside(aside))
            else:
                return result

    def _consider(self, message: int) -> None:
        """Note what may be done with a message now."""
        read, write = self._read[message], self._write[message]
        can_write = self._unmet[write] == 0
        if self._split[message]:
            if can_write:
                heappush(self._calm, (write, message))
        elif self._unmet[read] == 0:
            heappush(self._readable, (read, message))
            if can_write:
                heappush(self._free, (write, message))
                if self._ahead[message] == 0:
                    heappush(self._calm, (write, message))

    def _pop(self, *heaps: Heap) -> int | None:
        for heap in heaps:
            while heap:
                message = heappop(heap)[1]
                if not (self._taken[message] or (self._split[message] and heap is not self._calm)):
                    return message
        return None

    def _take(self, message: int) -> Message:
        """All of it, or what was set aside, to its targets."""
        self._taken[message] = True
        events = {self._write[message]} if self._split[message] else self._events(message)
        for event in events:
            self._done(event)
        for other in self._next_in_thread[message]:
            self._ahead[other] -= 1
            self._consider(other)
        return self._all[message]

    def _events(self, message: int) -> set[int]:
        return {self._read[message], self._write[message]}

    def _set_aside(self, message: int) -> Message:
        """Only read it; from now on it is a message within its receiver."""
        whole = self._all[message]
        spare = [self._spare(whole.dst) for _ in whole.rows]
        aside = tuple(Row(row.source, slot) for row, slot in zip(whole.rows, spare, strict=True))
        rest = tuple(r._replace(source=slot) for r, slot in zip(whole.rows, spare, strict=True))
        self._all[message] = replace(whole, src=whole.dst, rows=rest)
        self._split[message] = True
        self._done(self._read[message])
        self._consider(message)
        return replace(whole, rows=aside)

    def _done(self, event: int) -> None:
        for other in self._followers[event]:
            self._unmet[other] -= 1
            self._consider(self._message[other])


def _all_ahead(threads: Threads, events: Sequence[Event]) -> list[set[int]]:
    """For each message, those that come right after it in a thread."""
    last: dict[int, int] = {}
    following: list[set[int]] = [set() for _ in threads.messages]
    for event in events:
        thread = threads.thread[event.step]
        if last.get(thread, event.message) != event.message:
            following[last[thread]].add(event.message)
        last[thread] = event.message
    return following


def _ahead_but_reads_may_wait(threads: Threads, events: Sequence[Event]) -> list[set[int]]:
    """The same without those that a thread writes after it has read others."""
    last: dict[tuple[int, bool], int] = {}
    following: list[set[int]] = [set() for _ in threads.messages]
    for event in events:
        thread = threads.thread[event.step]
        for writes in {True, event.writes}:
            before = last.get((thread, writes), event.message)
            if before != event.message:
                following[before].add(event.message)
        last[thread, event.writes] = event.message
    return following
