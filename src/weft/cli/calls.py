"""weft calls FILE      exit 0, or 2: bad input"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli.printing import print_json, print_plain, print_table, shown, working
from weft.collective import Collective
from weft.comparison import compare
from weft.errors import BadInput
from weft.formats.chakra.calls import Call
from weft.formats.files import read_calls
from weft.topology.topology import Topology
from weft.topology.zoo import find_topology
from weft.units import size_text, time_text

File = Annotated[Path, typer.Argument(help="A Chakra trace of one rank.", show_default=False)]
Machine = Annotated[
    str | None,
    typer.Option("--topology", "-t", help="Say how long they take on ring:8, a file, ..."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def calls(file: File, topology: Machine = None, json: Json = False) -> int:
    """List the collectives that a trace calls, and how long they take at best on a machine.

    weft calls training.0.et --topology cluster:16
    """
    with working(f"reading {shown(file)}") as say:
        machine = find_topology(topology) if topology is not None else None
        found = read_calls(file)
        if not found:
            raise BadInput(f"{file} calls no collectives: take another trace")
        rows = [_row(call, machine, say) for call in found]
    if json:
        print_json(rows)
        return 0
    print_table([_shown(row) for row in rows], numbers=frozenset({"size", "times", "time each"}))
    if machine:
        total = sum(row["time_ps"] * row["times"] for row in rows if row["time_ps"] is not None)
        print_plain(f"\n{time_text(total)} for all of them on {machine.name}, one after another")
        left_out = sorted({row["group"] for row in rows if row["time_ps"] is None})
        if left_out:
            names = ", ".join(shown(group) for group in left_out)
            print_plain(f"without those of groups that are not all of its ranks: {names}")
    return 0


def _row(call: Call, machine: Topology | None, say: Callable[[str], None]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "collective": call.kind,
        "size": call.size,
        "times": call.times,
        "group": call.group,
        "ranks": call.ranks,
        "algorithm": None,
        "time_ps": None,
    }
    if machine is None or (call.ranks is not None and len(call.ranks) != machine.ranks):
        return row
    collective = Collective.named(call.kind, machine.ranks)
    size = max(call.size, collective.blocks if collective.kind.shape.blocks == 1 else 1)
    found = compare(collective, machine, None if collective.heard_is_enough else [size], report=say)
    if found.contenders:
        winner = next(each for each in found.contenders if each.name == found.winners[0])
        row |= {"algorithm": winner.name, "time_ps": winner.times[0]}
    return row


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    time = row["time_ps"]
    return {
        "collective": row["collective"],
        "size": size_text(row["size"]),
        "times": row["times"],
        "group": shown(row["group"]) or "all",
        "fastest": row["algorithm"] or "",
        "time each": "" if time is None else time_text(time),
    }
