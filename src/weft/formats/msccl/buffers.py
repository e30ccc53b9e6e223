"""Which slot of a schedule a chunk of a program is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weft.collective import Collective
from weft.errors import BadInput
from weft.formats.msccl.program import Chunk, Program
from weft.kinds import Holds


class Memory(NamedTuple):
    """A chunk of memory; called in place, inputs and outputs may share it."""

    gpu: int
    chunk: str
    in_place: bool

    def __str__(self) -> str:
        return f"{self.chunk} of gpu {self.gpu}{' in place' * self.in_place}"


class Buffers:
    """The slots of a program's collective, and what memory they are.

    A file for calls in place alone may use one name, `i` or `o`, for all of a buffer.
    """

    def __init__(self, program: Program, root: int | None) -> None:
        self.program = program
        self.collective = Collective(
            program.collective, len(program.gpus), root, weights=((1,) * _cut(program),)
        )
        c = self.collective
        self._inputs, self._outputs = (
            np.bincount(table["rank"], minlength=c.ranks).tolist() for table in (c.initial, c.final)
        )
        self._shared: dict[tuple[int, int], int] = {}
        if program.in_place:
            self._shared = {(rank, slot): place for rank, slot, place in c.in_place.tolist()}
        self._scratch = [gpu.scratch for gpu in program.gpus]
        for gpu in program.gpus:
            if max(gpu.inputs, gpu.outputs) > program.chunks:
                raise BadInput(
                    f"line {gpu.line}: i_chunks={gpu.inputs} and o_chunks={gpu.outputs}, but "
                    f"nchunksperloop={program.chunks}: it counts the larger of them"
                )

    @property
    def scratch(self) -> int:
        """Scratch slots of the rank that has most."""
        return max(self._scratch)

    def spare(self, rank: int) -> int:
        """A slot of the rank that nothing else uses."""
        self._scratch[rank] += 1
        return self.collective.scratch(self._scratch[rank] - 1)

    def slots(self, rank: int, chunk: Chunk, count: int, where: str) -> list[int]:
        """The slots of so many chunks."""
        gpu, first = self.program.gpus[rank], chunk.offset
        size = {"i": gpu.inputs, "o": gpu.outputs, "s": gpu.scratch}[chunk.buffer]
        if first >= 0 and first + count <= size:
            slots = [self._slot(rank, chunk.ahead(n)) for n in range(count)]
            if None not in slots:
                return [slot for slot in slots if slot is not None]
            size = (self._inputs if chunk.buffer == "i" else self._outputs)[rank]
        raise BadInput(
            f"{where} takes chunks {first} to {first + count - 1} of {chunk.buffer}, "
            f"which has {size} in {self.collective!r}: stay within"
        )

    def memory(self, rank: int, slot: int) -> list[Memory]:
        """What a slot touches, in each of the ways in which the program may be called."""
        program, touched = self.program, list[Memory]()
        if program.out_of_place:
            touched.append(Memory(rank, self._name(slot), in_place=False))
        if program.in_place:
            place = self._shared.get((rank, slot), slot)
            touched.append(Memory(rank, self._name(place), in_place=True))
        return touched

    def _slot(self, rank: int, chunk: Chunk) -> int | None:
        c, (buffer, offset) = self.collective, chunk
        is_input, is_output = offset < self._inputs[rank], offset < self._outputs[rank]
        alone = self.program.in_place and not self.program.out_of_place
        if alone and not {"i": is_input, "o": is_output}.get(buffer, True):
            buffer = {"i": "o", "o": "i"}[buffer]
        if buffer == "s":
            return c.scratch(offset)
        if buffer == "i":
            return c.input(offset) if is_input else None
        return c.output(offset) if is_output else None

    def _name(self, slot: int) -> str:
        c = self.collective
        if slot < c.inputs:
            return f"i{slot}"
        return f"o{slot - c.inputs}" if slot < c.scratch(0) else f"s{slot - c.scratch(0)}"


def _cut(program: Program) -> int:
    """Chunks of a block."""
    gives, wants = program.collective.shape.gives, program.collective.shape.wants
    blocks = program.collective.blocks(len(program.gpus))
    rows = {Holds.ROW, Holds.COLUMN} & {gives, wants}
    count = len(program.gpus) if rows else blocks
    if program.chunks % count:
        raise BadInput(
            f"nchunksperloop={program.chunks} does not divide by the {count} blocks of "
            f"{program.collective} over {len(program.gpus)} gpus: give a multiple"
        )
    return program.chunks // count
