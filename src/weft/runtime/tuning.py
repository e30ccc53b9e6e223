"""How large segments should be, found by trying: for when the cost model is not trusted.

Multiplicative increase, additive decrease: sizes double while that is faster, then shrink step by
step while that is no slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import numpy as np

from weft.collective import broadcast
from weft.runtime.binding import Floats
from weft.runtime.call import Call
from weft.runtime.group import SEGMENT_BYTES, Group
from weft.schedule.schedule import Schedule, ScheduleDraft

STEP_BYTES = 1 << 14  # the first size, and the step down
ROUNDS = 5  # of each size; the fastest counts


class Miad:
    """Proposes a size; hear how fast it was, and propose the next until `settled`."""

    def __init__(self, step: int, most: int) -> None:
        self.step, self.most = step, most
        self.size = self.best = min(step, most)
        self.settled = False
        self._growing = True
        self._best_rate = self._last_rate = 0.0

    def observe(self, rate: float) -> None:
        """Go on from how fast `size` was."""
        faster, no_slower = rate > self._best_rate, rate >= self._last_rate
        if faster:
            self.best, self._best_rate = self.size, rate
        self._last_rate = rate
        if self._growing and faster and self.size < self.most:
            self.size = min(2 * self.size, self.most)
        elif (self._growing or no_slower) and self.size > self.step:
            self._growing = False
            self.size -= min(self.step, self.size - self.step)
        else:
            self.size, self.settled = self.best, True


def tune(
    group: Group,
    schedule: Schedule,
    inputs: Sequence[Floats] = (),
    outputs: Sequence[Floats] = (),
    *,
    in_place: bool = False,
    sizes: Sequence[int] | None = None,
    deadline: float = 30.0,
) -> Call:
    """Prepare a schedule with the segment size that is found fastest; all ranks must call alike.

    It runs the schedule on these buffers, as often as it takes, by the clock of rank 0.  In place
    that adds to them again and again, so that their content is lost.
    """
    rate = np.zeros(1, np.float32)
    heard = np.zeros(1, np.float32)
    agree = group.prepare(_from_first(group.ranks), [rate] if group.rank == 0 else [], [heard])
    policy = Miad(STEP_BYTES, SEGMENT_BYTES)
    while True:
        call = group.prepare(
            schedule,
            inputs,
            outputs,
            in_place=in_place,
            sizes=sizes,
            segment_bytes=policy.size,
            deadline=deadline,
        )
        if policy.settled:
            return call
        rate[0] = 1 / min(_seconds(call) for _ in range(ROUNDS))
        agree()
        policy.observe(float(heard[0]))


def _from_first(ranks: int) -> Schedule:
    """Rank 0 tells all others, so that all go on alike."""
    collective = broadcast(ranks)
    draft = ScheduleDraft(collective)
    draft.move(0, np.arange(ranks), collective.input(0), collective.output(0))
    return draft.schedule("from rank 0")


def _seconds(call: Call) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start
