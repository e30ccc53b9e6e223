"""Runs a function of a module as every rank of a job, and brings back what each said."""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import weft

LONGEST = 240.0  # seconds that a job may take before it is ended


class Outcome(NamedTuple):
    code: int  # of the process, negative for a signal
    said: Any  # what the function returned, or how it failed


def outcomes(program: Callable[..., Any], ranks: int, *arguments: Any) -> list[Outcome]:
    with TemporaryDirectory() as folder:
        what = f"{program.__module__} {program.__name__}"
        command = [sys.executable, __file__, folder, what, json.dumps(arguments)]
        codes = weft.launch(ranks, command, timeout=LONGEST)
        return [Outcome(code, _read(Path(folder, str(rank)))) for rank, code in enumerate(codes)]


def said(program: Callable[..., Any], ranks: int, *arguments: Any) -> list[Any]:
    """What the ranks say, if none of them fails."""
    all_of_them = outcomes(program, ranks, *arguments)
    for rank, (code, words) in enumerate(all_of_them):
        assert code == 0, f"rank {rank} ended with {code}: {words}"
    return [words for _, words in all_of_them]


def _read(file: Path) -> Any:
    return json.loads(file.read_text()) if file.exists() else None


def _be_a_rank(folder: str, what: str, arguments: str) -> int:
    group = weft.Group.join()
    module, name = what.split()
    program = getattr(importlib.import_module(module), name)
    code = 0
    try:
        words = program(group, *json.loads(arguments))
    except Exception:  # noqa: BLE001 - The test is to tell it.
        words, code = traceback.format_exc(), 1
    Path(folder, str(group.rank)).write_text(json.dumps(words))
    return code


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])
    sys.exit(_be_a_rank(*sys.argv[1:]))
