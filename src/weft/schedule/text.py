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

import re
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from weft.collective import WHOLE, Collective, Table, equal_weights
from weft.errors import BadInput
from weft.schedule.schedule import COLUMNS, NONE, TRANSFER, Schedule

_HEADER = re.compile(r"(?P<name>.+):\s*(?P<collective>[a-z]+)(?P<options>(\s+\w+=\S+)*)")
_TRANSFER = re.compile(
    r"(?P<src>\d+)\.(?P<src_slot>[a-z]+\d+)\s*->\s*(?P<dst>\d+)\.(?P<dst_slot>[a-z]+\d+)"
    r"(\s*\+\s*(?P<addend>[a-z]+\d+))?(\s+via\s+(?P<route>\d+))?"
)
_MODES = {"in": (True, False), "out": (False, True), "in,out": (True, True)}
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
        raise BadInput(f"{text[:40]!r} is no place: write RANK.SLOT, as in 3.out1")
    rank, slot = _whole(found[1]), _slot_number(schedule.collective, found[2])
    if rank >= schedule.collective.ranks or slot >= schedule.slots:
        raise BadInput(f"{text} is no place of {schedule!r}: take a rank and slot that it has")
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
    lines = [
        (number, line.split("#")[0].strip()) for number, line in enumerate(text.splitlines(), 1)
    ]
    content = [(number, line) for number, line in lines if line]
    if not content:
        raise BadInput("the text is empty: begin with a line like `mine: allreduce ranks=2`")
    number, first = content[0]
    try:
        header = _parse_header(first)
        rows: list[tuple[int, ...]] = []
        for number, line in content[1:]:
            rows += _parse_line(header.collective, line, number)
        return _finish(header, rows)
    except BadInput as problem:
        raise BadInput(f"line {number}: {problem}") from None


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
    if schedule.scratch != _scratch_used(c, schedule.transfers):
        options.append(f"scratch={schedule.scratch}")
    if not (schedule.in_place and schedule.out_of_place):
        options.append(f"modes={'in' if schedule.in_place else 'out'}")
    return options


def _cut_text(weights: tuple[int, ...]) -> str:
    return str(len(weights)) if set(weights) == {1} else ",".join(map(str, weights))


def _scratch_used(collective: Collective, transfers: Table) -> int:
    last = max(int(transfers[name].max(initial=0)) for name in ("src_slot", "dst_slot", "addend"))
    return max(0, last + 1 - collective.scratch(0))


def _parse_header(line: str) -> _Header:
    found = _HEADER.fullmatch(line)
    if not found:
        raise BadInput(
            f"{line[:60]!r} is no header: write NAME: COLLECTIVE ranks=N, "
            "as in `mine: allreduce ranks=2`"
        )
    options = dict(option.split("=", 1) for option in found["options"].split())
    unknown = options.keys() - {"ranks", "root", "cut", "scratch", "modes"}
    if unknown:
        raise BadInput(f"{min(unknown)}=: the options are ranks, root, cut, scratch and modes")
    if "ranks" not in options:
        raise BadInput("ranks= is missing: say how many ranks there are, as in ranks=4")
    if options.get("modes", "in,out") not in _MODES:
        raise BadInput(
            f"modes={options['modes']}: write modes=in or modes=out, or leave it out for both"
        )
    root = _whole(options["root"]) if "root" in options else None
    weights = tuple(_parse_cut(part) for part in options.get("cut", "1").split(";"))
    collective = Collective.named(found["collective"], _whole(options["ranks"]), root, weights)
    scratch = _whole(options["scratch"]) if "scratch" in options else None
    return _Header(
        found["name"].strip(), collective, scratch, *_MODES[options.get("modes", "in,out")]
    )


def _parse_cut(text: str) -> tuple[int, ...]:
    weights = tuple(_whole(weight) for weight in text.split(","))
    return equal_weights(weights[0]) if len(weights) == 1 else weights


def _parse_line(collective: Collective, line: str, message: int) -> list[tuple[int, ...]]:
    transfers = line.split(",")
    return [
        _parse_transfer(collective, text.strip(), message if len(transfers) > 1 else NONE)
        for text in transfers
    ]


def _parse_transfer(collective: Collective, text: str, message: int) -> tuple[int, ...]:
    found = _TRANSFER.fullmatch(text)
    if not found:
        raise BadInput(
            f"{text[:60]!r} is no transfer: write RANK.SLOT -> RANK.SLOT, "
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
        raise BadInput(f"{name!r} is no slot: there are in, out and tmp, as in out1")
    place, count = kinds[kind]
    if number >= count:
        raise BadInput(f"{name} does not exist: {collective!r} has {kind}0 to {kind}{count - 1}")
    return place(number)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise BadInput(f"{text[:40]!r} is no whole number of at most {_MOST_DIGITS} digits")
    return int(text)


def _finish(header: _Header, rows: list[tuple[int, ...]]) -> Schedule:
    transfers = np.array(rows, TRANSFER)
    used = _scratch_used(header.collective, transfers)
    scratch = used if header.scratch is None else header.scratch
    return Schedule(
        header.name, header.collective, transfers, scratch, header.in_place, header.out_of_place
    )
