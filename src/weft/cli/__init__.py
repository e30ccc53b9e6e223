"""The command line: one file per command, nothing but arguments, printing and exit codes.

Exit codes: 0 yes; 1 the answer is no (a wrong schedule, a run that fails); 2 the request cannot be
carried out.  Where a pipe closes before all is written, SIGPIPE ends it.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from io import TextIOWrapper
from typing import Annotated

import typer
from typer.exceptions import TyperException

from weft.cli.algorithms import algorithms
from weft.cli.calls import calls
from weft.cli.demo import demo
from weft.cli.export import export
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
app.command()(export)
app.command()(calls)


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
    if arguments is None:  # The process is this command's: it ends as others do when a pipe closes.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # It is None where it is closed.
            stream.reconfigure(errors="backslashreplace")
    if sys.stdout is None:
        sys.exit(_complain("the output cannot be written: it is closed"))
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
    if message and sys.stderr:  # There is no message where the help has been shown instead.
        with suppress(OSError):  # The exit code says it too.
            sys.stderr.write(f"weft: {shown(message)}\n")
    return 2
