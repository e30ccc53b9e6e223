"""What to do: one list of transfers, in an order that would be correct one at a time.

A transfer copies `src_slot` on `src` into `dst_slot` on `dst`; with an `addend`, a slot on `dst`,
the target becomes the addend plus the source.  Adjacent transfers of one `message` travel together;
-1 travels alone.  `route` picks one of several ways from `src` to `dst`.  Engines do as many
transfers at once as the slots they touch allow: nothing else orders two of them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from weft.checks import require_name, require_range
from weft.collective import Collective, Table
from weft.errors import BadInput
from weft.kinds import Ints
from weft.units import counted

COLUMNS = ("src", "dst", "src_slot", "dst_slot", "addend", "message", "route")
TRANSFER = np.dtype([(name, "<i4") for name in COLUMNS])
NONE = -1  # no addend, no message

MOST_SLOTS = 1 << 26  # over all ranks
MOST_TRANSFERS = 1 << 28


@dataclass(frozen=True, eq=False, repr=False)
class Schedule:
    """An algorithm for one collective; `transfers` has TRANSFER rows.

    It claims to work where outputs are memory of their own (`out_of_place`), where they are the
    inputs' memory as the collective says (`in_place`), or both; each claim is verified.
    """

    name: str
    collective: Collective
    transfers: Table
    scratch: int = 0  # scratch slots on each rank
    in_place: bool = True
    out_of_place: bool = True

    def __post_init__(self) -> None:
        require_name("the schedule", self.name)
        if not (self.in_place or self.out_of_place):
            raise BadInput(
                f"{self.name} works neither in place nor out of place: claim at least one"
            )
        if self.in_place:
            self.collective.require_in_place()
        require_range("the number of transfers", len(self.transfers), 0, MOST_TRANSFERS)
        require_range("scratch", self.scratch, 0)
        slots = self.slots * self.collective.ranks
        require_range("the number of slots, over all ranks,", slots, 0, MOST_SLOTS)
        if self.transfers.dtype != TRANSFER or self.transfers.ndim != 1:
            raise BadInput(
                f"{self.name} has transfers of {self.transfers.dtype}: give TRANSFER rows"
            )
        object.__setattr__(self, "transfers", self.transfers.copy())
        self.transfers.setflags(write=False)

    @property
    def slots(self) -> int:
        """Slots on each rank: inputs, outputs, scratch."""
        return self.collective.scratch(self.scratch)

    @property
    def messages(self) -> int:
        """Messages between ranks; what stays on a rank is no message."""
        t = self.transfers[self.transfers["src"] != self.transfers["dst"]]
        same = (t["message"][1:] == t["message"][:-1]) & (t["message"][1:] != NONE)
        return len(t) - int(same.sum())

    def __len__(self) -> int:
        return len(self.transfers)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schedule):
            return NotImplemented
        names = [field.name for field in fields(self) if field.name != "transfers"]
        return np.array_equal(self.transfers, other.transfers) and all(
            getattr(self, name) == getattr(other, name) for name in names
        )

    __hash__ = None  # type: ignore[assignment]  # it holds an array

    def __repr__(self) -> str:
        return f"<Schedule {self.name}: {self.collective!r}, {self.size_text}>"

    @property
    def size_text(self) -> str:
        """`12 transfers in 8 messages`."""
        return f"{counted(len(self), 'transfer')} in {counted(self.messages, 'message')}"


class ScheduleDraft:
    """Write a schedule down, a move or an array of moves at a time.

    >>> draft = ScheduleDraft(collective)
    >>> draft.move(0, 1, collective.input(0), collective.output(0), add=collective.input(0))
    >>> schedule = draft.schedule("mine")
    """

    def __init__(self, collective: Collective) -> None:
        self.collective = collective
        self._tables: list[Table] = []
        self._next_message = 0

    def move(
        self,
        src: npt.ArrayLike,
        dst: npt.ArrayLike,
        src_slot: npt.ArrayLike,
        dst_slot: npt.ArrayLike,
        *,
        add: npt.ArrayLike = NONE,
        route: npt.ArrayLike = 0,
        message: npt.ArrayLike | None = None,
    ) -> None:
        """Append transfers, one per element; single numbers go for all of them.

        `message` numbers the messages of this call: 0 puts all of it into one.
        """
        number: npt.ArrayLike = NONE
        if message is not None:
            number = _whole("message", message, least=0) + self._next_message
            self._next_message = int(np.max(number, initial=self._next_message - 1)) + 1
        given = (src, dst, src_slot, dst_slot, add, number, route)
        columns = np.broadcast_arrays(*map(_whole, COLUMNS, given))
        table = np.empty(columns[0].size, TRANSFER)
        for name, column in zip(COLUMNS, columns, strict=True):
            table[name] = column.reshape(-1)
        self._tables.append(table)

    def copy(
        self,
        rank: npt.ArrayLike,
        src_slot: npt.ArrayLike,
        dst_slot: npt.ArrayLike,
        *,
        add: npt.ArrayLike = NONE,
    ) -> None:
        """Append transfers within a rank."""
        self.move(rank, rank, src_slot, dst_slot, add=add)

    def schedule(self, name: str, *, in_place: bool = True, out_of_place: bool = True) -> Schedule:
        """Return what was written; it has as many scratch slots as it uses."""
        transfers = np.concatenate([np.empty(0, TRANSFER), *self._tables])
        scratch = scratch_used(self.collective, transfers)
        return Schedule(name, self.collective, transfers, scratch, in_place, out_of_place)


def scratch_used(collective: Collective, transfers: Table) -> int:
    """How many scratch slots a rank needs for these transfers."""
    last = max(int(transfers[name].max(initial=0)) for name in ("src_slot", "dst_slot", "addend"))
    return max(0, last + 1 - collective.scratch(0))


def _whole(name: str, numbers: npt.ArrayLike, least: int = -(2**31)) -> Ints:
    """The numbers of a column, if they are whole and fit it."""
    column = np.asarray(numbers)
    if column.size and column.dtype.kind not in "iu":
        raise BadInput(f"{name} has the type {column.dtype}: give whole numbers")
    if column.size and not (least <= column.min() and column.max() < 2**31):
        raise BadInput(
            f"{name} reaches from {column.min()} to {column.max()}: give {least} to {2**31 - 1}"
        )
    return column.astype(np.int64)
