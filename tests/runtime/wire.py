"""Writes cases for `wire.cpp`, and compiles it with sanitizers, also over a wire that is broken."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random

from synthesis.promises import algorithms_for
from twins.correct import correct_schedule
from weft.collective import Collective
from weft.schedule.lowering import elements_moved
from weft.schedule.replay import Mode, modes
from weft.schedule.schedule import NONE, Schedule

NATIVE = Path(__file__).parents[2] / "native"
ROOMS = ("engine", "kernels", "transport")
WIRE = Path(__file__).with_suffix(".cpp")
COMPILER = ("g++", "-std=c++20", "-O1", "-g1", "-pthread", "-D_GLIBCXX_ASSERTIONS")
SANITIZERS = ("thread", "address,undefined")
FLOAT_BYTES = 4

# Each takes away an order by which the other side may read what was written.
BREAKS = {
    "an announcement is relaxed": (
        "transport/shared_memory.hpp",
        "turn.store(++announced_, std::memory_order_release)",
        "turn.store(++announced_, std::memory_order_relaxed)",
    ),
    "a return is relaxed": (
        "transport/shared_memory.hpp",
        "count.store(++returned_, std::memory_order_release)",
        "count.store(++returned_, std::memory_order_relaxed)",
    ),
    "content is written after its announcement": (
        "transport/call.cpp",
        """\
  moves_.pack(instruction, outbox.reserve(small_[at(instruction.operation)]));
  outbox.announce(number_, digest_, about.counterpart);
""",
        """\
  float* const target = outbox.reserve(small_[at(instruction.operation)]);
  outbox.announce(number_, digest_, about.counterpart);
  moves_.pack(instruction, target);
""",
    ),
    "a place is given back before it is read": (
        "transport/call.cpp",
        """\
      pass_on(instruction, in.inbox.content(place, small_[at(instruction.operation)]));
      in.inbox.give_back(place);
""",
        """\
      in.inbox.give_back(place);
      pass_on(instruction, in.inbox.content(place, small_[at(instruction.operation)]));
""",
    ),
}


def compile_wire(folder: Path, sanitizer: str, broken: str | None = None) -> Path:
    """Compile the program into a folder; objects that a break does not touch are made once."""
    native, made = NATIVE, folder
    if broken:
        native, made = _broken_copy(folder / "broken", broken), folder / "broken"
    objects = []
    for source in (*(s for room in ROOMS for s in sorted((native / room).glob("*.cpp"))), WIRE):
        touched = broken is None or source == WIRE or source.parent.name == "transport"
        target = (made if touched else folder) / f"{source.stem}.o"
        if touched:
            _compile(sanitizer, "-I", native, "-c", source, "-o", target)
        objects.append(target)
    _compile(sanitizer, *objects, "-o", made / "wire")
    return made / "wire"


def _compile(sanitizer: str, *arguments: str | Path) -> None:
    flags = (f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all")
    subprocess.run([*COMPILER, *flags, *arguments], check=True)


def _broken_copy(folder: Path, broken: str) -> Path:
    changed, old, new = BREAKS[broken]
    for room in (*ROOMS, "schedule"):
        (folder / room).mkdir(parents=True, exist_ok=True)
        for file in (NATIVE / room).iterdir():
            (folder / room / file.name).write_bytes(file.read_bytes())
    text = (folder / changed).read_text()
    assert text.count(old) == 1, f"{changed} is not as this break knows it"
    (folder / changed).write_text(text.replace(old, new))
    return folder


def cases(
    seeds: range, *, most_segments: int = 3, times: int = 2, ranks: tuple[int, int] = (2, 4)
) -> str:
    """Algorithms and random schedules, small and large, through narrow and wide windows."""
    return "".join(_case(Random(seed), most_segments, times, ranks) for seed in seeds)


def _case(draw: Random, most_segments: int, times: int, least_and_most: tuple[int, int]) -> str:
    ranks = draw.randint(*least_and_most)
    schedule = correct_schedule(draw, ranks) if draw.random() < 0.5 else _classic(draw, ranks)
    mode = draw.choice(modes(schedule))
    collective = schedule.collective
    sizes = [draw.choice([1, 7, 100]) * (not collective.heard_is_enough)] * collective.blocks
    elements = elements_moved(schedule, sizes).tolist()
    given = list(_given(schedule, mode, sizes))
    transfers = [(*row, n) for row, n in zip(schedule.transfers.tolist(), elements, strict=True)]
    numbers = [
        (
            *(ranks, schedule.slots, collective.scratch(0), int(collective.heard_is_enough)),
            *(draw.choice([1, 2, 8]), draw.randint(1, most_segments)),
            *(_largest_message(transfers), draw.randint(1, times)),
            *(len(transfers), len(mode.aliases), len(given)),
        ),
        *transfers,
        *mode.aliases.tolist(),
        *given,
    ]
    name = f"{schedule.name}_{collective.name}_{mode.name}".replace(" ", "_")
    return f"{name} " + "\n".join(" ".join(map(str, row)) for row in numbers) + "\n"


def _largest_message(transfers: list[tuple[int, ...]]) -> int:
    """In bytes."""
    sizes: defaultdict[int, int] = defaultdict(int)
    for number, (*_, message, _, elements) in enumerate(transfers):
        sizes[message if message != NONE else -2 - number] += elements
    return max(1, FLOAT_BYTES * max(sizes.values(), default=0))


def _classic(draw: Random, ranks: int) -> Schedule:
    algorithm = draw.choice(algorithms_for(ranks))
    return algorithm.build(Collective(algorithm.kind, ranks, 0 if algorithm.kind.rooted else None))


def _given(schedule: Schedule, mode: Mode, sizes: list[int]) -> Iterator[tuple[int, ...]]:
    """What is no scratch: rank, slot, the slot whose memory it is, and how many elements it has."""
    collective = schedule.collective
    places = {(rank, slot): place for rank, slot, place in mode.aliases.tolist()}
    pieces = collective.piece_sizes(sizes)
    for table in (collective.initial, collective.final):
        for rank, slot, piece, *_ in table.tolist():
            yield rank, slot, places.get((rank, slot), slot), pieces[piece]
