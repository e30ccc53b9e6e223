"""weft verify FILE      exit 0: correct, 1: wrong (see stdout), 2: bad input"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli.printing import print_json, print_plain, shown, working
from weft.errors import WrongSchedule
from weft.formats.files import read_with_runtimes
from weft.schedule.explain import story
from weft.schedule.finding import Finding, Held, Write
from weft.schedule.replay import MOST_WRITES, modes
from weft.schedule.schedule import Schedule
from weft.schedule.text import parse_place
from weft.schedule.verify import verify as prove
from weft.topology.zoo import find_topology

File = Annotated[
    Path, typer.Argument(help="A schedule in any format that weft reads.", show_default=False)
]
Routes = Annotated[
    str | None,
    typer.Option("--topology", "-t", help="Check the routes too: ring:8, torus:4x4, a file, ..."),
]
At = Annotated[str | None, typer.Option(help="Show all that is written to a slot, as in 3.out1.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def verify(file: File, topology: Routes = None, at: At = None, json: Json = False) -> int:
    """Prove that a schedule does what it says; exit code 1 if it does not.

    weft verify ring.json --topology ring:8
    """
    with working(f"verifying {shown(file)}"):
        machine = find_topology(topology) if topology is not None else None
        schedule, runtimes = read_with_runtimes(file)
        place = parse_place(schedule, at) if at is not None else None
        finding = None
        try:
            prove(schedule, machine)
        except WrongSchedule as wrong:
            finding = wrong.finding
        stories = {m.name: story(schedule, m, place) for m in modes(schedule)} if place else {}
    if json:
        print_json(_data(schedule, finding, stories) | {"runtimes": runtimes})
    else:
        command = shlex.join(["weft", "verify", str(file)])
        print_plain(_text(schedule, finding, shown(command)))
        for runtime, problems in runtimes.items() if finding is None else ():
            print_plain(f"{runtime}: {shown(problems[0])}" if problems else f"{runtime}: takes it")
            if len(problems) > 1:
                print_plain(f"  and {len(problems) - 1} more: --json has them all")
        for mode, writes in stories.items():
            print_plain(f"\nWhat is written to {at}, {mode} (the last {MOST_WRITES} at most):")
            print_plain("\n".join(f"  {write}" for write in writes) or "  nothing")
    return 1 if finding else 0


def _text(schedule: Schedule, finding: Finding | None, command: str) -> str:
    if finding:
        return f"WRONG  {finding.explain(command)}"
    claims = " and ".join(mode.name for mode in modes(schedule))
    return f"ok     {schedule.name}, {schedule.collective!r}: {schedule.size_text}, {claims}"


def _data(
    schedule: Schedule, finding: Finding | None, stories: dict[str, list[Write]]
) -> dict[str, Any]:
    data = {
        "correct": finding is None,
        "name": schedule.name,
        "collective": schedule.collective.name,
        "ranks": schedule.collective.ranks,
        "transfers": len(schedule),
        "messages": schedule.messages,
        "modes": [mode.name for mode in modes(schedule)],
        "finding": finding and _finding_data(finding),
    }
    if stories:
        data["writes"] = {
            mode: [_write_data(w) for w in writes] for mode, writes in stories.items()
        }
    return data


def _finding_data(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "mode": finding.mode,
        "transfer": finding.number,
        "text": finding.transfer,
        "place": finding.place,
        "start": _held_data(finding.start),
        "got": _held_data(finding.got),
        "want": _held_data(finding.want),
        "history": [_write_data(write) for write in finding.history],
        "origin": [_write_data(write) for write in finding.origin],
    }


def _write_data(write: Write) -> dict[str, Any]:
    return {"transfer": write.number, "text": write.transfer, "held": _held_data(write.held)}


def _held_data(held: Held | None) -> dict[str, Any] | None:
    return {"piece": held.piece, "ranks": dict(held.ranks)} if held else None
