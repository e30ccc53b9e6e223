"""What threadblocks do, act by act, with every reference resolved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from weft.errors import BadInput
from weft.formats.mscclpp.memory import Range
from weft.formats.mscclpp.operations import WAITS, Effect
from weft.formats.mscclpp.threadblock import Thread


class End(NamedTuple):
    """One end of a channel: number of its type on a gpu; or a semaphore, or a barrier."""

    rank: int
    type: str
    number: int

    def __str__(self) -> str:
        what = self.type if self.type in {"semaphore", "barrier"} else f"{self.type} channel"
        return f"{what} {self.number} of gpu {self.rank}"


@dataclass(frozen=True, eq=False)
class Act:
    """A part of an operation that happens at once."""

    place: str
    thread: Thread
    name: str
    effects: tuple[Effect, ...] = ()
    ends: tuple[End, ...] = ()
    count: int = 0  # of threadblocks that meet at a barrier

    @property
    def rank(self) -> int:
        return self.thread[0]

    @property
    def by_port(self) -> bool:
        """Whether a port does it, while the threadblock goes on."""
        return self.name not in WAITS and any(end.type == "port" for end in self.ends)

    @property
    def packets(self) -> tuple[list[Range], list[Range]]:
        """The packets that are read, and those that are written."""
        read = [each for effect in self.effects for each in effect.sources if each.packets]
        return read, [effect.target for effect in self.effects if effect.target.packets]

    def __str__(self) -> str:
        return f"{self.place} ({self.name})"


@dataclass(frozen=True, eq=False)
class Acts:
    """All that a plan does, threadblock by threadblock."""

    steps: list[Act]
    partners: dict[End, End]  # of ends of channels
    peers: dict[End, int]
    semaphores: dict[End, int]  # and what they start with
    shares: int  # into how many parts chunks were cut

    def threads(self) -> Iterator[list[int]]:
        """The steps of each threadblock."""
        start = 0
        for step, act in enumerate(self.steps):
            if step + 1 == len(self.steps) or self.steps[step + 1].thread != act.thread:
                yield list(range(start, step + 1))
                start = step + 1


def want(fits: object, path: str, value: object, wanted: str) -> None:
    if not fits:
        raise BadInput(f"{path} is {value}: write {wanted}")


def limit(path: str, count: int, most: int) -> None:
    want(count <= most, f"the number of {path}", count, f"at most {most}")
