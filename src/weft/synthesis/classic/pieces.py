"""Write a schedule by pieces: say who sends which piece to whom, not which slots.

All that a call sends from one rank to another is one message, in the order given.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weft.checks import require_range
from weft.collective import Collective, Table
from weft.kinds import Ints
from weft.schedule.schedule import MOST_SLOTS, NONE, ScheduleDraft


class PieceDraft(ScheduleDraft):
    """A draft that keeps the books: `at[rank, piece]` is the slot that holds it there, or NONE.

    What arrives goes to the output slot for its piece, or to a scratch slot of the piece's own on
    a rank that only passes it on, or to the slots `into`.
    """

    def __init__(self, collective: Collective) -> None:
        super().__init__(collective)
        slots = collective.scratch(0) * collective.ranks
        require_range("the number of slots, over all ranks,", slots, 0, MOST_SLOTS)
        shape = collective.ranks, len(collective.pieces)
        self.at = _slots(shape, collective.initial, NONE)
        self._home = _slots(shape, collective.final, collective.scratch(np.arange(shape[1])))
        self._copy_what_is_there(collective.final)

    def send(
        self,
        src: npt.ArrayLike,
        dst: npt.ArrayLike,
        piece: npt.ArrayLike,
        *,
        into: npt.ArrayLike | None = None,
    ) -> None:
        """The receiver's piece becomes the sender's."""
        self._append(src, dst, piece, into, adds=False)

    def add(
        self,
        src: npt.ArrayLike,
        dst: npt.ArrayLike,
        piece: npt.ArrayLike,
        *,
        into: npt.ArrayLike | None = None,
    ) -> None:
        """The receiver's piece becomes its own plus the sender's."""
        self._append(src, dst, piece, into, adds=True)

    def _copy_what_is_there(self, final: Table) -> None:
        """Copy what a rank has and wants; what it sends need not wait for that."""
        rank, piece = final["rank"], final["piece"]
        whole = (final["first"] == rank) & (final["count"] == 1) & (self.at[rank, piece] != NONE)
        self.copy(rank[whole], self.at[rank, piece][whole], final["slot"][whole])

    def _append(
        self,
        src: npt.ArrayLike,
        dst: npt.ArrayLike,
        piece: npt.ArrayLike,
        into: npt.ArrayLike | None,
        *,
        adds: bool,
    ) -> None:
        rows = np.broadcast_arrays(src, dst, piece, NONE if into is None else into)
        table = np.stack([row.reshape(-1) for row in rows])
        pairs = table[0] * self.collective.ranks + table[1]
        if np.any(pairs[1:] < pairs[:-1]):
            order = np.argsort(pairs, kind="stable")
            table, pairs = table[:, order], pairs[order]
        s, d, p, t = table
        if into is None:
            t = self._home[d, p]
        starts = np.diff(pairs, prepend=-1) != 0
        message = None if starts.all() else np.cumsum(starts) - 1
        self.move(s, d, self.at[s, p], t, add=self.at[d, p] if adds else NONE, message=message)
        self.at[d, p] = t


def ranks_from_root(collective: Collective) -> Ints:
    """All ranks in order, the root first; from rank 0 where there is none."""
    return np.roll(np.arange(collective.ranks), -(collective.root or 0))


def _slots(shape: tuple[int, int], contents: Table, default: npt.ArrayLike) -> Ints:
    """By rank and piece: the slot of these contents, or the default."""
    slots = np.broadcast_to(default, shape).astype(np.int64)
    slots[contents["rank"], contents["piece"]] = contents["slot"]
    return slots
