"""The blocks that a rank gives and wants, in the order in which it hands them over."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from twins.execute import Blocks, value
from weft.collective import Table
from weft.runtime.binding import Floats
from weft.schedule.schedule import Schedule


class Case:
    """A schedule over blocks of these sizes, for one rank; its sums are whole in float32."""

    def __init__(
        self, schedule: Schedule, rank: int, sizes: Sequence[int], *, in_place: bool
    ) -> None:
        self.schedule, self.rank, self.sizes = schedule, rank, sizes
        self.in_place = in_place
        collective = schedule.collective
        self._silent = collective.heard_is_enough
        self._given, self._wanted = (
            self._blocks(table) for table in (collective.initial, collective.final)
        )
        self.inputs = [np.zeros(sizes[block], np.float32) for block in self._given]
        self.outputs = [self._output(block) for block in self._wanted]

    def fill(self) -> None:
        """Give what the rank gives, and nothing that was there before."""
        for array in self.outputs:
            array[:] = np.nan
        for block, array in zip(self._given, self.inputs, strict=True):
            array[:] = value(self.rank, block, self.sizes[block])

    def check(self, want: Blocks) -> None:
        for block, array in zip(self._wanted, self.outputs, strict=True):
            np.testing.assert_array_equal(array, want[self.rank, block], err_msg=repr(self))

    def __repr__(self) -> str:
        place = "in place" if self.in_place else "out of place"
        return f"{self.schedule.name}, {self.schedule.collective!r}, {self.sizes[:4]}, {place}"

    def _blocks(self, table: Table) -> list[int]:
        pieces = table["piece"][table["rank"] == self.rank]
        blocks = self.schedule.collective.pieces["block"][pieces].tolist()
        return [] if self._silent else list(dict.fromkeys(blocks))

    def _output(self, block: int) -> Floats:
        memory = self._memory().get(block) if self.in_place else None
        if memory is None:
            return np.zeros(self.sizes[block], np.float32)
        return self.inputs[self._given.index(memory)]

    def _memory(self) -> dict[int, int]:
        """In place: the input block that each output block replaces."""
        c = self.schedule.collective
        block = {
            slot: int(c.pieces["block"][piece])
            for table in (c.initial, c.final)
            for rank, slot, piece, *_ in table.tolist()
            if rank == self.rank
        }
        return {block[s]: block[p] for rank, s, p in c.in_place.tolist() if rank == self.rank}
