"""A schedule as text that a person can read and write.

    ring: allreduce ranks=2 cut=2
    0.in0 -> 1.out0 + in0                   # rank 1's out0 becomes its in0 plus what arrives
    1.in1 -> 0.out1 + in1
    1.out0 -> 0.out0, 1.in1 -> 0.tmp0       # two transfers in one message
    0.out1 -> 1.out1 via 2                  # by route 2

The first line names the schedule and its collective.  `root=3`, `cut=...`, `scratch=...` and
`modes=...` may follow: `cut=4` is four equal pieces a block, `cut=3,2` are weights, `cut=3,2;1` are
weights per block; `modes=in` or `modes=out` is for a schedule that works only in place, or only out
of place.
"""

from __future__ import annotations

import io
import re
from array import array
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from weft.checks import require_range
from weft.collective import MOST_CONTENTS, WHOLE, Collective, Table, equal_weights
from weft.errors import BadInput
from weft.schedule.schedule import COLUMNS, MOST_TRANSFERS, NONE, TRANSFER, Schedule, scratch_used

_TRANSFER = re.compile(
    r"(?P<src>\d+)\.(?P<src_slot>[a-z]+\d+)\s*->\s*(?P<dst>\d+)\.(?P<dst_slot>[a-z]+\d+)"
    r"(\s*\+\s*(?P<addend>[a-z]+\d+))?(\s+via\s+(?P<route>\d+))?"
)
_MODES = {"in": (True, False), "out": (False, True), "in,out": (True, True)}
MOST_LINE = 1 << 24  # characters; weights, or the transfers of a message, may be many
_MOST_DIGITS = 9  # fits 32 bits


def transfer_text(collective: Collective, transfer: Table) -> str:
    """One transfer, as in `0.in0 -> 1.out0 + in0 via 2`."""
    src, dst, src_slot, dst_slot, addend, _, route = transfer.tolist()
    text = f"{place_text(collective, src, src_slot)} -> {place_text(collective, dst, dst_slot)}"
    if addend != NONE:
        text += f" + {collective.slot_name(addend)}"
    return f"{text} via {route}" if route else text


def place_text(collective: Collective, rank: int, slot: int) -> str:
    return f"{rank}.{collective.slot_name(slot)}"


def parse_place(schedule: Schedule, text: str) -> tuple[int, int]:
    """Read `3.out1` as (rank, slot) of a schedule."""
    found = re.fullmatch(r"(\d+)\.([a-z]+\d+)", text.strip())
    if not found:
        raise BadInput(f"{text[:40]!r} is not a place: write RANK.SLOT, as in 3.out1")
    rank, slot = _whole(found[1]), _slot_number(schedule.collective, found[2])
    if rank >= schedule.collective.ranks or slot >= schedule.slots:
        raise BadInput(f"{text} is not a place of {schedule!r}: take a rank and slot that it has")
    return rank, slot


def format_text(schedule: Schedule) -> str:
    """Write a schedule down; `parse_text` reads it back."""
    collective = schedule.collective
    lines = [f"{schedule.name}: {' '.join([collective.name, *_options(schedule)])}"]
    numbered = enumerate(schedule.transfers["message"].tolist())
    for _, group in groupby(numbered, key=lambda at: at[1] if at[1] != NONE else NONE - at[0]):
        message = schedule.transfers[[number for number, _ in group]]
        lines.append(", ".join(transfer_text(collective, transfer) for transfer in message))
    return "\n".join(lines) + "\n"


def parse_text(text: str) -> Schedule:
    """Read a schedule; the error names the line."""
    header: _Header | None = None
    rows = array("i")
    for number, line in enumerate(io.StringIO(text), 1):
        content = line.split("#")[0].strip()
        try:
            require_range("the length of the line", len(line), 0, MOST_LINE)
            if content and header is None:
                header = _parse_header(content)
            elif content and header:
                _parse_line(header.collective, content, number, rows)
        except BadInput as problem:
            raise BadInput(f"line {number}: {problem}") from None
    if header is None:
        raise BadInput("the text is empty: begin with a line like `mine: allreduce ranks=2`")
    return _finish(header, rows)


@dataclass(frozen=True, slots=True)
class _Header:
    name: str
    collective: Collective
    scratch: int | None
    in_place: bool
    out_of_place: bool


def _options(schedule: Schedule) -> list[str]:
    c = schedule.collective
    options = [f"ranks={c.ranks}"]
    if c.root is not None:
        options.append(f"root={c.root}")
    if c.weights != WHOLE:
        options.append("cut=" + ";".join(_cut_text(weights) for weights in c.weights))
    if schedule.scratch != scratch_used(c, schedule.transfers):
        options.append(f"scratch={schedule.scratch}")
    if not (schedule.in_place and schedule.out_of_place):
        options.append(f"modes={'in' if schedule.in_place else 'out'}")
    return options


def _cut_text(weights: tuple[int, ...]) -> str:
    return str(len(weights)) if set(weights) == {1} else ",".join(map(str, weights))


def _parse_header(line: str) -> _Header:
    name, colon, rest = line.rpartition(":")
    kind, *words = rest.split() or [""]
    pairs = [word.partition("=") for word in words]
    options = {key: value for key, _, value in pairs}
    if not (colon and kind and all(equals for _, equals, _ in pairs)):
        raise BadInput(
            f"{line[:60]!r} is not a header: write NAME: COLLECTIVE ranks=N, "
            "as in `mine: allreduce ranks=2`"
        )
    if len(options) < len(pairs):
        raise BadInput(f"{line[:60]!r} says one thing twice: give each option once")
    unknown = options.keys() - {"ranks", "root", "cut", "scratch", "modes"}
    if unknown:
        raise BadInput(f"{min(unknown)[:40]}=: the options are ranks, root, cut, scratch and modes")
    if "ranks" not in options:
        raise BadInput("ranks= is missing: say how many ranks there are, as in ranks=4")
    if options.get("modes", "in,out") not in _MODES:
        raise BadInput(
            f"modes={options['modes'][:40]}: write modes=in or modes=out, or leave it out for both"
        )
    root = _whole(options["root"]) if "root" in options else None
    weights = _parse_cuts(options.get("cut", "1").split(";"))
    collective = Collective.named(kind, _whole(options["ranks"]), root, weights)
    scratch = _whole(options["scratch"]) if "scratch" in options else None
    return _Header(name.strip(), collective, scratch, *_MODES[options.get("modes", "in,out")])


def _parse_cuts(texts: list[str]) -> tuple[tuple[int, ...], ...]:
    """Several numbers of pieces are added up before any of them is made."""
    if len(texts) > 1:
        pieces = sum(_whole(text) for text in texts if "," not in text)
        require_range("the number of pieces of all blocks", pieces, 0, MOST_CONTENTS)
    return tuple(_parse_cut(text) for text in texts)


def _parse_cut(text: str) -> tuple[int, ...]:
    weights = tuple(_whole(weight) for weight in text.split(","))
    return equal_weights(weights[0]) if len(weights) == 1 else weights


def _parse_line(collective: Collective, line: str, number: int, rows: array[int]) -> None:
    transfers = line.split(",")
    message = number if len(transfers) > 1 else NONE
    for text in transfers:
        rows.extend(_parse_transfer(collective, text.strip(), message))
    if len(rows) > MOST_TRANSFERS * len(COLUMNS):
        raise BadInput(f"more than {MOST_TRANSFERS} transfers: that is more than we read")


def _parse_transfer(collective: Collective, text: str, message: int) -> tuple[int, ...]:
    found = _TRANSFER.fullmatch(text)
    if not found:
        raise BadInput(
            f"{text[:60]!r} is not a transfer: write RANK.SLOT -> RANK.SLOT, "
            "then + SLOT and via ROUTE if wanted"
        )
    slots = {
        name: _slot_number(collective, found[name])
        for name in ("src_slot", "dst_slot", "addend")
        if found[name]
    }
    numbers = {name: _whole(found[name]) for name in ("src", "dst", "route") if found[name]}
    row = {"addend": NONE, "route": 0, "message": message} | slots | numbers
    return tuple(row[name] for name in COLUMNS)


def _slot_number(collective: Collective, name: str) -> int:
    kind, number = name.rstrip("0123456789"), _whole(name.lstrip("abcdefghijklmnopqrstuvwxyz"))
    kinds = {
        "in": (collective.input, collective.inputs),
        "out": (collective.output, collective.outputs),
    }
    if kind == "tmp":
        return collective.scratch(number)
    if kind not in kinds:
        raise BadInput(f"{name!r} is not a slot: there are in, out and tmp, as in out1")
    place, count = kinds[kind]
    if number >= count:
        raise BadInput(f"{name} does not exist: {collective!r} has {kind}0 to {kind}{count - 1}")
    return place(number)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise BadInput(f"{text[:40]!r} is not a whole number of at most {_MOST_DIGITS} digits")
    return int(text)


def _finish(header: _Header, rows: array[int]) -> Schedule:
    transfers = np.array(rows, np.int32).view(TRANSFER)
    used = scratch_used(header.collective, transfers)
    scratch = used if header.scratch is None else header.scratch
    modes = (header.in_place, header.out_of_place)
    return Schedule(header.name, header.collective, transfers, scratch, *modes)
