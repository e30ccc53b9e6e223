"""How fast are the engine, the simulator and shared memory, beside the same thing written by hand?

The floor (`floor.cpp`) is compiled for this machine.  Rows that are compared take turns, round by
round, and every ratio is of one round.  Run `make bench`, or with `--short` for a first look.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

import weft

ROOT = Path(__file__).parents[1]
COMPILE = ["g++", "-std=c++20", "-O3", "-shared", "-fPIC", "-fno-semantic-interposition"]
SMALL, LARGE = 2, 1 << 24  # floats: 8 B and 64 MiB
CALLS = 20_000  # of a small one in each round

Floor = ctypes.CDLL


def main() -> None:
    rounds = 5 if "--short" in sys.argv else 15
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        built = Path(folder, "floor.so")
        sources = [ROOT / "benchmarks/floor.cpp", *sorted((ROOT / "native/engine").glob("*.cpp"))]
        subprocess.run([*COMPILE, "-I", ROOT / "native", *sources, "-o", built], check=True)
        print(f"{'':50s}{'median':>10s}{'least':>10s}{'most':>10s}{'target':>10s}")
        simulator(rounds)
        step = [load(built).step_engines(8, 2000) * 1e9 for _ in range(rounds)]
        show("engine step per message, no wire (ns)", step, 50)
        weft.launch(2, [sys.executable, __file__, str(built), folder, str(rounds)], timeout=500)
        wire(json.loads(Path(folder, "times").read_text()))


def show(name: str, values: list[float], target: float | None = None, *, most: bool = True) -> None:
    middle = median(values)
    missed = target and (middle > target if most else middle < target)
    bound = f"{target:10.2f}" if target else ""
    print(
        f"{name:50s}{middle:10.2f}{min(values):10.2f}{max(values):10.2f}{bound}"
        + ("  missed" if missed else "")
    )


def load(path: Path) -> Floor:
    floor = ctypes.CDLL(str(path))
    floor.bytes_to_share.restype = ctypes.c_int64
    for name, types in {
        "exchange_flags": [ctypes.c_void_p, ctypes.c_int, ctypes.c_int64],
        "sum_over_two": [ctypes.c_void_p, ctypes.c_int, *[ctypes.c_void_p] * 2, ctypes.c_int64],
        "step_engines": [ctypes.c_int32, ctypes.c_int64],
    }.items():
        function = getattr(floor, name)
        function.restype, function.argtypes = ctypes.c_double, types
    return floor


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def simulator(rounds: int) -> None:
    pass


def rank_main(built: Path, folder: Path, rounds: int) -> None:
    """What each of the two ranks does: the floor and ours in turns."""
    floor, group = load(built), weft.Group.join()
    memory = shared(Path(folder, "memory"), floor.bytes_to_share())
    sides = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    doubling = weft.recursive_doubling_allreduce(weft.allreduce(2))
    ring = weft.ring_allreduce(weft.allreduce(2))
    rng = np.random.default_rng(group.rank)
    given = {n: rng.random(n, np.float32) for n in (SMALL, LARGE)}
    wanted = {n: np.zeros(n, np.float32) for n in given}
    by_hand = np.zeros(LARGE, np.float32)
    small = group.prepare(doubling, [given[SMALL]], [wanted[SMALL]])
    large = group.prepare(ring, [given[LARGE]], [wanted[LARGE]])
    pointers = (given[LARGE].ctypes.data, by_hand.ctypes.data)

    def from_python() -> None:
        for _ in range(CALLS):
            small()

    works: dict[str, Callable[[], float]] = {
        "flags": lambda: floor.exchange_flags(sides, group.rank, CALLS),
        "native": lambda: seconds(lambda: small(CALLS)) / CALLS,
        "python": lambda: seconds(from_python) / CALLS,
        "by hand": lambda: floor.sum_over_two(sides, group.rank, *pointers, LARGE),
        "large": lambda: seconds(large),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds + 1):
        for name, work in works.items():
            small()  # Both begin together.
            taken = work()
            if number > 0:  # The first round also pays for getting the memory.
                times[name].append(taken)
    np.testing.assert_array_equal(by_hand, wanted[LARGE])
    if group.rank == 0:
        Path(folder, "times").write_text(json.dumps(times))


def shared(path: Path, size: int) -> mmap.mmap:
    """Memory that both ranks map."""
    with path.open("a+b") as file:
        os.ftruncate(file.fileno(), size)
        return mmap.mmap(file.fileno(), size)


def wire(times: dict[str, list[float]]) -> None:
    for name, label, peer, target in (
        ("flags", "flag exchange of two ranks (ns)", None, None),
        ("native", "8 B allreduce, native / flag exchange", "flags", 2),
        ("python", "8 B allreduce, from Python / flag exchange", "flags", 4),
        ("by hand", "64 MiB allreduce by hand (ms)", None, None),
        ("large", "64 MiB allreduce / by hand", "by hand", 1.3),
    ):
        if peer:
            show(label, [a / b for a, b in zip(times[name], times[peer], strict=True)], target)
        else:
            show(label, [t * (1e9 if name == "flags" else 1e3) for t in times[name]])


if __name__ == "__main__":
    if os.environ.get("WEFT_RANK"):
        rank_main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
