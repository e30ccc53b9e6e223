"""Times against sizes, both on logarithmic axes: what all pictures of it have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import log

from weft.units import time_text


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis; values below 1 stand at 1."""

    low: int
    high: int

    def share(self, value: int) -> float:
        """How far along the axis a value is: 0 at its low end, 1 at its high end."""
        span = log(max(self.high, 1)) - log(max(self.low, 1))
        return (log(max(value, 1)) - log(max(self.low, 1))) / span if span else 0.5


@dataclass(frozen=True)
class Chart:
    """A line of times for each name, and who is the fastest at each size."""

    title: str
    sizes: Sequence[int]  # bytes, ascending
    lines: Mapping[str, Sequence[int]]  # picoseconds at each size
    winners: Sequence[str]  # at each size

    @cached_property
    def ranking(self) -> Sequence[str]:
        """All names, those who win first."""
        return list(dict.fromkeys([*self.winners, *self.lines]))

    @cached_property
    def size_axis(self) -> Axis:
        return Axis(self.sizes[0], self.sizes[-1])

    @cached_property
    def time_axis(self) -> Axis:
        """From a power of ten to another."""
        times = [time for line in self.lines.values() for time in line]
        low, high = (10 ** (len(str(max(end, 1))) - 1) for end in (min(times), max(times)))
        return Axis(low, high if high == max(times) > low else 10 * high)

    @cached_property
    def ticks(self) -> Mapping[int, str]:
        """Each power of ten on the time axis, in words."""
        decades = len(str(self.time_axis.high)) - len(str(self.time_axis.low))
        times = [self.time_axis.low * 10**number for number in range(decades + 1)]
        return {time: time_text(time) for time in times}

    @cached_property
    def strip(self) -> Sequence[tuple[str, float, float]]:
        """Who wins from where to where, as shares of the size axis; halfway between two sizes."""
        shares = [self.size_axis.share(size) for size in self.sizes]
        ends = [0.0, *((left + right) / 2 for left, right in pairwise(shares)), 1.0]
        strip: list[tuple[str, float, float]] = []
        for name, (start, end) in zip(self.winners, pairwise(ends), strict=True):
            if strip and strip[-1][0] == name:
                start = strip.pop()[1]  # noqa: PLW2901 - the same run goes on
            strip.append((name, start, end))
        return strip
