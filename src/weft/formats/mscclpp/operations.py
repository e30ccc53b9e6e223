"""What each operation moves, as a table over its buffers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from weft.errors import BadInput
from weft.formats.mscclpp.memory import Range

SIGNALS = frozenset({"signal", "rlxsignal"})
WAITS = frozenset({"wait", "rlxwait"})
SEMAPHORES = frozenset({"sem_acquire", "sem_release"})
SWITCH = frozenset({"glres", "gstore", "gstorepkt"})
WITH_SIGNAL = frozenset({"pws", "pwsf"})


class Row(NamedTuple):
    """Buffers in order as a pattern: L is local, R remote.

    From the number given on, buffers hold packets.  Where `each` is set, every source goes to the
    target of the same number; elsewhere all targets get the sum of all sources.
    """

    sources: str
    targets: str
    packet_sources: int = 99
    packet_targets: int = 99
    each: bool = False


MOVES = {
    "put": Row("L+", "R+", each=True),
    "pws": Row("L+", "R+", each=True),
    "pwsf": Row("L+", "R+", each=True),
    "get": Row("R+", "L+", each=True),
    "copy": Row("L", "L"),
    "re": Row("LL+", "L"),
    "res": Row("LL+", "LR+"),
    "rre": Row("LR+", "L"),
    "rres": Row("LR+", "LR+"),
    "ppkt": Row("L+", "R+", packet_targets=0, each=True),
    "rppkt": Row("L", "R+", packet_sources=0, packet_targets=0),
    "cpkt": Row("L", "L", packet_targets=0),
    "upkt": Row("L", "L", packet_sources=0),
    "repkt": Row("LL+", "L", packet_sources=1),
    "respkt": Row("LL+", "LR+", packet_sources=1, packet_targets=1),
    "recpkt": Row("LL+", "LL", packet_sources=1, packet_targets=1),
    "recspkt": Row("LL+", "LLR+", packet_sources=1, packet_targets=1),
}
BY_PORT = {"put", "pws", "pwsf", "ppkt", "rppkt"}  # all others reach peers through memory only
KNOWN = (*MOVES, *SIGNALS, *WAITS, *SEMAPHORES, "nop", "barrier", "flush", "pipeline")


class Effect(NamedTuple):
    """A range gets the sum of others."""

    sources: tuple[Range, ...]
    target: Range


def effects(
    name: str, sources: Sequence[Range], targets: Sequence[Range], rank: int, *, port: bool
) -> tuple[Effect, ...]:
    """Return what the operation does to memory; complain about buffers that do not suit it."""
    row = MOVES[name]
    for side, ranges, pattern in (
        ("src_buff", sources, row.sources),
        ("dst_buff", targets, row.targets),
    ):
        kinds = "".join("L" if each.rank == rank else "R" for each in ranges)
        if not re.fullmatch(pattern, kinds):
            raise BadInput(
                f"{side} of {name} has the buffers {kinds or 'none'}: write {pattern} "
                "(L: type, R: buffer_id, +: one or more)"
            )
    first_packet = 0 if name == "ppkt" and port else row.packet_sources
    sources = _as_packets(sources, first_packet)
    targets = _as_packets(targets, row.packet_targets)
    found = tuple(_each(sources, targets) if row.each else _sum(sources, targets))
    _check(name, found)
    if name in {"put", "ppkt"} and not port and len({s.buffer for s in sources}) > 1:
        raise BadInput(f"{name} has sources in several buffers, and the executor reads only one")
    if name == "get" and any(e.sources[0].first != e.target.first for e in found):
        raise BadInput("get takes its source from another index than its target: write the same")
    return found


def _as_packets(ranges: Sequence[Range], first: int) -> list[Range]:
    found = [*ranges[:first], *(each._replace(packets=True) for each in ranges[first:])]
    if any(each.buffer != "s" for each in ranges[first:]):
        raise BadInput("packets are held by scratch only: write type s")
    return found


def _each(sources: Sequence[Range], targets: Sequence[Range]) -> Iterator[Effect]:
    if len(sources) != len(targets):
        raise BadInput(f"{len(sources)} buffers go to {len(targets)}: write as many of each")
    for source, target in zip(sources, targets, strict=True):
        yield Effect((source,), target)


def _sum(sources: Sequence[Range], targets: Sequence[Range]) -> Iterator[Effect]:
    """The sum is told once, and copied from where it is first."""
    yield Effect(tuple(sources), targets[0])
    for target in targets[1:]:
        yield Effect((targets[0],) if len(sources) > 1 else tuple(sources), target)


def _check(name: str, found: tuple[Effect, ...]) -> None:
    for effect in found:
        for source in effect.sources:
            if source.size != effect.target.size:
                raise BadInput(
                    f"{name} moves {source.size} chunks into {effect.target.size}: write one size"
                )
            if source != effect.target and _overlap(source, effect.target):
                raise BadInput(f"{name} reads a part of what it writes: move it elsewhere first")
    for one, other in combinations([effect.target for effect in found], 2):
        if _overlap(one, other):
            raise BadInput(f"{name} writes one chunk twice: let its targets lie apart")


def _overlap(one: Range, other: Range) -> bool:
    same = (one.rank, one.buffer, one.packets) == (other.rank, other.buffer, other.packets)
    return same and one.first < other.end and other.first < one.end
