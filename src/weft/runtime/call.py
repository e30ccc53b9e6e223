"""A schedule, bound to one rank's buffers, so that it can run again and again."""

from __future__ import annotations

from weft import _native
from weft.errors import BadInput, Stalled
from weft.schedule.schedule import Schedule
from weft.schedule.text import transfer_text


class Call:
    """A proved schedule, bound to buffers; calling it runs it, on all ranks together."""

    def __init__(
        self, native: _native.Call, schedule: Schedule, rank: int, segments: int, deadline: float
    ) -> None:
        self.schedule, self.rank, self.segments, self.deadline = schedule, rank, segments, deadline
        self.native = native
        self._run = native.run

    def __call__(self, times: int = 1) -> None:
        """Run it so many times; it has ended when this rank's outputs are right."""
        try:
            finished = self._run(self.deadline, times)
        except _native.BrokenPeer as problem:
            raise BadInput(f"rank {self.rank} cannot run {self.schedule.name}: {problem}") from None
        if not finished:
            raise self._stalled()

    def _stalled(self) -> Stalled:
        failure = self.native.failure
        assert failure is not None
        transfer = self.native.transfer_of(failure.operation)
        text = transfer_text(self.schedule.collective, self.schedule.transfers[transfer])
        reason = (
            f"there was no news for {self.deadline:g} s"
            if failure.by_deadline
            else f"rank {failure.peer} has gone"
        )
        return Stalled(
            f"rank {self.rank} cannot finish {self.schedule.name}: {reason}, and it needs rank "
            f"{failure.peer} for transfer {transfer}, {text}, segment {failure.segment} "
            f"of {self.segments}: see what rank {failure.peer} says",
            rank=self.rank,
            transfer=transfer,
            segment=failure.segment,
            peer=failure.peer,
        )
