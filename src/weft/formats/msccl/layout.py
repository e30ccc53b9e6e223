"""Where the pieces of a schedule are in MSCCL's buffers, in chunks of one size."""

from __future__ import annotations

from math import lcm

import numpy as np

from weft.collective import Table
from weft.errors import BadInput
from weft.formats.msccl.program import Chunk
from weft.kinds import Ints
from weft.schedule.schedule import Schedule
from weft.schedule.verify import pieces_moved

MOST_CHUNKS_PER_BLOCK = 1 << 16


class Layout:
    """Chunks are as large as all pieces are multiples of."""

    def __init__(self, schedule: Schedule) -> None:
        c = schedule.collective
        if c.uneven:
            raise BadInput(f"{c!r} has blocks of any sizes, a file has equal ones: export {c.kind}")
        self._collective = c
        pieces = c.pieces
        self.block_chunks = lcm(*set(pieces["total"].tolist()))
        if self.block_chunks > MOST_CHUNKS_PER_BLOCK:
            raise BadInput(
                f"{schedule.name} cuts a block into {self.block_chunks} chunks of one size: give "
                f"weights that make at most {MOST_CHUNKS_PER_BLOCK}"
            )
        weights = pieces["high"] - pieces["low"]
        self.counts = weights * (self.block_chunks // pieces["total"])  # chunks of each piece
        self.moved = pieces_moved(schedule)  # the piece of each transfer
        self._offsets = np.zeros((c.ranks, schedule.slots), np.int64)
        ends = [self._place(table) for table in (c.initial, c.final)]
        self.inputs, self.outputs = (end.tolist() for end in ends)
        self.scratch = self._place_scratch(schedule).tolist()

    def chunk(self, rank: int, slot: int) -> Chunk:
        """The first chunk of a slot."""
        c = self._collective
        buffer = "i" if slot < c.inputs else "o" if slot < c.scratch(0) else "s"
        return Chunk(buffer, int(self._offsets[rank, slot]))

    def _place(self, table: Table) -> Ints:
        """Give the slots of a table their offsets, rank by rank; return the ranks' sums."""
        counts = self.counts[table["piece"]]
        sums = np.zeros(self._collective.ranks, np.int64)
        np.add.at(sums, table["rank"], counts)
        before = np.cumsum(counts) - counts
        base = np.cumsum(sums) - sums
        self._offsets[table["rank"], table["slot"]] = before - base[table["rank"]]
        return sums

    def _place_scratch(self, schedule: Schedule) -> Ints:
        """Each scratch slot is as large as the largest piece that it ever holds."""
        t, first = schedule.transfers, self._collective.scratch(0)
        sizes = np.zeros((self._collective.ranks, schedule.slots), np.int64)
        np.maximum.at(sizes, (t["dst"], t["dst_slot"]), self.counts[self.moved])
        ends = np.cumsum(sizes[:, first:], axis=1)
        self._offsets[:, first:] = ends - sizes[:, first:]
        return ends[:, -1] if ends.size else np.zeros(len(ends), np.int64)
