"""MSCCL files in and out: what is written is read again and proved, as a file."""

from __future__ import annotations

from dataclasses import dataclass, replace

from weft.errors import BadInput
from weft.formats.msccl.check import PROTOCOLS, complaints, require_progress
from weft.formats.msccl.from_schedule import program_of
from weft.formats.msccl.program import MOST_SIZE, RUNTIMES, Program
from weft.formats.msccl.read import read_program
from weft.formats.msccl.to_schedule import schedule_of
from weft.formats.msccl.write import write_program
from weft.schedule.schedule import Schedule
from weft.schedule.verify import verify


@dataclass(frozen=True)
class Wanted:
    """For which calls a file is, and how its data goes."""

    protocol: str = "Simple"
    parts: int = 1  # of each block, on channels of their own
    least_bytes: int = 0
    most_bytes: int = 0  # 0 is any size


def from_msccl(content: bytes) -> Schedule:
    """Return what a file does, not yet verified; it has no races and does not wait in a circle."""
    return _proved(read_program(content))


def fitness(content: bytes) -> dict[str, list[str]]:
    """For each runtime, why it would refuse a file or do it wrong."""
    program = read_program(content)
    return {runtime: complaints(program, content, runtime) for runtime in RUNTIMES}


def _proved(program: Program) -> Schedule:
    require_progress(program)
    return schedule_of(program)


def to_msccl(schedule: Schedule, runtime: str, wanted: Wanted = Wanted()) -> bytes:
    """Return a file for one of the runtimes, which takes it and does what the schedule does."""
    if wanted.protocol not in PROTOCOLS:
        raise BadInput(f"{wanted.protocol[:40]!r} is not a protocol: give {', '.join(PROTOCOLS)}")
    if not 0 <= wanted.least_bytes <= (wanted.most_bytes or wanted.least_bytes) <= MOST_SIZE:
        raise BadInput(
            f"sizes from {wanted.least_bytes} to {wanted.most_bytes} bytes: give the smaller "
            f"first, and at most {MOST_SIZE}"
        )
    program = replace(
        program_of(schedule, runtime, wanted.parts),
        protocol=wanted.protocol,
        least_bytes=wanted.least_bytes,
        most_bytes=wanted.most_bytes,
    )
    content = write_program(program, runtime)
    written = read_program(content)
    verify(_proved(written))
    if problems := complaints(written, content, runtime):
        raise BadInput(f"{runtime} would not take {schedule.name} so: {problems[0]}")
    return content
