"""The processes of a job on one host, which share memory.

The memory is an anonymous file, passed on as a descriptor: nobody else can open it, and it is gone
with the processes.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self
from weakref import WeakKeyDictionary

import numpy as np

from weft import _native
from weft.checks import require_range
from weft.errors import BadInput
from weft.kinds import Ints
from weft.runtime.binding import FLOAT_BYTES, Binding, Floats
from weft.runtime.call import Call
from weft.schedule.lowering import elements_moved, lower
from weft.schedule.replay import Mode, mode_named, table_rows
from weft.schedule.schedule import NONE, Schedule

MOST_RANKS = 64
MOST_DEADLINE = 1e6  # seconds
MOST_DESCRIPTOR = (1 << 31) - 1
WINDOW = 8  # segments that a sender may be ahead of a receiver
SEGMENT_BYTES = 1 << 18  # the most of one segment
RANK, RANKS, MEMORY = "WEFT_RANK", "WEFT_RANKS", "WEFT_MEMORY"  # what a rank is told


def share_memory(ranks: int) -> int:
    """Return the descriptor of new memory for so many ranks."""
    require_range("the number of ranks", ranks, 1, MOST_RANKS)
    try:
        return _native.create_memory(ranks, WINDOW, SEGMENT_BYTES)
    except OSError as problem:
        raise BadInput(f"memory for {ranks} ranks: {problem}") from None


class Group:
    """A process as one rank of its job; `descriptor` is of the memory that they share."""

    def __init__(self, descriptor: int, rank: int, ranks: int) -> None:
        require_range("the number of ranks", ranks, 1, MOST_RANKS)
        require_range("the rank", rank, 0, ranks - 1)
        require_range("the descriptor", descriptor, 0, MOST_DESCRIPTOR)
        self.rank, self.ranks = rank, ranks
        try:
            self._native = _native.Group(
                descriptor, ranks=ranks, window=WINDOW, segment_bytes=SEGMENT_BYTES, rank=rank
            )
        except (OSError, _native.BrokenPeer) as problem:
            raise BadInput(f"rank {rank} of {ranks} cannot join: {problem}") from None
        _groups[self] = self._native

    @classmethod
    def join(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Take the place that `weft.launch` has given to this process."""
        values = [environment.get(name, "") for name in (MEMORY, RANK, RANKS)]
        if not all(re.fullmatch("[0-9]{1,9}", value) for value in values):
            raise BadInput(
                f"{MEMORY}, {RANK} and {RANKS} do not say which rank this is: "
                "start the program with weft.launch"
            )
        return cls(*map(int, values))

    def prepare(  # noqa: PLR0913 - what is not usual is said by keyword
        self,
        schedule: Schedule,
        inputs: Sequence[Floats] = (),
        outputs: Sequence[Floats] = (),
        *,
        in_place: bool = False,
        sizes: Sequence[int] | None = None,
        segments: int | None = None,
        segment_bytes: int = SEGMENT_BYTES,
        deadline: float = 30.0,
    ) -> Call:
        """Prove a schedule, and bind it to the blocks that this rank gives and those it wants.

        All ranks must prepare and call alike.  `in_place` means that outputs are the memory of
        inputs, as the collective says.  An uneven collective needs the `sizes` of all blocks.
        Every slot is cut into `segments`, or into as few as have at most `segment_bytes`.  A run
        ends in Stalled when it has had no news for `deadline` seconds.
        """
        c = schedule.collective
        if c.ranks != self.ranks:
            raise BadInput(
                f"{schedule.name} is for {c.ranks} ranks, this group has {self.ranks}: "
                "take a schedule of that size"
            )
        if not 0 <= deadline <= MOST_DEADLINE:
            raise BadInput(f"the deadline is {deadline}: give 0 to {MOST_DEADLINE:g} seconds")
        mode = mode_named(schedule, "in place" if in_place else "out of place")
        binding = Binding(c, self.rank, inputs, outputs, sizes, in_place)
        elements = elements_moved(schedule, binding.block_sizes)
        one_way = _by_one_route(schedule)
        count = _segments(one_way, elements, segments, segment_bytes)
        return Call(
            self._native,
            schedule,
            self.rank,
            plan=lower(one_way, mode, elements, rank=self.rank),
            transfers=table_rows(one_way.transfers),
            given=binding.slots,
            buffers=binding.buffers,
            segments=count,
            digest=_digest(one_way, mode, elements, count),
            deadline=deadline,
        )

    def leave(self) -> None:
        """Tell the others that this rank does nothing more."""
        self._native.leave()

    def __repr__(self) -> str:
        return f"<Group rank {self.rank} of {self.ranks}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave()


_groups: WeakKeyDictionary[Group, _native.Group] = WeakKeyDictionary()


def _forget_groups() -> None:
    """A child of fork is no rank, and must not leave in its parent's name."""
    for native in _groups.values():
        native.forget()


os.register_at_fork(after_in_child=_forget_groups)


def _by_one_route(schedule: Schedule) -> Schedule:
    """Within a host every route is the same memory."""
    transfers = schedule.transfers.copy()
    transfers["route"] = 0
    return replace(schedule, transfers=transfers)


def _segments(schedule: Schedule, elements: Ints, wanted: int | None, most_bytes: int) -> int:
    """How many segments every slot is cut into: as few as fit, or those that are wanted."""
    require_range("the bytes of a segment", most_bytes, FLOAT_BYTES, SEGMENT_BYTES)
    numbers = schedule.transfers["message"]
    begins = np.flatnonzero(np.diff(numbers, prepend=NONE - 1) | (numbers == NONE))
    parts = np.diff(begins, append=len(numbers))
    most = most_bytes // FLOAT_BYTES - parts + 1  # each part may need one more than its share
    if min(most, default=1) < 1:
        raise BadInput(f"{schedule.name} has a message of {max(parts)} transfers: use smaller ones")
    totals = np.add.reduceat(elements, begins) if len(begins) else np.empty(0, np.int64)
    least = max(1, int(np.max(-(-totals // most), initial=1)))
    if wanted is None:
        return least
    require_range("the number of segments", wanted, least, max(least, *elements.tolist(), 1))
    return wanted


def _digest(schedule: Schedule, mode: Mode, elements: Ints, segments: int) -> int:
    """What all ranks must have alike to run together."""
    plan = hashlib.blake2b(digest_size=4)
    plan.update(f"{schedule.collective!r} {mode.name} {segments}".encode())
    plan.update(schedule.transfers.tobytes())
    plan.update(elements.tobytes())
    return int.from_bytes(plan.digest())
