"""Write the reference pages from the code that they describe; `make docs` runs it.

A test compares the pages with what this makes, so they cannot grow stale.
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect as types

import weft
from weft import _native
from weft.checks import Fields
from weft.formats.weft_json import ScheduleFile, TopologyFile
from weft.schedule import text
from weft.schedule.replay import RULES
from weft.synthesis.classic.algorithms import ALGORITHMS

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
COMMANDS = ("", "demo", "verify", "algorithms", "simulate", "export", "calls")
LIVES = re.compile(r"(?<=<!-- from native/engine/engine.hpp -->\n).*?(?=<!-- end -->)", re.DOTALL)

RULES_LEAD = """\
# Rules of the verifier

Each of these holds for every transfer at its turn; the last one holds for what is left at the end.
The table is made from the one in `native/verify/verify.cpp`.

| | rule | promise |
|---|---|---|
"""
ALGORITHMS_LEAD = """\
# Algorithms

Here n is the number of ranks, and S what a rank gives or gets, whichever is more. Positions count
ranks from the root. The text of each is its docstring; tests hold the counts to it, for 1 to 64
ranks.

"""
FILES_LEAD = """\
# Files

Schedules and topologies are JSON, or JSON compressed with gzip. Numbers are whole, unknown fields
are refused, and a field with a default may be left out. A schedule is verified whenever it is
loaded; commands also read the [text form](../how-to/write-an-algorithm.md#as-text).
"""
TEXT_LEAD = """\
# Text

Commands read schedules as text; `weft.parse_text` and `weft.format_text` turn one into the
other. What follows `#` is for people.

"""
PYTHON_LEAD = """\
# Python

What `import weft` gives.

| name | |
|---|---|
"""
COMMANDS_LEAD = """\
# Commands

Exit codes: 0 yes, 1 the answer is no, 2 the request cannot be carried out.
"""


def main() -> None:
    for path, page in pages().items():
        path.write_text(page)


def pages() -> dict[Path, str]:
    """Every generated page, and the one that has a generated part."""
    architecture = ROOT / "ARCHITECTURE.md"
    whole = {architecture: LIVES.sub(lives_text(), architecture.read_text())}
    return whole | {REFERENCE / name: page for name, page in _reference_pages().items()}


def _reference_pages() -> dict[str, str]:
    return {
        "rules.md": rules_page(),
        "algorithms.md": algorithms_page(),
        "weft-json.md": files_page(),
        "commands.md": commands_page(),
        "text.md": TEXT_LEAD + (text.__doc__ or "").partition("\n")[2].lstrip("\n"),
        "python.md": python_page(),
    }


def lives_text() -> str:
    """Draw what the engine's table says of a segment's life."""
    lines = []
    for name, arrives, takes_room, gives_room_back in _native.lives():
        needs = "needs + arrival " if arrives else "needs "
        told = "told to leave " if takes_room else "told to be applied "
        lines.append(
            f"{name:9}{needs:-<18}> ready {'-- room ' if takes_room else '':-<10}> "
            f"{told:-<21} ended --> done"
            + (", and its room is given back" if gives_room_back else "")
        )
    return "\n".join(["```text", *lines, "```"]) + "\n"


def rules_page() -> str:
    """The table that the native verifier goes by."""
    rows = [f"| {number} | {name} | {promise} |" for number, (name, promise) in enumerate(RULES, 1)]
    return RULES_LEAD + "\n".join(rows) + "\n"


def algorithms_page() -> str:
    """What each algorithm's docstring says."""
    return ALGORITHMS_LEAD + "\n".join(
        f"## {algorithm.name}: {algorithm.kind}\n\n"
        f"`weft.classic.{algorithm.build.__name__}`\n\n{inspect.getdoc(algorithm.build)}\n"
        for algorithm in ALGORITHMS
    )


def python_page() -> str:
    """The first words on each public name."""
    rows = []
    for name in weft.__all__:
        thing = getattr(weft, name)
        lead = inspect.getdoc(thing) if callable(thing) else "All classic algorithms."
        rows.append(f"| `{name}` | {(lead or '').partition(chr(10))[0]} |")
    return PYTHON_LEAD + "\n".join(rows) + "\n"


def files_page() -> str:
    """Every field of our files, from the types that read them."""
    parts = [FILES_LEAD]
    done: list[type] = []
    for kind in (ScheduleFile, TopologyFile):
        parts += [_record(record) for record in _records(kind) if record not in done]
        done += _records(kind)
    return "\n".join(parts)


def commands_page() -> str:
    """The help of every command, as it prints itself."""
    parts = [COMMANDS_LEAD]
    environment = os.environ | {"COLUMNS": "90", "TERM": "dumb"}
    for command in COMMANDS:
        arguments = [sys.executable, "-m", "weft", *command.split(), "--help"]
        done = subprocess.run(
            arguments, capture_output=True, text=True, check=True, env=environment
        )
        shown = "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines())
        parts.append(f"## weft {command}".rstrip() + f"\n\n```text\n{shown}\n```\n")
    return "\n".join(parts)


def _records(kind: type[Fields]) -> list[type[Fields]]:
    """A record and those within it, outermost first."""
    found = [kind]
    for field in types.type_info(kind).fields:  # type: ignore[attr-defined]
        for inner in _inner_records(field.type):
            found += [record for record in _records(inner) if record not in found]
    return found


def _inner_records(info: Any) -> Iterator[type[Fields]]:
    if isinstance(info, types.StructType) and issubclass(info.cls, Fields):
        yield info.cls
    for name in ("item_type", "type", "value_type"):
        if hasattr(info, name):
            yield from _inner_records(getattr(info, name))
    for inner in getattr(info, "types", ()):
        yield from _inner_records(inner)


def _record(kind: type[Fields]) -> str:
    info = types.type_info(kind)
    assert isinstance(info, types.StructType)
    rows = [f"| `{info.tag_field}` | | Always `{info.tag}`. |"] if info.tag_field else []
    for field in info.fields:
        default = "" if field.required else f"`{_default(field)}`"
        rows.append(f"| `{field.encode_name}` | {default} | {_description(field.type)} |")
    title = info.tag if info.tag_field else kind.__name__.removesuffix("Fields").lower()
    lead = inspect.getdoc(kind)
    return (
        f"## {title}\n\n{lead}\n\n| field | default | meaning |\n|---|---|---|\n"
        + "\n".join(rows)
        + "\n"
    )


def _default(field: types.Field) -> str:
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return msgspec.json.encode(value).decode()


def _description(info: Any) -> str:
    if isinstance(info, types.Metadata) and info.extra_json_schema:
        return str(info.extra_json_schema.get("description", ""))
    if isinstance(info, types.StructType):
        return str(inspect.getdoc(info.cls))
    return ""


if __name__ == "__main__":
    main()
