"""Start the ranks of a job on this host, and wait for them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from math import inf
from time import monotonic

from weft.errors import BadInput
from weft.runtime.group import MEMORY, RANK, RANKS, share_memory

Process = subprocess.Popen[bytes]

GRACE = 5.0  # seconds between asking a process to end and ending it


def launch(ranks: int, command: Sequence[str], *, timeout: float | None = None) -> list[int]:
    """Run the command once for each rank; return their exit codes, which are negative for signals.

    In the program, `weft.Group.join()` takes the rank's place.  After `timeout` seconds, or on
    Ctrl-C, those that still run are ended.
    """
    if isinstance(command, str):
        raise BadInput(f"the command is {command[:40]!r}: give a list of its words")
    if not command:
        raise BadInput("there is no command to start: give a program and its arguments")
    end = inf if timeout is None else monotonic() + timeout
    memory = share_memory(ranks)
    processes: list[Process] = []
    try:
        for rank in range(ranks):
            told = {MEMORY: str(memory), RANK: str(rank), RANKS: str(ranks)}
            processes.append(
                subprocess.Popen([*command], env=os.environ | told, pass_fds=[memory])  # noqa: S603
            )
        _wait(processes, end)
    except OSError as problem:
        raise BadInput(f"{command[0]} cannot be started: {problem.strerror}") from None
    finally:
        os.close(memory)
        _end(processes)
    return [process.wait() for process in processes]


def _wait(processes: Sequence[Process], end: float) -> bool:
    """Wait for all of them, but not longer than that; return whether they have ended."""
    try:
        for process in processes:
            process.wait(None if end == inf else max(0.0, end - monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(processes: Sequence[Process]) -> None:
    """Ask those that still run to end, and end those that do not; a second Ctrl-C ends them now."""
    running = [process for process in processes if process.poll() is None]
    for process in running:
        process.terminate()
    try:
        _wait(running, monotonic() + GRACE)
    finally:
        for process in running:
            process.kill()  # It does nothing to one that has ended.
        _wait(running, inf)
