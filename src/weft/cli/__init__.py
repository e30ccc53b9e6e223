"""The command line: one file per command, nothing but arguments, printing and exit codes.

Exit codes: 0 yes; 1 the answer is no (a wrong schedule, a run that fails); 2 the request cannot be
carried out.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import typer
from typer.exceptions import TyperException

from weft.cli.algorithms import algorithms
from weft.cli.demo import demo
from weft.cli.printing import print_plain, shown
from weft.cli.simulate import simulate
from weft.cli.verify import verify
from weft.errors import BadInput

app = typer.Typer(
    help="Collective communication that fits your hardware.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(verify)
app.command()(algorithms)
app.command()(simulate)


def _show_version(wanted: bool) -> None:
    if wanted:
        print_plain(f"weft {version('weft')}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version),
]


@app.callback()
def options(*, version: Version = False) -> None:
    """Collective communication that fits your hardware."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; whatever the caller can fix is one line on stderr and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code = app(arguments, prog_name="weft", standalone_mode=False)
    except TyperException as problem:
        code = _complain(problem.format_message())
    except BadInput as problem:
        code = _complain(str(problem))
    except OSError as problem:  # Files have BadInput; this is the output.
        code = _complain(f"the output cannot be written: {problem.strerror}")
    except MemoryError:
        code = _complain("this machine has not enough memory for that: ask for something smaller")
    sys.exit(code)


def _complain(message: str) -> int:
    if message:  # There is none where the help has been shown instead.
        sys.stderr.write(f"weft: {shown(message)}\n")
    return 2
