"""Ranks are started, waited for and ended, and nothing of them is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import weft

RANK = "import os; rank = int(os.environ['WEFT_RANK'])"
LAUNCH = """
import sys, weft
print("ready", flush=True)
print(weft.launch(2, ["sleep", "600"]))
"""


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def shell(code: str) -> list[str]:
    return ["sh", "-c", code]


def children_of(process: int) -> set[Path]:
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    return {Path("/proc", child) for task in tasks for child in task.read_text().split()}


@pytest.fixture(autouse=True)
def nothing_is_left():
    """No process, no descriptor, and no file of shared memory."""

    def here() -> tuple[set[Path], ...]:
        shared = Path("/dev/shm").glob("*weft*")  # noqa: S108
        return children_of(os.getpid()), set(Path("/proc/self/fd").iterdir()), set(shared)

    before = here()
    yield
    assert here() == before


def test_exit_codes_are_those_of_the_ranks():
    assert weft.launch(3, python(f"{RANK}; raise SystemExit(10 * rank)")) == [0, 10, 20]


def test_a_signal_is_a_negative_code():
    assert weft.launch(2, python(f"{RANK}; rank and os.kill(os.getpid(), 9)")) == [0, -9]


def test_every_rank_is_told_which_it_is():
    code = "import weft; g = weft.Group.join(); raise SystemExit(10 * g.ranks + g.rank)"
    assert weft.launch(3, python(code)) == [30, 31, 32]


def test_after_the_timeout_all_are_ended():
    command = shell("[ $WEFT_RANK = 0 ] || exec sleep 600")
    assert weft.launch(3, command, timeout=0.4) == [0, -15, -15]


def test_a_stopped_or_deaf_rank_is_ended_too(monkeypatch):
    monkeypatch.setattr("weft.runtime.launch.GRACE", 0.1)
    deaf = "[ $WEFT_RANK = 0 ] || trap '' TERM; exec sleep 600"
    assert weft.launch(2, shell(deaf), timeout=0.4) == [-15, -9]
    stopped = "[ $WEFT_RANK = 0 ] || kill -STOP $$; exec sleep 600"
    assert weft.launch(2, shell(stopped), timeout=0.4) == [-15, -9]


@pytest.mark.parametrize(
    ("ranks", "command", "why"),
    [
        (2, ["/nowhere/at-all"], "/nowhere/at-all cannot be started: No such file"),
        (2, ["/"], "/ cannot be started: Permission denied"),
        (2, [], "there is no command to start"),
        (2, "true", "the command is 'true': give a list of its words"),
        (0, ["true"], "the number of ranks is 0"),
        (65, ["true"], "the number of ranks is 65"),
    ],
)
def test_what_cannot_be_started_is_refused(ranks, command, why):
    with pytest.raises(weft.BadInput, match=why):
        weft.launch(ranks, command)


def test_ctrl_c_ends_all():
    launcher = subprocess.Popen(
        python(LAUNCH), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert launcher.stdout
    assert launcher.stdout.readline() == "ready\n"
    while len(ranks := children_of(launcher.pid)) < 2:
        time.sleep(0.01)
    launcher.send_signal(signal.SIGINT)
    output, errors = launcher.communicate(timeout=60)
    assert (output, "KeyboardInterrupt" in errors) == ("", True)
    assert launcher.returncode == -signal.SIGINT
    assert not [rank for rank in ranks if rank.exists()]
