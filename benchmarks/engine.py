"""How fast are the engine, the simulator and shared memory, beside the same thing written by hand?

The floor (`floor.cpp`) is compiled for this machine.  Rows that are compared take turns, round by
round, and every ratio is of one round.  What a step, a message and a byte cost is put into a
topology, whose predictions are compared with what was measured; `host:N` has such figures.  Run
`make bench`, or with `--short` for a first look.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

import weft
from weft.simulate.conditions import Conditions
from weft.simulate.simulate import prepare

ROOT = Path(__file__).parents[1]
COMPILE = ["g++", "-std=c++20", "-O3", "-shared", "-fPIC", "-fno-semantic-interposition"]
SMALL, MIDDLE, LARGE = 2, 1 << 18, 1 << 24  # floats: 8 B, 1 MiB and 64 MiB
CALLS = 20_000  # of a small one in each round
RANKS = 1024
SECOND = 10**12  # in picoseconds

Floor = ctypes.CDLL
Times = Mapping[str, list[float]]


def main() -> None:
    short = "--short" in sys.argv
    rounds = 5 if short else 15
    print(f"{'':50s}{'median':>10s}{'least':>10s}{'most':>10s}{'target':>10s}")
    simulator(3 if short else 9)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        built = Path(folder, "floor.so")
        sources = [ROOT / "benchmarks/floor.cpp", *sorted((ROOT / "native/engine").glob("*.cpp"))]
        subprocess.run([*COMPILE, "-I", ROOT / "native", *sources, "-o", built], check=True)
        step = [load(built).step_engines(8, 2000) for _ in range(rounds)]
        show("engine step per message, no wire (ns)", [1e9 * s for s in step], 50)
        weft.launch(2, [sys.executable, __file__, str(built), folder, str(rounds)], timeout=500)
        times = json.loads(Path(folder, "times").read_text())
    wire(times)
    predictions(times, median(step))
    random_runs(20_000 if short else 1_000_000)


def show(name: str, values: list[float], target: float | None = None, *, most: bool = True) -> None:
    middle = median(values)
    missed = target and (middle > target if most else middle < target)
    bound = f"{target:10.2f}" if target else ""
    print(
        f"{name:50s}{middle:10.2f}{min(values):10.2f}{max(values):10.2f}{bound}"
        + ("  missed" if missed else "")
    )


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def simulator(rounds: int) -> None:
    """The 1,024-rank ring: events a second of one core; all of it, from list to trace."""
    ring = weft.classic.ring_allreduce(weft.allreduce(RANKS))
    machine = weft.find_topology(f"ring:{RANKS}")
    simulation = prepare(ring, machine, 4 * LARGE)
    rates, wholes = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        trace = simulation.run(1, Conditions(), record=0)
        rates.append(trace.events / (time.perf_counter() - start) / 1e6)
        wholes.append(seconds(lambda: weft.simulate(ring, machine, 4 * LARGE)))
    show("simulator, million segment events a second", rates, 3, most=False)
    show(f"simulate ring allreduce, {RANKS} ranks, all of it (s)", wholes, 10)
    status = Path("/proc/self/status").read_text()
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak
    show("peak memory of that (GB)", [int(peak[1]) * 1024 / 1e9], 1.5)


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


def rank_main(built: Path, folder: Path, rounds: int) -> None:
    """What each of the two ranks does: the floor and ours in turns."""
    floor, group = load(built), weft.Group.join()
    memory = shared(Path(folder, "memory"), floor.bytes_to_share())
    sides = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    given = {n: np.random.default_rng(group.rank).random(n, np.float32) for n in SIZES}
    wanted = {n: np.zeros(n, np.float32) for n in SIZES}
    by_hand = np.zeros(LARGE, np.float32)
    doubling = weft.classic.recursive_doubling_allreduce(weft.allreduce(2))
    small = group.prepare(doubling, [given[SMALL]], [wanted[SMALL]])
    middle, large = (group.prepare(RING, [given[n]], [wanted[n]]) for n in (MIDDLE, LARGE))
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
        "middle": lambda: seconds(lambda: middle(10)) / 10,
    }
    for name, call in one_way(group).items():
        works[name] = partial(seconds, call)
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


SIZES = (SMALL, MIDDLE, LARGE)
RING = weft.classic.ring_allreduce(weft.allreduce(2))


def one_way(group: weft.Group) -> dict[str, Callable[[], object]]:
    """64 MiB that only cross: as they are, and to be added up; rank 0 waits until they have."""
    here = np.ones(LARGE, np.float32)
    there = np.zeros(LARGE, np.float32)
    send = weft.classic.binomial_broadcast(weft.broadcast(2, root=1))
    add = weft.classic.binomial_reduce(weft.reduce(2))
    sends, gets = [here][group.rank ^ 1 :], [here] if group.rank else [there]
    return {
        "copy": group.prepare(send, sends, gets, in_place=True),
        "add": group.prepare(add, [here], [] if group.rank else [here], in_place=True),
    }


def shared(path: Path, size: int) -> mmap.mmap:
    """Memory that both ranks map."""
    with path.open("a+b") as file:
        os.ftruncate(file.fileno(), size)
        return mmap.mmap(file.fileno(), size)


def wire(times: Times) -> None:
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


def predictions(times: Times, step: float) -> None:
    """What a message and a byte cost here, and what the simulator makes of it."""
    copy, add = (round(4 * LARGE / median(times[name])) for name in ("copy", "add"))
    latency = max(0.0, median(times["native"]) - step)
    show("a message, from its sender to its receiver (ns)", [latency * 1e9])
    show("bytes copied (GB/s)", [copy / 1e9])
    show("bytes added up (GB/s)", [add / 1e9])
    half, wait = round(step / 2 * SECOND), round(latency * SECOND)
    link = weft.Link(0, 1, copy, wait, kind="memory", by_processor=True)
    here = weft.Topology(
        "here", 2, weft.both_ways([link]), overheads=weft.Overheads(half, half, add, copy)
    )
    for machine in (here, weft.find_topology("host:2")):
        for name, size, segments in (("middle", MIDDLE, 2), ("large", LARGE, 128)):
            trace = weft.simulate(RING, machine, 4 * size, segments=segments)
            ratios = [trace.time / SECOND / taken for taken in times[name]]
            show(f"{size >> 18} MiB allreduce by {machine.name} / measured", ratios)


def random_runs(count: int) -> None:
    """Random lists on random machines with noise and faults, each checked on real data.

    A figure may be missed on a slow day; a wrong run may not.
    """
    driver = ROOT / "tests/seeds/driver.py"
    start = time.perf_counter()
    subprocess.run([sys.executable, driver, "0", str(count)], check=True)
    print(f"{count:,} random runs, none wrong, in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    if os.environ.get("WEFT_RANK"):
        rank_main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
