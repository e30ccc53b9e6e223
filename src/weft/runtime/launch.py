"""Start the ranks of a job on this host, and wait for them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from weft.errors import BadInput
from weft.runtime.group import MEMORY, RANK, RANKS, share_memory

GRACE = 5.0  # seconds between asking a process to end and ending it


def launch(ranks: int, command: Sequence[str], *, timeout: float | None = None) -> list[int]:
    """Run the command once for each rank; return their exit codes, which are negative for signals.

    In the program, `weft.Group.join()` takes the rank's place.  After `timeout` seconds, or on
    Ctrl-C, those that still run are ended.
    """
    memory = share_memory(ranks)
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for rank in range(ranks):
            told = {MEMORY: str(memory), RANK: str(rank), RANKS: str(ranks)}
            processes.append(
                subprocess.Popen([*command], env=os.environ | told, pass_fds=[memory])  # noqa: S603
            )
        return [process.wait(timeout) for process in processes]
    except OSError as problem:
        raise BadInput(f"{command[0]} cannot be started: {problem.strerror}") from None
    except subprocess.TimeoutExpired:
        _end(processes)
        return [process.wait() for process in processes]
    finally:
        _end(processes)
        os.close(memory)


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    running = [process for process in processes if process.poll() is None]
    for process in running:
        process.terminate()
    for process in running:
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
