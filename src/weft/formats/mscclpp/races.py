"""Who touched which chunk, and whether the next one may: it has to know that the last is over.

What is known is a set of acts, as the bits of a number; the first bits say which ranks have entered
the call.  Packets bring flags of their own, so a reader knows what their writer knew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from weft.errors import BadInput
from weft.formats.mscclpp.acts import Act
from weft.formats.mscclpp.memory import Range

PACKETS = "p"

Cell = tuple[int, str, int]  # rank, buffer (or packets), chunk


class Memory(NamedTuple):
    """Where a plan's buffers lie."""

    offsets: dict[tuple[int, str], int] | None  # of inputs and outputs in what both are part of
    double_scratch: bool  # calls take turns with two halves

    def same(self, cell: Cell) -> Cell:
        """Two cells that are one chunk have one name."""
        rank, buffer, index = cell
        if self.offsets is None or buffer not in {"i", "o"}:
            return cell
        return rank, "io", index + self.offsets[rank, buffer]


@dataclass
class _Touched:
    """A chunk: the last write, and the reads since."""

    written: tuple[int, Act] | None = None
    read: list[tuple[int, Act]] = field(default_factory=list[tuple[int, Act]])

    def before(self, *, write: bool) -> list[tuple[int, Act]]:
        """What has to be over before it is written, or read."""
        return [*([self.written] if self.written else []), *(self.read if write else [])]


class Ledger:
    """All chunks of all ranks."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._cells: dict[Cell, _Touched] = {}
        self._packets: dict[Cell, int] = {}

    def missing(self, packets: Iterable[Cell]) -> list[Cell]:
        return [cell for cell in packets if cell not in self._packets]

    def told_by(self, packets: Iterable[Cell]) -> int:
        """What is known to who has read these packets."""
        known = 0
        for cell in packets:
            known |= self._packets[cell]
        return known

    def touch(self, cell: Cell, act: Act, bit: int, known: int, *, write: bool) -> None:
        rank = cell[0]
        if cell[1] == PACKETS:
            if write:
                self._write_packets(cell, act, bit | known)
            return
        if rank != act.thread[0] and not self._takes_turns(cell) and not known >> rank & 1:
            raise BadInput(
                f"{act.place} reaches {name_of(cell)} before gpu {rank} is known to have entered "
                "the call: let that gpu signal first"
            )
        touched = self._cells.setdefault(self._memory.same(cell), _Touched())
        for other, their_act in touched.before(write=write):
            if other != bit and not known & other:
                raise BadInput(
                    f"race: {act.place} ({act.name}) {'writes' if write else 'reads'} "
                    f"{name_of(cell)}, and nothing orders that after {their_act.place} "
                    f"({their_act.name}): signal and wait, with a nop before and after"
                )
        if write:
            touched.written, touched.read = (bit, act), []
        else:
            touched.read.append((bit, act))

    def _takes_turns(self, cell: Cell) -> bool:
        """Whether the next call has other memory for it."""
        return cell[1] == "s" and self._memory.double_scratch

    def _write_packets(self, cell: Cell, act: Act, known: int) -> None:
        if cell in self._packets:
            raise BadInput(
                f"{act.place} writes the packets of {name_of(cell)} a second time: a reader "
                "cannot tell them apart, use other chunks"
            )
        self._packets[cell] = known

    def check_end(self, known: list[int], over: list[int]) -> None:
        """No rank may leave while others still write to it, or read what it has."""
        for cell, touched in self._cells.items():
            if self._takes_turns(cell):
                continue
            written = [touched.written] if touched.written else []
            late = [(act, "writes") for bit, act in written if bit & ~known[cell[0]]]
            late += [(act, "reads") for bit, act in touched.read if bit & ~over[cell[0]]]
            for act, does in late:
                raise BadInput(
                    f"{act.place} {does} {name_of(cell)}, and that gpu may leave the call before: "
                    "let it wait"
                )
        for rank, buffer, index in self._packets:
            # A packet is data and flag, so it takes the room of two chunks.
            for under in (2 * index, 2 * index + 1):
                if (rank, "s", under) in self._cells:
                    raise BadInput(
                        f"the packets of {name_of((rank, buffer, index))} lie on its chunk "
                        f"{under}, which holds other data: put one of them elsewhere"
                    )


def cell_of(range_: Range, chunk: int) -> Cell:
    return range_.rank, PACKETS if range_.packets else range_.buffer, range_.first + chunk


def packets_read(act: Act) -> list[Cell]:
    return [
        cell_of(source, chunk)
        for effect in act.effects
        for source in effect.sources
        if source.packets
        for chunk in range(source.size)
    ]


def name_of(cell: Cell) -> str:
    rank, buffer, index = cell
    name = {"i": "input", "o": "output", "io": "buffer"}.get(buffer, "scratch")
    return f"{name} chunk {index} of gpu {rank}"
