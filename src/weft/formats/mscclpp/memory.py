"""Where pieces lie in MSCCL++'s buffers: input `i`, output `o` and scratch `s`, counted in chunks.

All chunks of a plan have one size.  The executor finds a peer's buffer by its own offset into the
memory of that buffer, so a peer's buffer can only be reached where all ranks have theirs at the
same offset: `reachable` says which those are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import gcd, lcm
from typing import NamedTuple

from weft.collective import Collective, Table
from weft.errors import BadInput
from weft.formats.mscclpp.plan import MOST_CHUNKS, Letter
from weft.kinds import Holds, Kind
from weft.schedule.replay import Rows
from weft.schedule.schedule import NONE, Schedule

Place = tuple[int, Letter, int]  # rank, buffer, first chunk


class Range(NamedTuple):
    """Chunks that lie side by side."""

    rank: int
    buffer: Letter
    first: int
    size: int
    packets: bool = False  # of data and flags, in scratch

    @property
    def end(self) -> int:
        return self.first + self.size

    def follows(self, other: Range) -> bool:
        """Whether it begins where the other ends."""
        return (self.rank, self.buffer, self.first) == (other.rank, other.buffer, other.end)

    def __str__(self) -> str:
        name = {"i": "input", "o": "output", "s": "scratch"}[self.buffer]
        return f"{name} chunk {self.first} of gpu {self.rank}"


class Cut(NamedTuple):
    """How many chunks a block has, and each piece of it."""

    block: int
    pieces: list[int]


def cut(collective: Collective) -> Cut:
    """Find the largest chunk of which every piece is a whole number."""
    if collective.uneven or collective.kind is Kind.BARRIER:
        raise BadInput(
            f"{collective!r} cannot be an MSCCL++ plan, whose buffers are data in equal chunks: "
            "export a collective with blocks of one size"
        )
    pieces = collective.pieces
    totals, weights = pieces["total"].tolist(), (pieces["high"] - pieces["low"]).tolist()
    common = lcm(*set(totals))
    sizes = [weight * (common // total) for weight, total in zip(weights, totals, strict=True)]
    unit = gcd(*sizes)
    return Cut(common // unit, [size // unit for size in sizes])


class Buffers(NamedTuple):
    """How many chunks each rank's input and output have; it is the same on all."""

    inputs: int
    outputs: int


def buffers(collective: Collective, block: int) -> Buffers:
    """Ranks that give or want nothing have buffers too: the executor divides by their chunks."""
    counts = {Holds.OWN: 1, Holds.ALL: collective.blocks, Holds.ROOT: collective.blocks}
    shape, n = collective.kind.shape, collective.ranks
    return Buffers(*(block * counts.get(holds, n) for holds in (shape.gives, shape.wants)))


def offset_in_place(letter: str, rank: int, sizes: Buffers) -> int:
    """Where a rank's input or output begins in the larger one, which holds it."""
    if letter == "i" and sizes.inputs < sizes.outputs:
        return rank * sizes.inputs
    if letter == "o" and sizes.outputs < sizes.inputs:
        return rank * sizes.outputs
    return 0


def reachable(sizes: Buffers, *, in_place: bool) -> str:
    """Say which buffers of its peers a rank can reach."""
    if not in_place or sizes.inputs == sizes.outputs:
        return "ios"
    return "is" if sizes.inputs > sizes.outputs else "os"


Content = tuple[int, int, int]  # rank, slot, and for scratch how often it was written anew before


def contents_of(
    transfers: Table, first_scratch: int
) -> Iterator[tuple[Content, Content, Content | None]]:
    """What each transfer reads, writes and adds to; what is added to in place stays the same."""
    written: Counter[tuple[int, int]] = Counter()
    for src, dst, src_slot, dst_slot, addend, *_ in transfers.tolist():
        source = src, src_slot, written[src, src_slot]
        added = None if addend == NONE else (dst, addend, written[dst, addend])
        written[dst, dst_slot] += dst_slot >= first_scratch and dst_slot != addend
        yield source, (dst, dst_slot, written[dst, dst_slot]), added


class Places:
    """Where each content lies; slots that are one memory have one place."""

    def __init__(self, schedule: Schedule, moved: Rows, *, in_place: bool) -> None:
        self._collective = collective = schedule.collective
        self._moved: list[int] = moved.tolist()
        self.contents = list(contents_of(schedule.transfers, collective.scratch(0)))
        block, self._pieces = cut(collective)
        self.sizes = buffers(collective, block)
        if max(self.sizes) > MOST_CHUNKS:
            raise BadInput(
                f"{collective!r} needs {max(self.sizes)} chunks in a buffer, more than "
                f"{MOST_CHUNKS}: cut blocks less, or into pieces whose weights have a divisor"
            )
        self._ranges: dict[Content, Range] = {}
        self.scratch = [0] * collective.ranks  # chunks used so far
        self._lay_out(collective.initial, "i")
        self._lay_out(collective.final, "o")
        if in_place:
            self._join(collective.in_place)
        self._lay_out_scratch()

    def of(self, content: Content) -> Range:
        return self._ranges[content]

    def stage(self, rank: int, piece: int) -> Range:
        """Set scratch aside for one piece."""
        size = self._pieces[piece]
        self.scratch[rank] += size
        return Range(rank, "s", self.scratch[rank] - size, size)

    def _lay_out(self, contents: Table, letter: Letter) -> None:
        used = [0] * self._collective.ranks
        rows: list[tuple[int, ...]] = contents.tolist()
        for rank, slot, piece, _, _ in rows:
            size = self._pieces[piece]
            self._ranges[rank, slot, 0] = Range(rank, letter, used[rank], size)
            used[rank] += size

    def _join(self, aliases: Table) -> None:
        """The larger of two buffers is reachable, so what both hold is told as its part."""
        for rank, slot, place in aliases.tolist():
            if self.sizes.outputs > self.sizes.inputs:
                self._ranges[rank, place, 0] = self._ranges[rank, slot, 0]
            else:
                self._ranges[rank, slot, 0] = self._ranges[rank, place, 0]

    def _lay_out_scratch(self) -> None:
        """Contents of a slot have places of their own: no threadblock need wait for another's."""
        sizes: dict[Content, int] = {}
        for (_, target, _), piece in zip(self.contents, self._moved, strict=True):
            if target[1] >= self._collective.scratch(0):
                sizes[target] = self._pieces[piece]
        for content, size in sorted(sizes.items()):
            rank = content[0]
            self._ranges[content] = Range(rank, "s", self.scratch[rank], size)
            self.scratch[rank] += size
