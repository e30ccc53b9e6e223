"""What a simulated run meets: how far ranks may run ahead, and what goes wrong with them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from weft import _native
from weft.checks import require_range
from weft.errors import BadInput
from weft.units import parse_time

NEVER: int = _native.NEVER
LATEST: int = _native.LATEST  # picoseconds that can be told
WINDOW = 8  # segments that a sender may be ahead of a receiver
MOST_WINDOW = 1 << 20
MOST_FACTOR = 1 << 20

Slowdown = tuple[int, int, int]  # from, until, factor

_FAULT = re.compile(
    r"(?:rank (?P<rank>\d{1,9})|link (?P<source>\d{1,9})->(?P<target>\d{1,9})) "
    r"(?P<what>dies|stops|breaks|slows (?P<factor>\d{1,9})x) "
    r"at (?P<start>\S+)(?: for (?P<span>\S+))?",
    re.ASCII,
)


@dataclass(frozen=True)
class Fault:
    """From `start` until `end` all that a rank does, or its links to another, take longer.

    They take `factor` times as long; at 0 they stop.  A rank that dies does nothing more, and its
    peers hear of it.  A link is that from a node to another, all of them if there are several.
    """

    start: int  # picoseconds, like all times here
    end: int = NEVER
    rank: int | None = None
    link: tuple[int, int] | None = None
    factor: int = 0
    dies: bool = False

    def __post_init__(self) -> None:
        if (self.rank is None) == (self.link is None):
            raise BadInput("a fault is of a rank or of a link: give one of them")
        if self.dies and (self.rank is None or self.end != NEVER or self.factor):
            raise BadInput("only a rank dies, and for good: leave the end and the factor out")
        require_range("the start of a fault", self.start, 0, LATEST)
        require_range("the end of a fault", self.end, self.start)
        require_range("the factor of a fault", self.factor, 0, MOST_FACTOR)

    @classmethod
    def written(cls, text: str) -> Self:
        """Read `rank 3 dies at 1ms`, `link 0->1 breaks at 1ms for 5ms`, `rank 3 slows 4x at 0s`."""
        found = _FAULT.fullmatch(text.strip())
        if not found or (found["what"] == "dies" and not found["rank"]):
            raise BadInput(
                f"{text[:60]!r} is not a fault: write `rank 3` or `link 0->1`, then dies, stops, "
                "breaks or slows 4x, then `at 1ms`, and perhaps `for 5ms`"
            )
        start = parse_time(found["start"])
        return cls(
            start=start,
            end=start + parse_time(found["span"]) if found["span"] else NEVER,
            rank=int(found["rank"]) if found["rank"] else None,
            link=(int(found["source"]), int(found["target"])) if found["source"] else None,
            factor=int(found["factor"] or 0),
            dies=found["what"] == "dies",
        )


@dataclass(frozen=True)
class Noise:
    """Each rank pauses for up to `longest`, about once every `every`; the seed says when."""

    longest: int
    every: int
    seed: int = 0

    def __post_init__(self) -> None:
        require_range("the longest pause", self.longest, 1, LATEST)
        require_range("the time between pauses", self.every, 1, LATEST)

    @classmethod
    def written(cls, text: str, seed: int = 0) -> Self:
        """Read `20ms/100ms`: up to 20 ms, about once every 100 ms."""
        longest, slash, every = text.partition("/")
        if not slash:
            raise BadInput(f"{text[:40]!r} is no noise: write LONGEST/EVERY, as in 20ms/100ms")
        return cls(parse_time(longest), parse_time(every), seed)

    def pauses(self, rank: int, horizon: int) -> Iterable[Slowdown]:
        """All that begin before the horizon; a later horizon only adds to them."""
        draw = random.Random(f"{self.seed} {rank}")  # noqa: S311 - it must be repeatable, not secret
        now = draw.randrange(2 * self.every)
        while now < horizon:
            end = now + draw.randint(1, self.longest)
            yield now, end, 0
            now = end + draw.randrange(2 * self.every)


@dataclass(frozen=True)
class Conditions:
    """What a run meets; at the deadline, counted from the start, ranks give up.

    Without one they wait for ever, unless that would not end: then for 30 s without news.
    """

    window: int = WINDOW
    noise: Noise | None = None
    faults: Sequence[Fault] = ()
    deadline: int | None = None

    def __post_init__(self) -> None:
        require_range("the window", self.window, 1, MOST_WINDOW)
        if self.deadline is not None:
            require_range("the deadline in picoseconds", self.deadline, 0, LATEST)
