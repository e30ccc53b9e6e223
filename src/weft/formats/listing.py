"""Write what threads do as one list, each message as one entry where that is possible.

Where it is not, as when two ranks swap what they hold, the message goes to a spare slot of its
receiver first, and from there to its target when that is free.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np

from weft.collective import Table
from weft.formats.threads import Event, Message, Row, Threads, events_of, in_order, needs_of
from weft.schedule.schedule import NONE, TRANSFER

Heap = list[tuple[int, int]]  # of (event, message)


def listed(threads: Threads, spare: Callable[[int], int]) -> list[Message]:
    """The messages in list order; `spare` gives a slot of a rank that nothing else uses."""
    order = in_order(threads)
    events = events_of(threads, order)
    return _Listing(threads, events, needs_of(threads, order, events), spare).messages()


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
        self._next_in_thread = _thread_order(threads, events)
        self._ahead = [0] * len(self._all)  # how many precede it in its threads
        for message in (m for following in self._next_in_thread for m in following):
            self._ahead[message] += 1
        self._split, self._taken = [False] * len(self._all), [False] * len(self._all)
        self._calm, self._free, self._readable = Heap(), Heap(), Heap()

    def messages(self) -> list[Message]:
        result: list[Message] = []
        for message in range(len(self._all)):
            self._consider(message)
        while True:
            taken = self._pop(self._calm, self._free)
            aside = self._pop(self._readable) if taken is None else None
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


def _thread_order(threads: Threads, events: Sequence[Event]) -> list[list[int]]:
    """For each message, those that come right after it in a thread."""
    of_thread = defaultdict[int, list[int]](list)
    for event in events:
        of_thread[threads.thread[event.step]].append(event.message)
    following: list[list[int]] = [[] for _ in threads.messages]
    for messages in of_thread.values():
        for one, other in pairwise(messages):
            if one != other:
                following[one].append(other)
    return following
