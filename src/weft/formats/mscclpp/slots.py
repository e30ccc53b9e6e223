"""Which slot of a schedule a chunk of a plan is."""

from __future__ import annotations

from typing import NamedTuple

from weft.collective import Collective
from weft.errors import BadInput
from weft.formats.mscclpp.memory import Buffers, Range, offset_in_place
from weft.kinds import Holds


class Memory(NamedTuple):
    """A chunk of memory."""

    rank: int
    name: str

    def __str__(self) -> str:
        return f"{self.name} of gpu {self.rank}"


class Slots:
    """Scratch slots are chunks of scratch, then packets, then spare ones."""

    def __init__(
        self, collective: Collective, sizes: Buffers, scratch: int, *, in_place: bool
    ) -> None:
        self._collective, self._sizes, self._scratch = collective, sizes, scratch
        self._in_place = in_place
        self._place_of: dict[tuple[int, int], int] = {}
        if in_place:
            rows = collective.in_place.tolist()
            self._place_of = {(rank, slot): place for rank, slot, place in rows}
        self._spare = [2 * scratch] * collective.ranks

    def of(self, chunks: Range) -> list[int]:
        return [self._slot(chunks, at) for at in range(chunks.first, chunks.end)]

    def memory(self, rank: int, slot: int) -> list[Memory]:
        c = self._collective
        place = self._place_of.get((rank, slot), slot)
        if place >= c.scratch(0):
            return [Memory(rank, f"scratch chunk {place - c.scratch(0)}")]
        is_input = place < c.inputs
        name = f"input chunk {place}" if is_input else f"output chunk {place - c.inputs}"
        return [Memory(rank, name)]

    def spare(self, rank: int) -> int:
        """A slot of the rank that nothing else uses."""
        self._spare[rank] += 1
        return self._collective.scratch(self._spare[rank] - 1)

    def _slot(self, chunks: Range, index: int) -> int:
        rank, c, shape = chunks.rank, self._collective, self._collective.kind.shape
        if chunks.buffer == "s":
            return c.scratch(self._scratch * chunks.packets + index)
        both = ("i", "o") if chunks.buffer == "i" else ("o", "i")
        for letter in both if self._in_place else (chunks.buffer,):
            here = index
            if self._in_place:
                here += offset_in_place(chunks.buffer, rank, self._sizes)
                here -= offset_in_place(letter, rank, self._sizes)
            holds = shape.gives if letter == "i" else shape.wants
            count = self._sizes.inputs if letter == "i" else self._sizes.outputs
            if 0 <= here < count and (holds is not Holds.ROOT or rank == c.root):
                return here if letter == "i" else c.output(here)
        raise BadInput(
            f"chunk {index} of {chunks.buffer} on gpu {rank} is used, where {c!r} has no data: "
            "use scratch"
        )
