"""From threads that wait for each other to one list of transfers.

Other formats say what each thread does, and which steps wait for which.  Any order that respects
this is an execution; here one is found, or a circle.  If two steps touch the same memory, one of
them writes, and nothing orders them, then executions differ: that is a race.  Without races all
executions do the same, and it can be written as one list.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from weft.errors import BadInput

MOST_SEARCHED = 1 << 24  # steps, to see what orders those that touch the same memory


class Row(NamedTuple):
    """What happens to a slot: it becomes the source, or the addend plus the source."""

    source: int
    target: int
    addend: int | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """Rows that are read on rank `src` at one step, and written on `dst` at the same or a later."""

    src: int
    dst: int
    rows: tuple[Row, ...]
    sent: int
    landed: int


@dataclass(frozen=True, slots=True)
class Threads:
    """Steps are numbered thread by thread; `after` has the steps of other threads to wait for.

    A step first lands the messages that land at it, then sends those that are sent at it.
    """

    thread: Sequence[int]  # of each step
    after: Sequence[Iterable[int]]
    messages: Sequence[Message]
    places: Callable[[int, int], Sequence[Hashable]]  # what memory a slot of a rank is
    where: Callable[[int], str]  # a step in words

    def before(self, step: int) -> Iterator[int]:
        """All that a step waits for, the step before it in its thread included."""
        if step and self.thread[step - 1] == self.thread[step]:
            yield step - 1
        yield from self.after[step]


def nowhere(_rank: int, _slot: int) -> tuple[Hashable, ...]:
    """The memory of slots where only the order of steps is asked for."""
    return ()


class Event(NamedTuple):
    """A message is read, or written, or both at once, at a step."""

    message: int
    step: int
    reads: bool
    writes: bool
    read: list[Hashable]  # the memory that is read, addends too
    written: list[Hashable]


def in_order(threads: Threads) -> list[int]:
    """Return the steps in an order in which they can be done; refuse a circle of waiting."""
    count = len(threads.thread)
    unmet, followers = [0] * count, defaultdict[int, list[int]](list)
    for step in range(count):
        for other in threads.before(step):
            unmet[step] += 1
            followers[other].append(step)
    ready = deque(step for step in range(count) if not unmet[step])
    order: list[int] = []
    while ready:
        order.append(ready.popleft())
        for step in followers[order[-1]]:
            unmet[step] -= 1
            if not unmet[step]:
                ready.append(step)
    if len(order) < count:
        raise BadInput(f"steps wait for each other: {_circle(threads, unmet)}")
    return order


def _circle(threads: Threads, unmet: Sequence[int]) -> str:
    """Some steps of which each waits for the next, and the last for the first."""
    step = next(step for step, number in enumerate(unmet) if number)
    seen: dict[int, int] = {}
    while step not in seen:
        seen[step] = len(seen)
        step = next(other for other in threads.before(step) if unmet[other])
    circle = list(seen)[seen[step] :]
    return " waits for ".join(threads.where(step) for step in [*circle[:8], circle[0]])


def events_of(threads: Threads, order: Sequence[int]) -> list[Event]:
    """What is read and written, one after another."""
    landing, sending = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for number, message in enumerate(threads.messages):
        landing[message.landed].append(number)
        if message.sent != message.landed:
            sending[message.sent].append(number)
    events: list[Event] = []
    for step in order:
        for number in landing[step]:
            at_once = threads.messages[number].sent == step
            events.append(_event(threads, number, step, reads=at_once, writes=True))
        events += [_event(threads, n, step, reads=True, writes=False) for n in sending[step]]
    return events


def _event(threads: Threads, number: int, step: int, *, reads: bool, writes: bool) -> Event:
    """A copy onto itself neither reads nor writes."""
    message = threads.messages[number]
    read: list[Hashable] = []
    written: list[Hashable] = []
    for source, target, addend in message.rows:
        sources = threads.places(message.src, source) if reads else ()
        targets = threads.places(message.dst, target) if writes else ()
        if reads and writes and addend is None:
            read += [place for place in sources if place not in targets]
            written += [place for place in targets if place not in sources]
            continue
        read += sources
        written += targets
        if writes and addend is not None:
            read += threads.places(message.dst, addend)
    return Event(number, step, reads, writes, read, written)


def needs_of(threads: Threads, order: Sequence[int], events: Sequence[Event]) -> list[set[int]]:
    """For each event, those that must come first as they touch the same memory; refuse races."""
    search = _Search(threads, order)
    writer: dict[Hashable, int] = {}
    readers = defaultdict[Hashable, list[int]](list)
    needs: list[set[int]] = []
    for number, event in enumerate(events):
        read, written = event.read, event.written
        first = {writer[place] for place in (*read, *written) if place in writer}
        first.update(*(readers[place] for place in written))
        needs.append(first)
        for other in first:
            if not search.orders(events[other].step, event.step):
                raise BadInput(
                    f"{threads.where(events[other].step)} and {threads.where(event.step)} touch "
                    f"{_shared(events[other], event)}, and nothing orders them: "
                    "make one wait for the other"
                )
        for place in read:
            readers[place].append(number)
        for place in written:
            writer[place], readers[place] = number, []
    return needs


def _shared(one: Event, other: Event) -> str:
    """Memory of which at least one of the two writes what the other touches, in words."""
    common = (set(one.read + one.written) & set(other.written)) | (
        set(one.written) & set(other.read)
    )
    return min(map(str, common))


class _Search:
    """Whether a step is ordered before another."""

    def __init__(self, threads: Threads, order: Sequence[int]) -> None:
        self._threads = threads
        self._turn = {step: turn for turn, step in enumerate(order)}
        self._searched = 0

    def orders(self, first: int, last: int) -> bool:
        threads, turn = self._threads, self._turn
        if threads.thread[first] == threads.thread[last]:
            return first <= last
        seen, todo = {last}, [last]
        while todo:
            self._searched += 1
            if self._searched > MOST_SEARCHED:
                raise BadInput(
                    f"it takes more than {MOST_SEARCHED} steps to see what orders the steps that "
                    "touch the same memory: wait for them directly"
                )
            for other in threads.before(todo.pop()):
                if other == first:
                    return True
                if turn[other] > turn[first] and other not in seen:
                    seen.add(other)
                    todo.append(other)
        return False
