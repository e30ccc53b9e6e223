"""How long do files for other programs take, beside what reading and writing their bytes takes?

A ring allreduce over 64 ranks is exported, which proves the file as a file, and read back.  The
floor of each is the same bytes through the format's own parser and nothing else, in the same
round.  Run `make bench`, or with `--short` for a first look.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from xml.parsers import expat

import weft
from weft.formats.export import Target
from weft.formats.files import read_schedule

RANKS = 64
TARGET = 2.0  # seconds, of an export


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def parse(path: Path) -> object:
    content = path.read_bytes()
    if content.startswith(b"<"):
        return expat.ParserCreate().Parse(content, True)  # noqa: FBT003 - its signature
    return json.loads(content)


def measure(rounds: int, folder: Path) -> dict[str, dict[str, list[float]]]:
    ring = weft.classic.ring_allreduce(weft.allreduce(RANKS))
    targets = (Target.MSCCL, Target.MSCCL_EXECUTOR)
    times: dict[str, dict[str, list[float]]] = {target: {} for target in targets}
    for _ in range(rounds):
        for target in targets:
            for work, taken in one_round(ring, folder / target, target).items():
                times[target].setdefault(work, []).append(taken)
    return times


def one_round(ring: weft.Schedule, path: Path, target: Target) -> dict[str, float]:
    return {
        "export": seconds(lambda: weft.export(ring, path, target)),
        "read": seconds(lambda: read_schedule(path)),
        "floor": seconds(lambda: parse(path)),
    }


def main() -> None:
    rounds = 3 if "--short" in sys.argv else 9
    with TemporaryDirectory() as folder:
        found = measure(rounds, Path(folder))
    print(f"ring allreduce over {RANKS} ranks, {rounds} rounds")
    print(f"{'':28s}{'median':>9s}{'least':>9s}{'most':>9s}{'floors':>9s}{'target':>9s}")
    for target, times in found.items():
        for work, taken in times.items():
            missed = work == "export" and median(taken) > TARGET
            print(
                f"{target + ', ' + work:28s}"
                f"{median(taken):8.3f}s{min(taken):8.3f}s{max(taken):8.3f}s"
                f"{median(taken) / median(times['floor']):9.1f}"
                + (f"{TARGET:8.2f}s" if work == "export" else "")
                + ("  missed" if missed else "")
            )


if __name__ == "__main__":
    main()
