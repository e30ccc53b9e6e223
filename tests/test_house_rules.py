"""House rules that a reviewer should never have to say twice."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import weft
from weft import errors
from weft.cli import app

ROOT = Path(__file__).parents[1]
PYTHON = sorted(
    path
    for room in ("src", "tests", "benchmarks", "scripts")
    for path in ROOT.glob(f"{room}/**/*.py")
)
NATIVE = sorted(path for ending in ("cpp", "hpp") for path in ROOT.glob(f"native/**/*.{ending}"))
MOST_LINES, MOST_FUNCTION_LINES, MOST_ERRORS = 400, 60, 8

PUBLIC_NAMES = """
ALGORITHMS BadInput Collective Fault Group Kind Link Noise Overheads PieceDraft Schedule
ScheduleDraft Stalled Topology Trace WeftError WrongSchedule allgather allgatherv allreduce
alltoall alltoallv barrier both_ways broadcast classic export find_topology format_text gather
gatherv launch load parse_text reduce reducescatter reducescatterv save scatter scatterv simulate
tune verify
"""

needs_the_tree = pytest.mark.tree


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@needs_the_tree
def test_there_are_files_to_check():
    assert len(PYTHON) > 30
    assert len(NATIVE) > 5


@needs_the_tree
def test_files_are_short_or_named_in_the_architecture():
    excused = (ROOT / "ARCHITECTURE.md").read_text().partition("## Files allowed to be long")[2]
    for path in PYTHON + NATIVE:
        name = str(path.relative_to(ROOT))
        assert len(path.read_text().splitlines()) <= MOST_LINES or f"`{name}`" in excused, name


@needs_the_tree
def test_functions_fit_on_a_screen():
    for path in PYTHON:
        for node in functions(path):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= MOST_FUNCTION_LINES, (
                f"{path.name}:{node.lineno} {node.name} has {length} lines"
            )


@needs_the_tree
def test_no_file_is_a_drawer_for_everything():
    drawers = re.compile(r"utils?|helpers?|misc|common|manager")
    assert [path for path in PYTHON + NATIVE if drawers.fullmatch(path.stem)] == []


@needs_the_tree
def test_only_the_bindings_know_python():
    """So the core can be tested, mutated and lifted into any C++ program on its own."""
    for path in NATIVE:
        knows = re.search(r"Python\.h|nanobind", path.read_text())
        assert not knows or "bindings" in path.parts, path


@needs_the_tree
def test_the_package_root_is_imported_for_the_native_module_only():
    """Import-linter cannot see that module, so it has to let `from weft import` pass."""
    for path in ROOT.glob("src/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "weft":
                assert [alias.name for alias in node.names] == ["_native"], path


@needs_the_tree
def test_the_stub_of_the_native_module_is_current(tmp_path):
    made = tmp_path / "stub.pyi"
    patterns = str(ROOT / "native/bindings/stub.pat")
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "weft._native"]
    subprocess.run([*command, "-p", patterns, "-o", str(made)], check=True)
    assert made.read_text() == (ROOT / "src/weft/_native.pyi").read_text(), "run `make stub`"


def test_public_names():
    """Adding one is a decision; removing one breaks users."""
    assert weft.__all__ == PUBLIC_NAMES.split()
    assert all(hasattr(weft, name) for name in weft.__all__)


def test_public_functions_and_classes_say_what_they_are():
    for name in weft.__all__:
        thing = getattr(weft, name)
        if callable(thing):
            assert inspect.getdoc(thing), name


def test_commands_and_their_options():
    commands = {
        command.callback.__name__: " ".join(inspect.signature(command.callback).parameters)
        for command in app.registered_commands
        if command.callback
    }
    assert commands == {
        "demo": "",
        "verify": "file topology at json",
        "algorithms": "collective ranks root topology size plot write json",
        "calls": "file topology json",
        "export": "file to output in_place parts protocol min_size max_size size topology json",
        "simulate": "file topology size segments window in_place noise seed fault deadline "
        "gantt trace json",
    }


def test_errors_are_few_and_drawn():
    own = [e for _, e in inspect.getmembers(errors, inspect.isclass) if issubclass(e, Exception)]
    assert len(own) <= MOST_ERRORS
    assert all(error.__name__ in (errors.__doc__ or "") for error in own)


def test_importing_weft_imports_nothing_heavy():
    code = "import sys, weft; print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert not {"torch", "typer", "rich", "pydantic", "hypothesis"} & set(modules.split())
    assert not [name for name in modules.split() if "msccl" in name or "chakra" in name]
