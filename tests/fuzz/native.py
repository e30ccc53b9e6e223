"""Builds core.cpp with libFuzzer: runs it, plants bugs for it to find, sees what it covers."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from fuzz.seeds import write_seeds

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "native"
ROOMS = ("verify", "engine", "simulate")
CORE = [
    str(path.relative_to(NATIVE)) for room in ROOMS for path in sorted(NATIVE.glob(f"{room}/*.cpp"))
]
USUAL = ("-std=c++20", "-D_GLIBCXX_ASSERTIONS", "-I", str(NATIVE), "-I", str(HERE))
SANITIZERS = "-fsanitize=fuzzer,address,undefined"
FUZZER = ("clang++", "-O1", "-g1", SANITIZERS, "-fno-sanitize-recover=all", *USUAL)
COUNTER = ("g++", "-O0", "--coverage", *USUAL)
LIMITS = ("-timeout=10", "-rss_limit_mb=1024", "-max_len=4096")
SEEDS = 100
MOST_SECONDS = 60  # until a planted bug is found


class Plant(NamedTuple):
    """A bug, and what the fuzzer then says."""

    name: str
    file: str
    old: str
    new: str
    found: str


PLANTS = (
    Plant(
        "any slot is a slot",
        "verify/verify.cpp",
        "return 0 <= slot && slot < job_.slots && allowed_",
        "return 0 <= slot && allowed_",
        "stl_vector.h|heap-buffer-overflow",
    ),
    Plant(
        "any place may be an alias",
        "verify/verify.cpp",
        "sound && inside(a.rank, a.slot) && inside(a.rank, a.place)",
        "sound && inside(a.rank, a.slot)",
        "stl_vector.h|heap-buffer-overflow",
    ),
    Plant(
        "a story never ends",
        "verify/verify.cpp",
        "if (watched_.size() > kMostWrites) watched_.pop_front();",
        "",
        "broken: a story has an end",
    ),
    Plant(
        "a replay is never given back",
        "verify/verify.cpp",
        "  Replay now(job);\n",
        "  Replay& now = *new Replay(job);\n",
        "LeakSanitizer: detected memory leaks",
    ),
    Plant(
        "the last room is for anyone",
        "engine/engine.cpp",
        "if (o.room != 1) return o.room > 1;",
        "if (o.room != 1 || segments_ > 0) return o.room > 0;",
        "broken: every rank finishes or fails",
    ),
    Plant(
        "a fast link overflows",
        "simulate/resources.cpp",
        "(bytes * kPerSecond - 1) / rate + 1;\n  const",
        "(bytes * kPerSecond + rate - 1) / rate;\n  const",
        "signed integer overflow",
    ),
)


class Run(NamedTuple):
    """What libFuzzer said of a run."""

    cases: int
    edges: str
    found: str  # nothing, or its last words


class Fuzzer:
    """The program, in a folder that keeps what it has come upon."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._corpus, self._seeds, self._found = (folder / n for n in ("corpus", "seeds", "found"))
        for each in (self._corpus, self._found):
            each.mkdir(parents=True, exist_ok=True)
        write_seeds(self._seeds, SEEDS)
        sources = [HERE / "core.cpp", *(NATIVE / name for name in CORE)]
        self._objects = compiled(FUZZER, sources, folder / "fuzzer")
        self.program = linked(FUZZER, self._objects, folder / "core")

    def run(self, seconds: int) -> Run:
        return self._run(self.program, self._found, self._corpus, self._seeds, seconds=seconds)

    def finds(self, plant: Plant) -> bool:
        """Whether the fuzzer, from the seeds alone, comes upon a bug that was planted."""
        folder = self._folder / "planted"
        (folder / Path(plant.file).parent).mkdir(parents=True, exist_ok=True)
        text = (NATIVE / plant.file).read_text()
        (folder / plant.file).write_text(text.replace(plant.old, plant.new))
        [changed] = compiled(FUZZER, [folder / plant.file], folder)
        others = [path for path in self._objects if path.name != changed.name]
        program = linked(FUZZER, [*others, changed], folder / "core")
        with TemporaryDirectory(dir=folder) as corpus:
            run = self._run(program, folder, Path(corpus), self._seeds, seconds=MOST_SECONDS)
        return re.search(plant.found, run.found) is not None

    def cover(self) -> dict[str, tuple[int, int]]:
        """Of each file: lines that what it has come upon has run, and all lines."""
        folder = self._folder / "cover"
        sources = [HERE / "core.cpp", HERE / "replay.cpp", *(NATIVE / name for name in CORE)]
        program = linked(COUNTER, compiled(COUNTER, sources, folder), folder / "replay")
        for old in folder.glob("*.gcda"):
            old.unlink()
        known = [path for each in (self._seeds, self._corpus) for path in sorted(each.iterdir())]
        subprocess.run([program, *known], check=True)
        return dict(_lines_run(folder))

    def _run(self, program: Path, found: Path, *corpora: Path, seconds: int) -> Run:
        command = [str(program), f"-max_total_time={seconds}", "-print_final_stats=1", *LIMITS]
        command += [f"-artifact_prefix={found}/", *map(str, corpora)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        said = ran.stderr
        cases = re.search(r"number_of_executed_units: (\d+)", said)
        covered, all_edges = re.findall(r"cov: (\d+)", said), re.search(r"\((\d+) inline", said)
        assert all_edges, said
        return Run(
            cases=int(cases[1]) if cases else 0,
            edges=f"{covered[-1] if covered else 0} of {all_edges[1]}",
            found=said if ran.returncode else "",
        )


def compiled(compiler: Sequence[str], sources: Sequence[Path], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    objects = [folder / f"{source.stem}.o" for source in sources]

    def compile_one(source: Path, target: Path) -> None:
        subprocess.run([*compiler, "-c", source, "-o", target], check=True)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(compile_one, sources, objects))
    return objects


def linked(compiler: Sequence[str], objects: Sequence[Path], program: Path) -> Path:
    subprocess.run([*compiler, *objects, "-o", program], check=True)
    return program


def _lines_run(folder: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    for name in CORE:
        command = ["gcov", "--no-output", str(folder / f"{Path(name).stem}.gcda")]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found = re.search(rf"File '.*{name}'\nLines executed:([\d.]+)% of (\d+)", said)
        assert found, said
        lines = int(found[2])
        yield name, (round(float(found[1]) * lines / 100), lines)
