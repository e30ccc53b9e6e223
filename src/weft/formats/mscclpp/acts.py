"""What threadblocks do, act by act, with every reference resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from weft.errors import BadInput
from weft.formats.mscclpp.operations import Effect
from weft.formats.mscclpp.threadblock import Thread


class End(NamedTuple):
    """One end of a channel: number of its type on a gpu; or a semaphore, or a barrier."""

    rank: int
    type: str
    number: int


@dataclass(frozen=True, eq=False)
class Act:
    """A part of an operation that happens at once."""

    place: str
    thread: Thread
    name: str
    effects: tuple[Effect, ...] = ()
    ends: tuple[End, ...] = ()
    count: int = 0  # of threadblocks that meet at a barrier


@dataclass(frozen=True, eq=False)
class Acts:
    """All that a plan does."""

    threads: dict[Thread, list[Act]]
    partners: dict[End, End]  # of ends of channels
    peers: dict[End, int]
    semaphores: dict[End, int]  # and what they start with
    shares: int  # into how many parts chunks were cut


def want(fits: object, path: str, value: object, wanted: str) -> None:
    if not fits:
        raise BadInput(f"{path} is {value}: write {wanted}")


def limit(path: str, count: int, most: int) -> None:
    want(count <= most, f"the number of {path}", count, f"at most {most}")
