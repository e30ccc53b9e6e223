"""Nouns on disk: what format a file has, whether it may be read at all, and that it is correct.

The formats of other programs are imported where they are met: `import weft` has to be quick.
"""

from __future__ import annotations

import codecs
import gzip
import os
import shlex
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from weft.errors import BadInput, WrongSchedule
from weft.formats.weft_json import (
    schedule_from_json,
    schedule_to_json,
    topology_from_json,
    topology_to_json,
)
from weft.schedule.schedule import Schedule
from weft.schedule.text import parse_text
from weft.schedule.verify import verify
from weft.topology.topology import Topology

if TYPE_CHECKING:
    from weft.formats.chakra.calls import Call

MOST_BYTES = 1 << 28  # of a file, or of those of all ranks, after decompression
GZIP = b"\x1f\x8b"

Noun = TypeVar("Noun")


def load(path: str | Path, topology: Topology | None = None) -> Schedule:
    """Return the schedule in a file, proved correct; with a topology, its routes count too."""
    schedule = read_schedule(path)
    try:
        verify(schedule, topology)
    except WrongSchedule as wrong:
        raise WrongSchedule(wrong.finding, shlex.quote(str(path))) from None
    return schedule


def save(noun: Schedule | Topology, path: str | Path) -> None:
    """Write weft JSON, all of it or nothing; a name that ends in .gz is compressed."""
    content = schedule_to_json(noun) if isinstance(noun, Schedule) else topology_to_json(noun)
    write_bytes(content, path)


def write_bytes(content: bytes, path: str | Path) -> None:
    """Write a file, all of it or nothing; a name that ends in .gz is compressed."""
    try:
        target = Path(os.path.realpath(path))
        _write(target, gzip.compress(content, mtime=0) if target.suffix == ".gz" else content)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise BadInput(f"{path} cannot be written: {reason}") from None


def _write(target: Path, content: bytes) -> None:
    if target.exists() and not target.is_file():  # a device, say
        target.write_bytes(content)
        return
    unfinished = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def load_topology(path: str | Path) -> Topology:
    return _read(path, topology_from_json)


def read_schedule(path: str | Path) -> Schedule:
    """Return the schedule in a file of any format, as it stands there, not yet verified."""
    if Path(path).name.removesuffix(".gz").endswith(".et"):
        return _named(path, lambda: _traces(path))
    return _read(path, _schedule)


def read_with_runtimes(path: str | Path) -> tuple[Schedule, dict[str, list[str]]]:
    """The same, and of an MSCCL file, for each runtime, why that would not do it right."""
    if Path(path).name.removesuffix(".gz").endswith(".et"):
        return read_schedule(path), {}
    return _read(path, lambda content: (_schedule(content), _runtimes(content)))


def read_calls(path: str | Path) -> tuple[Call, ...]:
    """Return the collectives that a Chakra trace of one rank calls by name."""
    from weft.formats.chakra.calls import calls_from_chakra

    return _read(path, calls_from_chakra)


def _schedule(content: bytes) -> Schedule:
    content = content.removeprefix(codecs.BOM_UTF8)
    start = content[:100].lstrip()
    if start.startswith((b"{", b"[")):
        ours = b'"weft-schedule"' in content[:200] or b'"gpus"' not in content
        return schedule_from_json(content) if ours else _plan(content)
    if start.startswith(b"<"):
        from weft.formats.msccl.file import from_msccl

        return from_msccl(content)
    try:
        return parse_text(content.decode())
    except UnicodeDecodeError as problem:
        raise BadInput(f"neither JSON nor text: byte {problem.start} is not UTF-8") from None


def _plan(content: bytes) -> Schedule:
    from weft.formats.mscclpp import schedule_from_mscclpp

    return schedule_from_mscclpp(content)


def _traces(path: str | Path) -> Schedule:
    from weft.formats.chakra.paths import rank_paths
    from weft.formats.chakra.reading import schedule_from_chakra

    return schedule_from_chakra(_contents(rank_paths(path)))


def _runtimes(content: bytes) -> dict[str, list[str]]:
    from weft.formats.msccl.file import fitness

    content = content.removeprefix(codecs.BOM_UTF8)
    return fitness(content) if content[:100].lstrip().startswith(b"<") else {}


def _read(path: str | Path, parse: Callable[[bytes], Noun]) -> Noun:
    return _named(path, lambda: parse(_content(Path(path))))


def _named(path: str | Path, read: Callable[[], Noun]) -> Noun:
    """Say of what is wrong in which file."""
    try:
        return read()
    except BadInput as problem:
        raise BadInput(f"{path}: {problem}") from None


def _contents(paths: list[Path]) -> list[bytes]:
    contents: list[bytes] = []
    size = 0
    for path in paths:
        contents.append(_content(path))
        size += len(contents[-1])
        if size > MOST_BYTES:
            raise BadInput(f"the files of all ranks hold more than {MOST_BYTES} bytes: give fewer")
    return contents


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as problem:
        raise BadInput(f"cannot be read: {getattr(problem, 'strerror', problem)}") from None
    if content.startswith(GZIP):
        content = _unpacked(content)
    if len(content) > MOST_BYTES:
        raise BadInput(f"holds more than the {MOST_BYTES} bytes that we read")
    return content


def _unpacked(content: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        unpacked = unpacker.decompress(content, MOST_BYTES + 1)
    except zlib.error as problem:
        raise BadInput(f"is not valid gzip data ({problem}): write or copy it again") from None
    if not unpacker.eof and len(unpacked) <= MOST_BYTES:
        raise BadInput("ends in the middle of its compressed data: write or copy it again")
    if unpacker.unused_data:
        raise BadInput("has something behind its compressed data: keep one file in it")
    return unpacked
