"""How long does it take to build, verify, load and import, beside this machine's memory speed?

Every row is the median of its rounds, which take turns; a memory copy is timed in each round, so
that a slow day shows.  Run `make bench`, or with `--short` for a first look.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

import weft

RANKS = 1024
COPY_BYTES = 1 << 28
PEAK = r"""
import re, weft
weft.verify(weft.classic.ring_allreduce(weft.allreduce(1024)))
print(re.search(r"VmHWM:\s+(\d+) kB", open("/proc/self/status").read())[1])
"""


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


def write_file(folder: Path) -> Path:
    """A ring of 224 ranks has 99,904 transfers."""
    path = folder / "ring-224.json"
    weft.save(weft.classic.ring_allreduce(weft.allreduce(224)), path)
    return path


def measure(rounds: int, path: Path) -> dict[str, list[float]]:
    source, target = np.ones(COPY_BYTES, np.uint8), np.empty(COPY_BYTES, np.uint8)
    np.copyto(target, source)  # The first one would also pay for getting the memory.
    ring = weft.classic.ring_allreduce(weft.allreduce(RANKS))
    works: dict[str, Callable[[], object]] = {
        "memory copy of 256 MiB": lambda: np.copyto(target, source),
        f"build ring allreduce, {RANKS} ranks": lambda: weft.classic.ring_allreduce(
            weft.allreduce(RANKS)
        ),
        f"verify ring allreduce, {RANKS} ranks": lambda: weft.verify(ring),
        "load and verify 99,904 transfers": lambda: weft.load(path),
        "python, without weft": lambda: python(""),
        "python, import numpy": lambda: python("import numpy"),
        "python, import weft": lambda: python("import weft"),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(seconds(work))
    return times


TARGETS = {"build": 1.0, "verify": 3.0, "load": 0.3}  # seconds


def main() -> None:
    rounds = 3 if "--short" in sys.argv else 9
    with tempfile.TemporaryDirectory() as folder:
        times = measure(rounds, write_file(Path(folder)))
    copy = median(times["memory copy of 256 MiB"])
    bare = times["python, without weft"]
    times["import weft, alone"] = [
        t - b for t, b in zip(times["python, import weft"], bare, strict=True)
    ]
    print(f"{'':40s}{'median':>9s}{'least':>9s}{'most':>9s}{'copies':>9s}{'target':>9s}")
    for name, taken in times.items():
        target = 0.15 if name == "import weft, alone" else TARGETS.get(name.split()[0])
        missed = target and median(taken) > target
        print(
            f"{name:40s}{median(taken):8.3f}s{min(taken):8.3f}s{max(taken):8.3f}s"
            f"{median(taken) / copy:9.1f}"
            + (f"{target:8.2f}s" if target else "")
            + ("  missed" if missed else "")
        )
    peak = int(python(PEAK)) * 1024 / 1e9
    print(f"{'peak memory of build and verify':40s}{peak:7.2f}GB{'':36s}1.50GB")


if __name__ == "__main__":
    main()
