"""Which memory of a rank is which slot of a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import cast

import numpy as np
import numpy.typing as npt

from weft.collective import Collective, Table
from weft.errors import BadInput
from weft.kinds import Ints
from weft.units import counted

Floats = npt.NDArray[np.float32]

FLOAT_BYTES = 4
MOST_ELEMENTS = 1 << 40  # of one block


@dataclass(frozen=True, eq=False)
class Binding:
    """The blocks that a rank gives and those it wants, in the order of the collective."""

    collective: Collective
    rank: int
    inputs: Sequence[Floats]
    outputs: Sequence[Floats]
    sizes: Sequence[int] | None  # of all blocks; None where they are equal
    in_place: bool

    def __post_init__(self) -> None:
        if self.collective.heard_is_enough:
            if self.buffers:
                raise BadInput("a barrier moves no data: give no buffers")
            return
        for what, table, arrays in self._sides:
            _check_arrays(what, arrays, wanted=len(self._blocks(table)))
        for what, table, arrays in self._sides:
            for block, array in zip(self._blocks(table), arrays, strict=True):
                if len(array) != self.block_sizes[block]:
                    raise BadInput(
                        f"the {what} of block {block} has {len(array)} elements, "
                        f"where the block has {self.block_sizes[block]}: all ranks need its size"
                    )
        self._check_overlaps()

    @property
    def buffers(self) -> list[Floats]:
        return [*self.inputs, *self.outputs]

    @cached_property
    def block_sizes(self) -> list[int]:
        blocks = self.collective.blocks
        if self.sizes is None and self.collective.uneven:
            raise BadInput(f"{self.collective!r} needs the sizes of all its blocks: give sizes")
        if self.sizes is None:
            return [max(map(len, self.buffers), default=0)] * blocks
        possible = all(0 <= size <= MOST_ELEMENTS for size in self.sizes)
        if len(self.sizes) != blocks or not possible:
            raise BadInput(
                f"sizes are {[*self.sizes][:9]}: "
                f"give one for each of the {counted(blocks, 'block')}, 0 to {MOST_ELEMENTS}"
            )
        return [*self.sizes]

    @cached_property
    def slots(self) -> Ints:
        """A row per slot: its number, its buffer, its first element there, and how many it has."""
        rows: list[tuple[int, int, int, int]] = []
        first = 0
        for _, table, arrays in self._sides:
            if self.collective.heard_is_enough:
                continue
            buffers = {block: n for n, block in enumerate(self._blocks(table), first)}
            for _, slot, piece, *_ in table[table["rank"] == self.rank].tolist():
                block = int(self.collective.pieces["block"][piece])
                elements = self.collective.elements(piece, self.block_sizes[block])
                rows.append((slot, buffers[block], elements.start, len(elements)))
            first += len(arrays)
        return np.array(rows, np.int64).reshape(-1, 4)

    @property
    def _sides(self) -> tuple[tuple[str, Table, Sequence[Floats]], ...]:
        return (
            ("input", self.collective.initial, self.inputs),
            ("output", self.collective.final, self.outputs),
        )

    def _blocks(self, table: Table) -> list[int]:
        """The blocks that this rank has there, in order."""
        pieces = table["piece"][table["rank"] == self.rank]
        return list(dict.fromkeys(self.collective.pieces["block"][pieces].tolist()))

    def _check_overlaps(self) -> None:
        """An output may be an input's memory only in place, and then must be."""
        address = {
            int(slot): _address(self.buffers[int(buffer)]) + FLOAT_BYTES * int(begin)
            for slot, buffer, begin, elements in self.slots
            if elements
        }
        if self.in_place:
            aliases = self.collective.in_place
            for _, slot, place in aliases[aliases["rank"] == self.rank].tolist():
                if address.get(slot) != address.get(place):
                    raise BadInput(
                        f"{self.collective.slot_name(slot)} is not the memory of "
                        f"{self.collective.slot_name(place)}, as it is in place: "
                        "give the same array, or leave in_place out"
                    )
        for (n, one), (m, other) in combinations(enumerate(self.buffers), 2):
            across = n < len(self.inputs) <= m
            same = _address(one) == _address(other) and len(one) == len(other)
            if np.may_share_memory(one, other) and not (self.in_place and across and same):
                raise BadInput(
                    "two buffers overlap: give arrays of their own, or in_place=True "
                    "where the outputs are the inputs' memory"
                )


def _address(array: Floats) -> int:
    return int(array.__array_interface__["data"][0])


def _are_arrays(given: object) -> bool:
    if not isinstance(given, Sequence):
        return False
    return all(isinstance(each, np.ndarray) for each in cast("Sequence[object]", given))


def _check_arrays(what: str, arrays: Sequence[Floats], *, wanted: int) -> None:
    if not _are_arrays(arrays):
        raise BadInput(f"the {what}s are no list of arrays: give a list of arrays, one per block")
    if len(arrays) != wanted:
        raise BadInput(f"{counted(len(arrays), what)} given: this rank has {wanted}, one per block")
    for array in arrays:
        kind = f"{array.ndim} dimensions of {array.dtype}"
        if array.dtype != np.float32 or array.ndim != 1 or not array.flags.c_contiguous:
            raise BadInput(f"an {what} has {kind}: give one dimension of float32, without gaps")
        if not array.flags.aligned:
            raise BadInput(f"an {what} does not begin at a multiple of 4 bytes: give a copy")
        if what == "output" and not array.flags.writeable:
            raise BadInput("an output cannot be written: give an array of your own")
