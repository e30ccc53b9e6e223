"""The wire under the sanitizers: ranks are threads of one program, which they can watch."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from runtime.wire import BREAKS, SANITIZERS, cases, compile_wire

pytestmark = [pytest.mark.slow, pytest.mark.tree]


@pytest.fixture(scope="module", params=SANITIZERS)
def sanitized(request, tmp_path_factory):
    return compile_wire(tmp_path_factory.mktemp("wire"), request.param)


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("watched")
    compile_wire(folder, "thread")
    return folder


def run(program: Path, how: str, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, how], input=text, capture_output=True, text=True, check=False, timeout=300
    )


def test_schedules_run_without_a_race_and_end_right(sanitized):
    ran = run(sanitized, "run", cases(range(300), most_segments=9, times=5))
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "300 runs\n", "")


def test_a_rank_may_leave_at_any_step(sanitized):
    """The others end right, or say between whom which transfer is missing; none waits for ever."""
    left = run(sanitized, "leave", cases(range(25), most_segments=3, times=2))
    assert (left.returncode, left.stderr) == (0, "")


@pytest.mark.parametrize("broken", BREAKS)
def test_a_broken_wire_is_seen(watched, broken):
    """Else it would say nothing that the thread sanitizer finds no race."""
    text = cases(range(100), most_segments=9, times=5)
    seen = run(compile_wire(watched, "thread", broken), "run", text)
    assert seen.returncode != 0
    assert "ThreadSanitizer: data race" in seen.stderr


def test_a_rank_may_be_killed_at_any_step(tmp_path):
    program = compile_wire(tmp_path, "address,undefined")
    killed = run(program, "kill", cases(range(40), most_segments=3, times=2))
    assert (killed.returncode, killed.stderr) == (0, "")
