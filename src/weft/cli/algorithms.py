"""weft algorithms      exit 0; 1: none of them runs on the machine, 2: bad input"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli.comparison import show_comparison
from weft.cli.printing import print_json, print_plain, print_table, shown, working
from weft.cli.writing import write_schedule
from weft.collective import Collective
from weft.comparison import lacking_route, sent
from weft.errors import BadInput
from weft.kinds import Kind
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
    typer.Option(
        "--topology",
        "-t",
        help="ring:8, torus:4x4, a file, ...: show which fit it, or compare those for COLLECTIVE.",
    ),
]
Size = Annotated[
    str | None,
    typer.Option(
        "--size",
        "-s",
        help="Compare them at FROM:TO, doubled, or FROM:TO:FACTOR, as in 1K:1G:4; "
        "4:4G:4 if not said.",
    ),
]
Plot = Annotated[
    Path | None, typer.Option(help="Draw the comparison as an SVG file.", dir_okay=False)
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
    size: Size = None,
    plot: Plot = None,
    write: Write = None,
    json: Json = False,
) -> int:
    """List the algorithms: their messages, and what a rank sends.

    With a collective and a topology, compare them there at all sizes:

    weft algorithms allreduce --topology cluster:16 --plot allreduce.svg
    """
    machine = find_topology(topology) if topology is not None else None
    count = _rank_count(ranks, machine)
    if collective and root and not collective.rooted:
        raise BadInput(f"--root is {root}, but {collective} has none: leave it out")
    asked = collective or Kind.BROADCAST
    whole = Collective(asked, count, root if asked.rooted else None)
    if collective and machine:
        return show_comparison(whole, machine, size=size, plot=plot, write=write, json=json)
    if size is not None or plot:
        option = "--plot" if size is None else "--size"
        raise BadInput(f"{option} is for a comparison: give a collective and --topology too")
    with working("building and verifying"):
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
    by_one, by_all = sent(schedule)
    return row | {
        "ranks": ranks,
        "transfers": len(schedule),
        "messages": schedule.messages,
        "most_sent": str(by_one),
        "all_sent": str(by_all),
        "lacks_route": lacking_route(schedule, machine) if machine else None,
        "file": str(write_schedule(schedule, folder)) if folder else None,
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
