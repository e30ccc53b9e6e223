"""weft export FILE      exit 0, or 2: bad input, or it does not fit the target"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, cast

import typer

from weft.cli.printing import print_json, print_plain, shown, working
from weft.errors import BadInput, WrongSchedule
from weft.formats.export import Options, Target
from weft.formats.export import export as write
from weft.formats.files import read_schedule
from weft.topology.zoo import find_topology
from weft.units import counted, parse_size

File = Annotated[
    Path, typer.Argument(help="A schedule in any format that weft reads.", show_default=False)
]
To = Annotated[Target, typer.Option("--to", help="What the file is for.", show_default=False)]
Output = Annotated[Path, typer.Option("--output", "-o", help="Where to; of chakra the prefix.")]
InPlace = Annotated[bool, typer.Option("--in-place", help="For calls in place alone.")]
Parts = Annotated[
    int | None, typer.Option(help="Do it with so many parts of each block side by side.")
]
Protocol = Annotated[str | None, typer.Option(help="Simple, LL or LL128; Simple if not said.")]
Least = Annotated[str | None, typer.Option("--min-size", help="The least size it is for.")]
Most = Annotated[str | None, typer.Option("--max-size", help="The largest size it is for.")]
Size = Annotated[str | None, typer.Option("--size", "-s", help="What a rank gives or gets: 64M.")]
Machine = Annotated[
    str | None, typer.Option("--topology", "-t", help="Where speeds are from: ring:8, a file, ...")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def export(
    file: File,
    to: To,
    output: Output,
    in_place: InPlace = False,
    parts: Parts = None,
    protocol: Protocol = None,
    min_size: Least = None,
    max_size: Most = None,
    size: Size = None,
    topology: Machine = None,
    json: Json = False,
) -> int:
    """Write a schedule for another program, and prove what is written.

    weft export ring.json --to msccl-executor -o ring.xml --parts 4
    """
    given = {
        "in_place": in_place or None,
        "parts": parts,
        "protocol": protocol,
        "min_size": _size(min_size),
        "max_size": _size(max_size),
        "size": _size(size),
        "topology": None if topology is None else find_topology(topology),
    }
    options = cast("Options", {name: value for name, value in given.items() if value is not None})
    with working(f"exporting {shown(file)}"):
        schedule = read_schedule(file)
        try:
            paths = write(schedule, output, to, **options)
        except WrongSchedule:
            command = shlex.join(["weft", "verify", str(file)])
            raise BadInput(f"{file} is a wrong schedule: `{command}` shows why") from None
    if json:
        print_json({"target": to, "files": [str(path) for path in paths]})
    elif len(paths) > 1:
        print_plain(f"wrote {counted(len(paths), 'file')}: {shown(paths[0])} to {shown(paths[-1])}")
    else:
        print_plain(f"wrote {shown(paths[0])}")
    return 0


def _size(text: str | None) -> int | None:
    return None if text is None else parse_size(text)
