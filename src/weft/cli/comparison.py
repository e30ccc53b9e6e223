"""How `weft algorithms` compares those for one collective on one machine."""

from __future__ import annotations

from pathlib import Path
from shutil import get_terminal_size
from typing import Any

from weft.cli.printing import print_json, print_plain, print_table, shown, working
from weft.cli.writing import write_schedule
from weft.collective import Collective
from weft.comparison import Comparison, Contender, Win, compare
from weft.errors import BadInput
from weft.formats.files import write_bytes
from weft.topology.topology import Topology
from weft.units import parse_sweep, size_text, time_text
from weft.view.chart import Chart
from weft.view.svg_chart import chart_svg
from weft.view.text_chart import chart_text

WIDE = 110  # columns of a terminal for four sizes in the table; else there are two


def show_comparison(
    collective: Collective,
    machine: Topology,
    *,
    size: str | None,
    plot: Path | None,
    write: Path | None,
    json: bool,
) -> int:
    sizes = parse_sweep(size) if size is not None else None
    if plot and plot.suffix != ".svg":
        raise BadInput(f"--plot draws an SVG, and {plot} does not end in .svg: name it so")
    if plot and collective.heard_is_enough:
        raise BadInput("--plot draws times over sizes, of which a barrier has none: leave it out")
    if plot and sizes and not sizes[1:]:
        raise BadInput(f"--plot draws times over sizes, --size {size} is one: give FROM:TO")
    with working(f"comparing algorithms for {collective.name}") as say:
        found = compare(collective, machine, sizes, report=say)
        files = {
            each.name: str(write_schedule(each.schedule, write))
            for each in found.contenders
            if write
        }
        plot = plot if found.contenders else None
        if plot:
            write_bytes(chart_svg(_chart(found)).encode(), plot)
    if json:
        print_json(_data(found, files) | {"plot": str(plot) if plot else None})
    else:
        _print(found)
        for path in [*files.values(), plot] if plot else files.values():
            print_plain(f"wrote {shown(path)}")
    return 0 if found.contenders else 1


def _chart(found: Comparison) -> Chart:
    return Chart(
        title=f"{found.collective!r}, on {found.topology.name}",
        sizes=found.sizes,
        lines={each.name: each.times for each in found.contenders},
        winners=found.winners,
    )


def _print(found: Comparison) -> None:
    print_plain(f"{found.collective!r}, on {found.topology.name}\n")
    if found.contenders:
        rows = [_row(each, found) for each in found.contenders]
        words = {"algorithm", "most by one rank", "by all", "fastest"}
        print_table(rows, numbers=frozenset(rows[0]) - words)
        print_plain("\nS is the size: what a rank gives or gets, whichever is more.")
    for each in found.left_out:
        print_plain(f"left out: {each.name}: {each.why}")
    if found.contenders and len(found.sizes) > 1:
        print_plain(f"\n{chart_text(_chart(found), get_terminal_size().columns)}")


def _row(each: Contender, found: Comparison) -> dict[str, Any]:
    most = 4 if get_terminal_size().columns >= WIDE else 2
    steps = max(1, min(most, len(found.sizes)) - 1)
    places = sorted({step * (len(found.sizes) - 1) // steps for step in range(steps + 1)})
    return {
        "algorithm": each.name,
        "messages": each.schedule.messages,
        "most by one rank": f"{each.most_sent} S",
        "by all": f"{each.all_sent} S",
        **{_heading(found, place): time_text(each.times[place]) for place in places},
        "fastest": ", ".join(_range(win) for win in found.wins if win.name == each.name),
    }


def _heading(found: Comparison, place: int) -> str:
    return f"at {size_text(found.sizes[place])}" if found.sizes[place] else "time"


def _range(win: Win) -> str:
    if not win.last:
        return "yes"
    first, last = size_text(win.first), size_text(win.last)
    return first if first == last else f"{first} to {last}"


def _data(found: Comparison, files: dict[str, str]) -> dict[str, Any]:
    return {
        "collective": found.collective.name,
        "ranks": found.collective.ranks,
        "root": found.collective.root,
        "topology": found.topology.name,
        "sizes": found.sizes,
        "fastest": found.winners,
        "algorithms": [
            {
                "algorithm": each.name,
                "transfers": len(each.schedule),
                "messages": each.schedule.messages,
                "most_sent": str(each.most_sent),
                "all_sent": str(each.all_sent),
                "times_ps": each.times,
                "segments": each.segments,
                "wins": [[win.first, win.last] for win in found.wins if win.name == each.name],
                "file": files.get(each.name),
            }
            for each in found.contenders
        ],
        "left_out": [{"algorithm": each.name, "why": each.why} for each in found.left_out],
    }
