"""A schedule, bound to one rank's buffers, so that it can run again and again."""

from __future__ import annotations

from operator import index
from typing import Any, NoReturn

from weft import _native
from weft.checks import MOST_NUMBER, require_range
from weft.errors import BadInput, Stalled
from weft.schedule.schedule import Schedule
from weft.schedule.text import transfer_text
from weft.units import counted


class Call(_native.Call):
    """A proved schedule, bound to buffers; `call(times)` runs it, on all ranks together.

    It has ended when this rank's outputs are right.
    """

    def __init__(
        self,
        group: _native.Group,
        schedule: Schedule,
        rank: int,
        *,
        segments: int,
        deadline: float,
        **parts: Any,
    ) -> None:
        super().__init__(group, slots=schedule.slots, segments=segments, deadline=deadline, **parts)
        self.schedule, self.rank = schedule, rank
        self.segments, self.deadline = segments, deadline

    def __repr__(self) -> str:
        collective, segments = self.schedule.collective, counted(self.segments, "segment")
        return f"<Call {self.schedule.name}: {collective!r}, rank {self.rank}, {segments}>"

    # The native class calls these by name.

    def _times(self, times: int = 1) -> int:
        """Check what a call was given."""
        require_range("the number of runs", times, 1, MOST_NUMBER)
        return index(times)

    def _refused(self, reason: str) -> NoReturn:
        """Say that it could not run."""
        raise BadInput(f"rank {self.rank} cannot run {self.schedule.name}: {reason}") from None

    def _stalled(self) -> NoReturn:
        """Say why it did not finish."""
        failure = self.failure
        assert failure is not None
        transfer = self.transfer_of(failure.operation)
        text = transfer_text(self.schedule.collective, self.schedule.transfers[transfer])
        reason = (
            f"there was no news for {self.deadline:g} s"
            if failure.by_deadline
            else f"rank {failure.peer} has gone"
        )
        raise Stalled(
            f"rank {self.rank} cannot finish {self.schedule.name}: {reason}, and it needs rank "
            f"{failure.peer} for transfer {transfer}, {text}, segment {failure.segment} "
            f"of {self.segments}: see what rank {failure.peer} says",
            rank=self.rank,
            transfer=transfer,
            segment=failure.segment,
            peer=failure.peer,
        )
