"""Random runs of the engine and the simulator with real data, under faults too; a run is a seed.

python tests/seeds/driver.py 0 1000000      a line for each seed whose run is wrong
python tests/seeds/driver.py 1181 --show    what is drawn for a seed, and what becomes of it
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "native"
ROOMS = ("engine/*.cpp", "simulate/*.cpp", "transport/moves.cpp", "kernels/*.cpp")
CORE = [str(path.relative_to(NATIVE)) for room in ROOMS for path in sorted(NATIVE.glob(room))]
HARNESS = "harness"  # all files beside this one, compiled as one
COMPILER = ("g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-D_GLIBCXX_ASSERTIONS")
SPOIL_SCRATCH = "-fno-access-control"  # that Moves keeps to itself
MOST_AT_ONCE = 10_000

Objects = dict[str, Path]


class World:
    """The program that runs seeds, compiled in a folder."""

    def __init__(self, folder: Path, objects: Objects | None = None) -> None:
        self._folder = folder
        self._objects = objects or compile_all([*CORE, HARNESS], folder)
        self._program = folder / "world"
        run_compiler(*self._objects.values(), "-o", self._program)

    def changed(self, file: str, text: str, folder: Path) -> World:
        """The same with another text of a file of the core."""
        (folder / file).parent.mkdir(parents=True)
        (folder / file).write_text(text)
        if file.endswith(".hpp"):
            return World(folder)
        return World(folder, self._objects | compile_all([file], folder))

    def failures(self, first: int, count: int) -> Iterator[str]:
        """A line for each seed that fails."""
        for start in range(first, first + count, MOST_AT_ONCE):
            yield from self._failures_of_few(start, min(MOST_AT_ONCE, first + count - start))

    def _failures_of_few(self, first: int, count: int) -> Iterator[str]:
        """A run that crashes or hangs is looked for by halves."""
        command = [str(self._program), str(first), str(count)]
        limit = 10 + count / 1000
        try:
            run = subprocess.run(command, stdout=PIPE, text=True, check=False, timeout=limit)
            if run.returncode == 0:
                yield from run.stdout.splitlines()
                return
            how = f"ended with {run.returncode}"
        except subprocess.TimeoutExpired:
            how = "did not end"
        if count == 1:
            yield f"seed {first}: the program {how}"
            return
        yield from self._failures_of_few(first, count // 2)
        yield from self._failures_of_few(first + count // 2, count - count // 2)

    def show(self, first: int, count: int = 1) -> str:
        command = [str(self._program), str(first), str(count), "show"]
        return subprocess.run(command, stdout=PIPE, text=True, check=True).stdout


def compile_all(names: list[str], folder: Path) -> Objects:
    """Of what lies in the folder, its own text is taken, else that of the core."""
    objects = {name: folder / f"{Path(name).stem}.o" for name in names}

    def compile_one(name: str) -> None:
        text = folder / name if (folder / name).exists() else NATIVE / name
        texts = sorted(HERE.glob("*.cpp")) if name == HARNESS else [text]
        flags = ("-I", folder, "-I", NATIVE, "-I", HERE, SPOIL_SCRATCH)
        unit = "".join(f'#include "{text}"\n' for text in texts)
        run_compiler(*flags, "-x", "c++", "-c", "-", "-o", objects[name], text=unit)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(compile_one, reversed(names)))
    return objects


def run_compiler(*arguments: str | Path, text: str = "") -> None:
    subprocess.run([*COMPILER, *arguments], input=text, text=True, check=True)


def run_seeds(world: World, first: int, count: int) -> int:
    """Prints a line for each seed that fails, and how far it is; returns how many fail."""
    failed = 0
    for start in range(first, first + count, MOST_AT_ONCE):
        end = min(start + MOST_AT_ONCE, first + count)
        for line in world.failures(start, end - start):
            sys.stdout.write(f"{line}\n")
            failed += 1
        sys.stderr.write(f"\r{end - first:,} of {count:,} runs")
    sys.stderr.write("\n")
    sys.stdout.write(f"{count} runs, {failed} failed\n")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int, nargs="?", default=1)
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        world = World(Path(folder))
        if arguments.show:
            sys.stdout.write(world.show(arguments.first, arguments.count))
        return 1 if run_seeds(world, arguments.first, arguments.count) else 0


if __name__ == "__main__":
    sys.exit(main())
