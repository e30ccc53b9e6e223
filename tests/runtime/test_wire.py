"""The wire under the sanitizers: ranks are threads of one program, which they can watch."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

from runtime.wire import BREAKS, SANITIZERS, cases, compile_wire
from weft.runtime.group import MOST_RANKS

pytestmark = [pytest.mark.slow, pytest.mark.tree]


@pytest.fixture(scope="module")
def wire(tmp_path_factory):
    """The folder of the program with a sanitizer, which is compiled once."""

    @cache
    def folder_of(sanitizer: str) -> Path:
        folder = Path(tmp_path_factory.mktemp("wire"))
        compile_wire(folder, sanitizer)
        return folder

    return folder_of


def run(program: Path, how: str, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, how], input=text, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_schedules_run_without_a_race_and_end_right(wire, sanitizer):
    ran = run(wire(sanitizer) / "wire", "run", cases(range(300), most_segments=9, times=5))
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "300 runs\n", "")


def test_a_group_may_have_64_ranks(wire):
    ran = run(wire("address,undefined") / "wire", "run", cases(range(6), ranks=(MOST_RANKS,) * 2))
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "6 runs\n", "")


@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_a_rank_may_leave_at_any_step(wire, sanitizer):
    """The others end right, or say between whom which transfer is missing; none waits for ever."""
    left = run(wire(sanitizer) / "wire", "leave", cases(range(25)))
    assert (left.returncode, left.stderr) == (0, "")


def test_a_rank_may_be_killed_at_any_step(wire):
    killed = run(wire("address,undefined") / "wire", "kill", cases(range(25)))
    assert (killed.returncode, killed.stderr) == (0, "")


@pytest.mark.parametrize("broken", BREAKS)
def test_a_broken_wire_is_seen(wire, broken):
    """Else it would say nothing that the thread sanitizer finds no race."""
    program = compile_wire(wire("thread"), "thread", broken)
    seen = run(program, "run", cases(range(100), most_segments=9, times=5))
    assert seen.returncode != 0
    assert "ThreadSanitizer: data race" in seen.stderr
