"""Schedules in the formats that other programs run.

Each is read again and proved before anyone gets it, except where a format cannot say what a
schedule does: NCCL's graphs hold orders of ranks only.  What writes them is imported when it is
asked for: `import weft` has to be quick.
"""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TypedDict, Unpack

from weft.errors import BadInput
from weft.formats.files import write_bytes
from weft.formats.weft_json import schedule_to_json
from weft.schedule.parts import in_parts
from weft.schedule.schedule import Schedule
from weft.schedule.text import format_text
from weft.schedule.verify import verify
from weft.topology.topology import Topology


class Target(StrEnum):
    """What a file is for."""

    MSCCLPP = "mscclpp"
    MSCCL_EXECUTOR = "msccl-executor"
    MSCCL = "msccl"
    RCCL = "rccl"
    CHAKRA = "chakra"
    NCCL_GRAPH = "nccl-graph"
    WEFT = "weft"
    TEXT = "text"


class Options(TypedDict, total=False):
    """What some targets want to know; what is left out is as usual there."""

    in_place: bool  # for calls in place alone
    parts: int  # of each block, done side by side
    protocol: str
    min_size: int  # in bytes, as are all
    max_size: int
    size: int  # what a rank gives or gets, in bytes
    topology: Topology


_MSCCL = {"in_place", "parts", "protocol", "min_size", "max_size"}
_USES = {
    Target.MSCCLPP: {"in_place", "parts"},
    Target.MSCCL_EXECUTOR: _MSCCL,
    Target.MSCCL: _MSCCL,
    Target.RCCL: _MSCCL,
    Target.CHAKRA: {"in_place", "size"},
    Target.NCCL_GRAPH: {"topology"},
    Target.WEFT: set[str](),
    Target.TEXT: set[str](),
}


def export(
    schedule: Schedule, path: str | Path, target: str, **options: Unpack[Options]
) -> list[Path]:
    """Write a schedule for a target; return the files written, of Chakra one for each rank."""
    contents = exported(schedule, target, options)
    path = Path(path)
    paths = [path]
    if target == Target.CHAKRA:
        prefix = re.sub(r"(\.\d+)?\.et$", "", path.name)
        if not prefix:
            raise BadInput(f"{path} cannot be written: give what the files' names begin with")
        paths = [path.with_name(f"{prefix}.{rank}.et") for rank in range(len(contents))]
    for each, content in zip(paths, contents, strict=True):
        write_bytes(content, each)
    return paths


def exported(schedule: Schedule, target: str, options: Options) -> list[bytes]:
    """Return the contents of the files that `export` writes."""
    if target not in set(Target):
        raise BadInput(f"{target[:40]!r} is no target: there are {', '.join(Target)}")
    if unused := set(options) - _USES[Target(target)]:
        raise BadInput(f"{min(unused)} is not for {target}: leave it out")
    verify(schedule)
    if options.get("in_place"):
        schedule = replace(schedule, out_of_place=False)
        if not schedule.in_place:
            raise BadInput(f"{schedule.name} does not work in place: leave in_place out")
    match Target(target):
        case Target.WEFT:
            return [schedule_to_json(schedule)]
        case Target.TEXT:
            return [format_text(schedule).encode()]
        case Target.NCCL_GRAPH:
            from weft.formats.nccl_graph import nccl_graph

            return [nccl_graph(schedule, options.get("topology"))]
        case Target.MSCCLPP:
            return [_mscclpp(in_parts(schedule, options.get("parts", 1)))]
        case Target.CHAKRA:
            return _chakra(schedule, options.get("size"))
        case _:
            return [_msccl(schedule, target, options)]


def _msccl(schedule: Schedule, target: str, options: Options) -> bytes:
    from weft.formats.msccl.file import Wanted, to_msccl

    wanted = Wanted(
        options.get("protocol", Wanted.protocol),
        options.get("parts", Wanted.parts),
        options.get("min_size", 0),
        options.get("max_size", 0),
    )
    return to_msccl(schedule, target, wanted)


def _mscclpp(schedule: Schedule) -> bytes:
    from weft.formats.mscclpp import mscclpp_plan, schedule_from_mscclpp

    content = mscclpp_plan(schedule, in_place=not schedule.out_of_place)
    verify(schedule_from_mscclpp(content))
    return content


def _chakra(schedule: Schedule, size: int | None) -> list[bytes]:
    from weft.formats.chakra.reading import schedule_from_chakra
    from weft.formats.chakra.writing import chakra_files

    if size is None:
        raise BadInput("chakra says how many bytes go where: give a size, as in 64M")
    files = chakra_files(schedule, size)
    verify(schedule_from_chakra(files))
    return files
