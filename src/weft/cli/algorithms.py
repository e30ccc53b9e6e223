"""weft algorithms      exit 0, or 2: bad input"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli.printing import print_json, print_plain, print_table, shown, working
from weft.collective import Collective, broadcast
from weft.errors import BadInput, WrongSchedule
from weft.formats.files import save
from weft.kinds import Kind
from weft.schedule.schedule import Schedule
from weft.schedule.traffic import blocks_sent
from weft.schedule.verify import verify
from weft.synthesis.classic.algorithms import ALGORITHMS, Algorithm
from weft.topology.topology import Topology
from weft.topology.zoo import find_topology

USUAL_RANKS = 8

Wanted = Annotated[Kind | None, typer.Argument(help="Only for this one.", show_default=False)]
Ranks = Annotated[int | None, typer.Option("--ranks", "-n", help="How many ranks; 8 if not said.")]
Root = Annotated[int, typer.Option(help="The root of those that have one.")]
Routes = Annotated[
    str | None,
    typer.Option("--topology", "-t", help="Show which fit ring:8, torus:4x4, a file, ..."),
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
        machine = find_topology(topology) if topology is not None else None
        count = _rank_count(ranks, machine)
        broadcast(count, root=root)  # So that nonsense is refused for all.
        rows = [
            _row(algorithm, count, root, machine, write)
            for algorithm in ALGORITHMS
            if collective in {None, algorithm.kind}
        ]
    if all(row["error"] for row in rows):
        raise BadInput(rows[0]["error"])
    if json:
        print_json(rows)
    else:
        _print(rows, count, machine)
    return 0


def _rank_count(ranks: int | None, machine: Topology | None) -> int:
    if machine is None:
        return USUAL_RANKS if ranks is None else ranks
    if ranks not in {None, machine.ranks}:
        raise BadInput(f"--ranks is {ranks}, {machine.name} has {machine.ranks}: leave --ranks out")
    return machine.ranks


def _row(
    algorithm: Algorithm, ranks: int, root: int, machine: Topology | None, folder: Path | None
) -> dict[str, Any]:
    row: dict[str, Any] = {"collective": algorithm.kind, "algorithm": algorithm.name, "error": None}
    try:
        whole = Collective(algorithm.kind, ranks, root if algorithm.kind.rooted else None)
        schedule = algorithm.build(whole)
    except BadInput as problem:
        return row | {"error": str(problem)}
    verify(schedule)
    sent = [blocks / max(whole.inputs, whole.outputs) for blocks in blocks_sent(schedule)]
    return row | {
        "ranks": ranks,
        "transfers": len(schedule),
        "messages": schedule.messages,
        "most_sent": str(max(sent)),
        "all_sent": str(sum(sent)),
        "lacks_route": _lacking(schedule, machine) if machine else None,
        "file": str(_write(schedule, folder)) if folder else None,
    }


def _print(rows: list[dict[str, Any]], ranks: int, machine: Topology | None) -> None:
    table = [
        {
            "collective": row["collective"],
            "algorithm": row["algorithm"],
            "transfers": row["transfers"],
            "messages": row["messages"],
            "most by one rank": f"{row['most_sent']} S",
            "by all": f"{row['all_sent']} S",
        }
        | ({f"on {machine.name}": _fit(row["lacks_route"])} if machine else {})
        for row in rows
        if not row["error"]
    ]
    print_table(table, numbers=frozenset({"transfers", "messages"}))
    print_plain(f"\nSent over {ranks} ranks. S is what a rank gives or gets, whichever is more.")
    for row in rows:
        if row["error"]:
            print_plain(f"left out: {row['algorithm']} {row['collective']}: {row['error']}")
        elif row["file"]:
            print_plain(f"wrote {shown(row['file'])}")


def _fit(lacks_route: str | None) -> str:
    return f"no route for {lacks_route}" if lacks_route else "fits"


def _lacking(schedule: Schedule, machine: Topology) -> str | None:
    """The first transfer for which the topology has no route, if there is one."""
    try:
        verify(schedule, machine)
    except WrongSchedule as wrong:
        return wrong.finding.transfer
    return None


def _write(schedule: Schedule, folder: Path) -> Path:
    name = f"{schedule.name} {schedule.collective.name} {schedule.collective.ranks}"
    path = folder / f"{name.lower().replace(' ', '-')}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise BadInput(f"{folder} cannot be made: {problem.strerror}") from None
    save(schedule, path)
    return path
