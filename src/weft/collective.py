"""What must be true at the end: which contributions each slot starts with and must end with.

A *block* is one array that the caller gives or wants: allgather has one per rank, allreduce one in
all.  A *piece* is an interval of a block's whole-number weights, so that shares may be unequal.  A
*slot* is a place on a rank that holds one piece at a time.  On every rank the slots are numbered
alike: first the pieces that the rank gives (`input`), then those it wants (`output`), both in the
order of the blocks, then scratch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from weft.errors import BadInput
from weft.kinds import Holds, Ints, Kind, contributors, holders
from weft.units import counted

Table = npt.NDArray[np.void]  # a structured array; each dtype below is one kind of table
Number = TypeVar("Number", int, Ints)

PIECE = np.dtype([("block", "<i8"), ("low", "<i8"), ("high", "<i8"), ("total", "<i8")])
CONTENT = np.dtype([(name, "<i4") for name in ("rank", "slot", "piece", "first", "count")])
ALIAS = np.dtype([(name, "<i4") for name in ("rank", "slot", "place")])

WHOLE = ((1,),)  # weights that leave every block in one piece

MOST_RANKS = 1 << 16
MOST_CONTENTS = 1 << 23  # slots that start with something, or end with it, over all ranks
MOST_PIECES = 1 << 20  # of one block
MOST_WEIGHT = 1 << 62  # of one block


@dataclass(frozen=True)
class Collective:
    """A promise over `ranks` ranks, with each block cut into pieces of the given weights.

    `weights` holds one cut for all blocks, or one per block.  Blocks have equal sizes unless the
    collective is `uneven` (allgatherv and its like): then sizes are bound when it is called.
    """

    kind: Kind
    ranks: int
    root: int | None = None
    uneven: bool = False
    weights: tuple[tuple[int, ...], ...] = WHOLE

    def __post_init__(self) -> None:
        _check_group(self)
        _check_weights(self)
        lowest = tuple(_in_lowest_terms(block) for block in self.weights)
        object.__setattr__(self, "weights", lowest if len(set(lowest)) > 1 else lowest[:1])

    def cut(self, shares: int | Sequence[int]) -> Collective:
        """Cut every block into so many equal pieces, or into pieces of these weights."""
        weights = equal_weights(shares) if isinstance(shares, int) else tuple(shares)
        return replace(self, weights=(weights,))

    def cut_blocks(self, weights: Sequence[Sequence[int]]) -> Collective:
        """Cut each block by weights of its own."""
        return replace(self, weights=tuple(tuple(block) for block in weights))

    @classmethod
    def named(
        cls,
        name: str,
        ranks: int,
        root: int | None = None,
        weights: tuple[tuple[int, ...], ...] = WHOLE,
    ) -> Collective:
        """Return the collective of this name, from root 0 if it has one and none is given."""
        kind = name if name in set(Kind) else name.removesuffix("v")
        if kind not in set(Kind):
            raise BadInput(f"{name[:40]!r} is not a collective: there are {', '.join(Kind)}")
        if Kind(kind).rooted and root is None:
            root = 0
        return cls(Kind(kind), ranks, root, name != kind, weights)

    def require(self, kind: Kind) -> None:
        """Refuse to build an algorithm for another collective, or for blocks cut by the caller."""
        if self.kind is not kind:
            raise BadInput(f"this algorithm is for {kind}, not for {self.kind}")
        if self.weights != WHOLE:
            raise BadInput(f"{self!r}: this algorithm cuts blocks itself, give them whole")

    @property
    def name(self) -> str:
        return f"{self.kind}v" if self.uneven else str(self.kind)

    @property
    def blocks(self) -> int:
        return self.kind.blocks(self.ranks)

    @property
    def heard_is_enough(self) -> bool:
        """In a barrier it only matters that a rank was heard from, not how often."""
        return self.kind is Kind.BARRIER

    @cached_property
    def pieces(self) -> Table:
        """PIECE rows, block by block: the piece is [low, high) of a block that weighs `total`."""
        weights = np.array([weight for block in self.weights for weight in block], np.int64)
        sizes = np.array([len(block) for block in self.weights])
        ends = np.cumsum(weights)
        starts = ends - weights
        lasts = np.cumsum(sizes) - 1
        base = starts[lasts - sizes + 1]
        pieces = np.empty(len(weights), PIECE)
        pieces["low"] = starts - np.repeat(base, sizes)
        pieces["high"] = ends - np.repeat(base, sizes)
        pieces["total"] = np.repeat(ends[lasts] - base, sizes)
        if len(self.weights) < self.blocks:
            pieces = np.tile(pieces, self.blocks)
            sizes = np.repeat(sizes, self.blocks)
        pieces["block"] = np.repeat(np.arange(self.blocks), sizes)
        return pieces

    @cached_property
    def initial(self) -> Table:
        """CONTENT rows: what each input slot starts with, contributed by its rank alone."""
        rank, block = holders(self.kind.shape.gives, self.ranks, self.blocks, self.root)
        return self._contents(rank, block, first=rank, count=1, first_slot=0)

    @cached_property
    def final(self) -> Table:
        """CONTENT rows: what each output slot must end with."""
        rank, block = holders(self.kind.shape.wants, self.ranks, self.blocks, self.root)
        first, count = contributors(self.kind, self.ranks, block, self.root)
        return self._contents(rank, block, first=first, count=count, first_slot=self.inputs)

    @cached_property
    def in_place(self) -> Table:
        """ALIAS rows: the output slots that are the memory of an input slot when called in place.

        An alltoall replaces what goes to a rank by what comes from it, so an uneven one is called
        in place only with equal sizes both ways.  Everywhere else an input and an output are one
        where they hold the same piece on the same rank.
        """
        initial, final = self.initial, self.final
        self.require_in_place()
        if self.kind is not Kind.ALLTOALL:
            mine, theirs = (
                t["rank"].astype(np.int64) * len(self.pieces) + t["piece"] for t in (initial, final)
            )
            _, given, wanted = np.intersect1d(mine, theirs, return_indices=True)
            initial, final = initial[given], final[wanted]
        aliases = np.empty(len(final), ALIAS)
        aliases["rank"], aliases["slot"] = final["rank"], final["slot"]
        aliases["place"] = initial["slot"]
        return aliases

    @cached_property
    def inputs(self) -> int:
        """Input slots of the rank that has most."""
        return int(self.initial["slot"].max()) + 1

    @cached_property
    def outputs(self) -> int:
        """Output slots of the rank that has most."""
        return int(self.final["slot"].max()) + 1 - self.inputs

    def input(self, number: Number) -> Number:
        return number

    def output(self, number: Number) -> Number:
        return number + self.inputs

    def scratch(self, number: Number) -> Number:
        return number + self.inputs + self.outputs

    def elements(self, piece: int, size: int) -> range:
        """The elements of a piece whose block has `size` of them; together the pieces tile it."""
        _, low, high, total = self.pieces[piece].tolist()
        return range(size * low // total, size * high // total)

    def piece_sizes(self, block_sizes: Sequence[int]) -> list[int]:
        """How many elements each piece has, where the blocks have so many."""
        return [
            block_sizes[block] * high // total - block_sizes[block] * low // total
            for block, low, high, total in self.pieces.tolist()
        ]

    def slot_name(self, slot: int) -> str:
        """Name a slot as people write it: in0, out3, tmp1."""
        if slot < 0:
            return f"slot{slot}"
        for name, count in (("in", self.inputs), ("out", self.outputs)):
            if 0 <= slot < count:
                return f"{name}{slot}"
            slot -= count
        return f"tmp{slot}"

    def piece_name(self, piece: int) -> str:
        """Say which part of which block a piece is: `block 3 [0:1 of 4]`."""
        block, low, high, total = self.pieces[piece].tolist()
        part = "" if high - low == total else f" [{low}:{high} of {total}]"
        return f"block {block}{part}"

    def __repr__(self) -> str:
        root = "" if self.root is None else f", root {self.root}"
        counts = {len(weights) for weights in self.weights}
        count = " to ".join(str(c) for c in sorted({min(counts), max(counts)}))
        cut = "" if counts == {1} else f", {count} pieces a block"
        return f"{self.name} over {counted(self.ranks, 'rank')}{root}{cut}"

    def _contents(
        self, rank: Ints, block: Ints, *, first: Ints, count: int, first_slot: int
    ) -> Table:
        """One row per piece of each (rank, block); each rank counts slots from `first_slot`."""
        ends = np.cumsum(np.bincount(self.pieces["block"], minlength=self.blocks))
        sizes = np.diff(ends, prepend=0)[block]
        starts = ends[block] - sizes
        row = np.repeat(np.arange(len(rank)), sizes)
        contents = np.empty(len(row), CONTENT)
        contents["rank"] = rank[row]
        contents["piece"] = np.arange(len(row)) + (starts - (np.cumsum(sizes) - sizes))[row]
        begins = np.searchsorted(contents["rank"], contents["rank"])
        contents["slot"] = first_slot + np.arange(len(row)) - begins
        contents["first"] = first[row]
        contents["count"] = count
        return contents

    def require_in_place(self) -> None:
        """Refuse an alltoall whose ranks cut what they exchange differently."""
        if self.kind is not Kind.ALLTOALL or len(self.weights) == 1:
            return
        cuts = [
            self.pieces[table["piece"]][["low", "high", "total"]]
            for table in (self.initial, self.final)
        ]
        if not np.array_equal(cuts[0], cuts[1]):
            raise BadInput(
                f"{self!r} cannot work in place: two ranks cut what they exchange differently; "
                "cut both blocks alike, or claim only that it works out of place"
            )


def _in_lowest_terms(weights: tuple[int, ...]) -> tuple[int, ...]:
    divisor = gcd(*weights)
    return weights if divisor == 1 else tuple(weight // divisor for weight in weights)


def equal_weights(pieces: int) -> tuple[int, ...]:
    """The weights of so many equal pieces."""
    if not 1 <= pieces <= MOST_PIECES:
        raise BadInput(f"a block in {pieces} pieces: give 1 to {MOST_PIECES}")
    return (1,) * pieces


def _check_group(c: Collective) -> None:
    if not 1 <= c.ranks <= MOST_RANKS:
        raise BadInput(f"{c.kind} over {c.ranks} ranks: give 1 to {MOST_RANKS} ranks")
    if c.kind.rooted and (c.root is None or not 0 <= c.root < c.ranks):
        raise BadInput(
            f"{c.kind} over {c.ranks} ranks from root {c.root}: give a root below {c.ranks}"
        )
    if not c.kind.rooted and c.root is not None:
        raise BadInput(f"{c.kind} has no root, but root {c.root} was given: leave it out")
    if c.uneven and not c.kind.shape.blocks:
        raise BadInput(f"{c.kind} has one block, so it has no uneven variant: leave `uneven` out")


def _check_weights(c: Collective) -> None:
    if len(c.weights) not in {1, c.blocks}:
        raise BadInput(
            f"{c.kind} has {counted(c.blocks, 'block')}, but {counted(len(c.weights), 'cut')}: "
            "give one, or one each"
        )
    for block, weights in enumerate(c.weights):
        sound = (
            1 <= len(weights) <= MOST_PIECES and min(weights) > 0 and sum(weights) <= MOST_WEIGHT
        )
        if not sound:
            raise BadInput(
                f"block {block} is cut by the weights {str(list(weights[:9]))[:40]}: give 1 to "
                f"{MOST_PIECES}, all above 0, at most {MOST_WEIGHT} in all"
            )
    on_all = Holds.ALL in c.kind.shape
    most = c.blocks * (c.ranks if on_all else 1) * max(map(len, c.weights))
    if most > MOST_CONTENTS:
        raise BadInput(
            f"{c.name} over {c.ranks} ranks has {most} slots, more than {MOST_CONTENTS}: "
            "take fewer ranks or cut less"
        )


def broadcast(ranks: int, *, root: int = 0) -> Collective:
    """Every rank gets the root's block."""
    return Collective(Kind.BROADCAST, ranks, root)


def reduce(ranks: int, *, root: int = 0) -> Collective:
    """The root gets the sum of every rank's block."""
    return Collective(Kind.REDUCE, ranks, root)


def scatter(ranks: int, *, root: int = 0) -> Collective:
    """Rank r gets block r of the root's blocks."""
    return Collective(Kind.SCATTER, ranks, root)


def gather(ranks: int, *, root: int = 0) -> Collective:
    """The root gets every rank's block."""
    return Collective(Kind.GATHER, ranks, root)


def allgather(ranks: int) -> Collective:
    """Every rank gets every rank's block."""
    return Collective(Kind.ALLGATHER, ranks)


def reducescatter(ranks: int) -> Collective:
    """Rank r gets the sum over all ranks of block r."""
    return Collective(Kind.REDUCESCATTER, ranks)


def allreduce(ranks: int) -> Collective:
    """Every rank gets the sum of every rank's block."""
    return Collective(Kind.ALLREDUCE, ranks)


def alltoall(ranks: int) -> Collective:
    """Rank d gets from every rank s the block that s has for it, block s * ranks + d."""
    return Collective(Kind.ALLTOALL, ranks)


def barrier(ranks: int) -> Collective:
    """No rank leaves before every rank has entered."""
    return Collective(Kind.BARRIER, ranks)


def scatterv(ranks: int, *, root: int = 0) -> Collective:
    """A scatter of blocks of any sizes."""
    return replace(scatter(ranks, root=root), uneven=True)


def gatherv(ranks: int, *, root: int = 0) -> Collective:
    """A gather of blocks of any sizes."""
    return replace(gather(ranks, root=root), uneven=True)


def allgatherv(ranks: int) -> Collective:
    """An allgather of blocks of any sizes."""
    return replace(allgather(ranks), uneven=True)


def reducescatterv(ranks: int) -> Collective:
    """A reducescatter of blocks of any sizes."""
    return replace(reducescatter(ranks), uneven=True)


def alltoallv(ranks: int) -> Collective:
    """An alltoall of blocks of any sizes."""
    return replace(alltoall(ranks), uneven=True)
