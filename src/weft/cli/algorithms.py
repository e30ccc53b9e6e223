"""weft algorithms      exit 0, or 2: bad input"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli.printing import print_json, print_plain, print_table, working
from weft.collective import Collective
from weft.errors import BadInput, WrongSchedule
from weft.formats.files import save
from weft.kinds import Kind
from weft.schedule.schedule import Schedule
from weft.schedule.traffic import blocks_sent
from weft.schedule.verify import verify
from weft.synthesis.classic.algorithms import ALGORITHMS
from weft.topology.topology import Topology
from weft.topology.zoo import find_topology

USUAL_RANKS = 8

Wanted = Annotated[Kind | None, typer.Argument(help="Only for this one.", show_default=False)]
Ranks = Annotated[int | None, typer.Option("--ranks", "-n", help="How many ranks; 8 if not said.")]
Root = Annotated[int, typer.Option(help="The root of those that have one.")]
Routes = Annotated[
    str | None,
    typer.Option("--topology", "-t", help="Say which have their routes on ring:8, a file, ..."),
]
Write = Annotated[
    Path | None, typer.Option(help="Write each as a file into this folder.", file_okay=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def algorithms(
    collective: Wanted = None,
    ranks: Ranks = None,
    root: Root = 0,
    topology: Routes = None,
    write: Write = None,
    json: Json = False,
) -> int:
    """List the algorithms: their messages, and what a rank sends."""
    with working("building and verifying"):
        machine = find_topology(topology) if topology else None
        count = _rank_count(ranks, machine)
        schedules = [
            algorithm.build(Collective(kind, count, root if kind.rooted else None))
            for algorithm in ALGORITHMS
            if (kind := algorithm.kind) and collective in {None, kind}
        ]
        rows = [_row(schedule, machine) for schedule in schedules]
    if json:
        print_json(rows)
    elif rows:
        print_table(rows, numbers=frozenset({"transfers", "messages"}))
        print_plain(f"\nOver {count} ranks. S is what a rank gives or gets, whichever is more.")
    else:
        print_plain(f"none yet for {collective}")
    if write:
        _write(schedules, write)
    return 0


def _rank_count(ranks: int | None, machine: Topology | None) -> int:
    if machine is None:
        return USUAL_RANKS if ranks is None else ranks
    if ranks not in {None, machine.ranks}:
        raise BadInput(f"--ranks is {ranks}, {machine.name} has {machine.ranks}: leave --ranks out")
    return machine.ranks


def _row(schedule: Schedule, machine: Topology | None) -> dict[str, Any]:
    verify(schedule)
    whole = schedule.collective.cut(1)
    sent = [blocks / max(whole.inputs, whole.outputs) for blocks in blocks_sent(schedule)]
    row = {
        "collective": schedule.collective.name,
        "algorithm": schedule.name,
        "transfers": len(schedule),
        "messages": schedule.messages,
        "sent by a rank, most": f"{max(sent)} S",
        "sent by all": f"{sum(sent)} S",
    }
    return row | ({f"on {machine.name}": _fit(schedule, machine)} if machine else {})


def _fit(schedule: Schedule, machine: Topology) -> str:
    """Whether the topology has all the routes, and if not, which is the first to lack."""
    try:
        verify(schedule, machine)
    except WrongSchedule as wrong:
        return f"no route for {wrong.finding.transfer}"
    return "yes"


def _write(schedules: list[Schedule], folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise BadInput(f"{folder} cannot be made: {problem.strerror}") from None
    for schedule in schedules:
        name = f"{schedule.name} {schedule.collective.name} {schedule.collective.ranks}"
        path = folder / f"{name.lower().replace(' ', '-')}.json"
        save(schedule, path)
        print_plain(f"wrote {path}")
