"""Write the page that compares all algorithms on a flat machine, and its pictures.

`make docs` runs it, by the command that the page names; a test holds part of it to the code.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from weft.kinds import Kind
from weft.units import size_text, time_text

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "which-algorithm.md"
PICTURES = ROOT / "docs" / "pictures"
MACHINE = "cluster:16"
SHOWN = (1 << 6, 1 << 14, 1 << 22, 1 << 32)  # the sizes of the tables

LEAD = f"""\
# Which algorithm, when

All algorithms on {MACHINE}, a flat machine with message overheads: each rank has a NIC of
12.5 GB/s, a message takes 1 us of work at either end and 1 us on its way. S is what a rank gives or
gets, whichever is more. The tables and pictures are simulated, and made by the command above each.
[Your machine](../how-to/choose-an-algorithm.md) has other answers; what each algorithm does is on
the [reference page](../reference/algorithms.md), and in a file of its own.

Small sizes are won by those with the fewest messages one after another: trees, recursive doubling,
Bruck. Large ones are won by those in which every rank sends the least, steadily: rings, direct
exchanges, and chains, through which segments flow. In between there is no rule; that is why one
simulates.
"""


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    PAGE.write_text("\n".join([LEAD, *map(section, Kind)]))


def section(kind: Kind, folder: Path = PICTURES) -> str:
    """The table of one collective; its picture is written into the folder."""
    picture = folder / f"{kind}.svg"
    command = ["algorithms", kind, "--topology", MACHINE]
    plots = [] if kind is Kind.BARRIER else ["--plot", str(picture)]
    done = subprocess.run(
        [sys.executable, "-m", "weft", *command, "--json", *plots],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    shown = [size for size in SHOWN if size in found["sizes"]] or found["sizes"]
    titles = ["algorithm", "fastest", "messages", "most by one rank", "by all"]
    titles += [f"at {size_text(size)}" if size else "time" for size in shown]
    rows = [titles, ["---"] * len(titles)]
    rows += [_row(each, found["sizes"], shown) for each in found["algorithms"]]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    left_out = "".join(f"\nLeft out: {e['algorithm']}: {e['why']}.\n" for e in found["left_out"])
    image = f"\n![Time against size of each {kind}](../pictures/{kind}.svg)\n" if plots else ""
    return f"## {kind}\n\n`weft {' '.join(command)}`\n\n{table}\n{left_out}{image}"


def _row(each: dict[str, Any], sizes: list[int], shown: list[int]) -> list[str]:
    times = [time_text(each["times_ps"][sizes.index(size)]) for size in shown]
    wins = [
        size_text(low) if low == high else f"{size_text(low)} to {size_text(high)}"
        for low, high in each["wins"]
    ]
    sent = [f"{each[name]} S" for name in ("most_sent", "all_sent")]
    fastest = ", ".join(wins) if shown != [0] else "yes" * bool(wins)
    return [each["algorithm"], fastest, str(each["messages"]), *sent, *times]


if __name__ == "__main__":
    main()
