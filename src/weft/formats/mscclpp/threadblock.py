"""A threadblock while it is being written: operations on ranges, with `nop` where one is needed.

The threads of a threadblock run free of each other until a `nop`, and one thread of them signals
and waits.  So a `nop` stands between an operation and one that touches what it writes, before a
signal for what was moved, and after a wait.  Neighbours of one message that can be one operation
become one, and so do signals, and waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from weft.formats.mscclpp.memory import Range
from weft.formats.mscclpp.plan import MOST_CHANNELS_AT_ONCE

REDUCE = "re"

Thread = tuple[int, int]  # rank, number of the threadblock there


class Channel(NamedTuple):
    """One end of the channel between two threadblocks; the other end has both swapped."""

    here: Thread
    there: Thread

    @property
    def peer(self) -> int:
        return self.there[0]

    @property
    def order(self) -> tuple[int, tuple[Thread, Thread]]:
        """Both ends count the channels between two ranks alike."""
        return self.peer, (min(self), max(self))


@dataclass
class Step:
    """An operation; lists grow while neighbours join it."""

    name: str
    sources: list[Range] = field(default_factory=list[Range])
    targets: list[Range] = field(default_factory=list[Range])
    channels: list[Channel] = field(default_factory=list[Channel])

    def extend(self, other: Step) -> bool:
        """Do the other one too, if one operation can."""
        if self.name != other.name or self.name == "nop":
            return False
        if self.channels:
            return self._add_channel(other.channels)
        if self._goes_on_with(other):
            for mine, theirs in ((self.sources, other.sources), (self.targets, other.targets)):
                ends = mine[-len(theirs) :]
                mine[-len(theirs) :] = [
                    end._replace(size=end.size + range_.size)
                    for end, range_ in zip(ends, theirs, strict=True)
                ]
            return True
        return self.name == "put" and self._add_range(other)

    def _add_channel(self, channels: Sequence[Channel]) -> bool:
        if len(self.channels) == MOST_CHANNELS_AT_ONCE or set(channels) & set(self.channels):
            return False
        self.channels += channels
        return True

    def _goes_on_with(self, other: Step) -> bool:
        """Every range of the other begins where the last one of this ends."""
        return all(
            range_.follows(end)
            for mine, theirs in ((self.sources, other.sources), (self.targets, other.targets))
            for end, range_ in zip(mine[-len(theirs) :], theirs, strict=True)
        )

    def _add_range(self, other: Step) -> bool:
        """A put reads all its ranges from one buffer."""
        full = len(self.sources) == MOST_CHANNELS_AT_ONCE
        if full or self.sources[0].buffer != other.sources[0].buffer:
            return False
        self.sources += other.sources
        self.targets += other.targets
        return True


class Draft:
    """The operations of one threadblock so far."""

    def __init__(self, thread: Thread) -> None:
        self.thread = thread
        self.steps: list[Step] = []
        self._read: set[tuple[str, int]] = set()  # since the last nop
        self._written: set[tuple[str, int]] = set()
        self._waited = False

    def move(self, name: str, sources: list[Range], target: Range, *, goes_on: bool) -> None:
        """Append a put, copy or re; what goes on with a message may join the operation before."""
        read, written = self._own(sources), self._own([target])
        touched = self._read | self._written
        if self._waited or written & touched or read & self._written:
            self._synchronize()
        self._read |= read
        self._written |= written
        self._append(Step(name, sources, [target]), joins=goes_on)

    def signal(self, channel: Channel, name: str = "signal") -> None:
        if self._waited or self._read or self._written:
            self._synchronize()
        self._append(Step(name, channels=[channel]), joins=True)

    def wait(self, channel: Channel, name: str = "wait") -> None:
        self._append(Step(name, channels=[channel]), joins=True)
        self._waited = True

    def _own(self, ranges: list[Range]) -> set[tuple[str, int]]:
        rank = self.thread[0]
        return {
            (each.buffer, chunk)
            for each in ranges
            if each.rank == rank
            for chunk in range(each.first, each.end)
        }

    def _synchronize(self) -> None:
        self.steps.append(Step("nop"))
        self._read.clear()
        self._written.clear()
        self._waited = False

    def _append(self, step: Step, *, joins: bool) -> None:
        if not (joins and self.steps and self.steps[-1].extend(step)):
            self.steps.append(step)
