"""What a size means to a schedule: the bytes of every block, and of every transfer."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from operator import index

import numpy as np
import numpy.typing as npt

from weft.checks import require_range
from weft.collective import Collective
from weft.errors import BadInput
from weft.kinds import Ints, holders
from weft.schedule.replay import Mode
from weft.schedule.schedule import NONE, Schedule
from weft.units import counted

Mask = npt.NDArray[np.bool_]

MOST_SIZE = 1 << 50  # bytes


def block_sizes(schedule: Schedule, size: int | Sequence[int]) -> list[int]:
    """Return how many bytes each block has, where a rank gives or gets `size` or the list says."""
    collective = schedule.collective
    if not isinstance(size, int | np.integer):
        if isinstance(size, str) or not isinstance(size, Sized):  # type: ignore[unreachable]
            raise BadInput(
                f"the size is {size!r:.40}: give whole bytes, or a list with those of each block"
            )
        if len(size) != collective.blocks:
            raise BadInput(
                f"{counted(len(size), 'size')} for {counted(collective.blocks, 'block')}: "
                "give one for each"
            )
        sizes = list(size)
    elif collective.uneven:
        raise BadInput(f"{collective!r} has blocks of any size: give a list with that of each")
    elif collective.heard_is_enough:
        sizes = [0] * collective.blocks
    else:
        require_range("the size", size, 0, MOST_SIZE)
        sizes = [int(size) // most_blocks(collective)] * collective.blocks
    for each in sizes:
        require_range("the size of a block", each, 0, MOST_SIZE)
    sizes = [index(each) for each in sizes]
    require_range("the size of all blocks together", sum(sizes), 0)
    return sizes


def is_there_already(schedule: Schedule, mode: Mode) -> Mask:
    """The transfers that copy a slot onto itself, as where an output is its input's memory."""
    t = schedule.transfers
    there: Mask = (t["src"] == t["dst"]) & (t["addend"] == NONE)
    copies = t[there]
    source, target = (
        _places(schedule, mode, copies["src"], copies[slot]) for slot in ("src_slot", "dst_slot")
    )
    there[there] = source == target
    return there


def _places(schedule: Schedule, mode: Mode, ranks: Ints, slots: Ints) -> Ints:
    """The slots whose memory these are."""
    aliases = np.sort(mode.aliases, order=["rank", "slot"])
    keys = aliases["rank"].astype(np.int64) * schedule.slots + aliases["slot"]
    wanted = ranks.astype(np.int64) * schedule.slots + slots
    at = np.searchsorted(keys, wanted)
    is_alias = np.append(keys, NONE)[at] == wanted
    places: Ints = np.where(is_alias, np.append(aliases["place"], NONE)[at], slots)
    return places


def _held(collective: Collective) -> list[tuple[Ints, Ints]]:
    """(rank, block) of what ranks give, and of what they want."""
    shape, blocks = collective.kind.shape, collective.blocks
    return [
        holders(side, collective.ranks, blocks, collective.root)
        for side in (shape.gives, shape.wants)
    ]


def most_blocks(collective: Collective) -> int:
    """Blocks that a rank gives or gets, whichever is more."""
    return max(int(np.bincount(ranks).max()) for ranks, _ in _held(collective))


def most_held(collective: Collective, sizes: Sequence[int]) -> int:
    """Bytes that a rank gives or gets, whichever is more."""
    each, most = np.array(sizes, np.int64), 0
    for ranks, blocks in _held(collective):
        held = np.zeros(collective.ranks, np.int64)
        np.add.at(held, ranks, each[blocks])
        most = max(most, int(held.max()))
    return most
