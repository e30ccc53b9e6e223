"""What the commands print with."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import msgspec
from rich.console import Console

screen = Console(highlight=False, soft_wrap=True)


def print_plain(text: str) -> None:
    """Print text as it is: no markup, no wrapping."""
    screen.print(text, markup=False)


def shown(text: object) -> str:
    """Text from outside, without what could write on the terminal."""
    return "".join(c if c.isprintable() else " " for c in str(text))


def print_json(data: Any) -> None:
    print_plain(msgspec.json.format(msgspec.json.encode(data)).decode())


def print_table(rows: list[dict[str, Any]], *, numbers: frozenset[str]) -> None:
    """Print rows under the titles of the first; `numbers` are the titles to align to the right."""
    lines = [list(rows[0]), *([str(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for number, line in enumerate(lines):
        cells = [
            cell.rjust(width) if title in numbers else cell.ljust(width)
            for cell, width, title in zip(line, widths, rows[0], strict=True)
        ]
        screen.print("  ".join(cells).rstrip(), markup=False, style="bold" if number == 0 else None)


@contextmanager
def working(what: str) -> Generator[Callable[[str], None]]:
    """Show on a terminal, beside the output, what is being done; it may be said anew."""
    with Console(stderr=True).status(what) as status:
        yield status.update
