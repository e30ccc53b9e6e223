"""An MSCCL file done on arrays: blocks take turns at random, connections hold a few chunks.

It shares nothing with the reader: it takes a file as the runtimes do, and knows no schedule.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from random import Random
from xml.etree import ElementTree as ET

import numpy as np
import numpy.typing as npt

from twins.execute import Blocks, value
from weft.collective import Collective
from weft.kinds import Kind, holders

Array = npt.NDArray[np.int64]
Memory = dict[str, Array]  # by buffer: one row a chunk
PLACES = {"Simple": 2, "LL": 8, "LL128": 8}
PATIENCE = 20  # turns of every block in which none did a thing
WIDTH = 2  # elements of a chunk


class Stuck(Exception):
    """No block can go on."""


class Wires:
    """What is on its way, by connection, and which steps are done."""

    def __init__(self, places: int) -> None:
        self.places = places
        self.on_the_way = defaultdict[tuple[str, str, str], deque[Array]](deque)
        self.done: set[tuple[str, str, str]] = set()


def run(content: bytes, collective: Collective, draw: Random, *, in_place: bool) -> Blocks:
    """Do one round of the loop on arrays as `twins.execute` has them; return the outputs."""
    algo = ET.fromstring(content.decode())  # noqa: S314 - what we have written
    memories = _memories(collective, int(algo.attrib["nchunksperloop"]), in_place=in_place)
    wires = Wires(PLACES[algo.attrib["proto"]])
    blocks = []
    for gpu in algo:
        memory = memories[int(gpu.attrib["id"])]
        memory["s"] = np.full((int(gpu.attrib["s_chunks"]), WIDTH), -(10**9), np.int64)
        blocks += [
            _block(gpu.attrib["id"], block.attrib, list(block), memory, wires) for block in gpu
        ]
    idle = 0
    while blocks:
        block = draw.choice(blocks)
        advanced = next(block, None)
        if advanced is None:
            blocks.remove(block)
        idle = idle + 1 if advanced is False else 0
        if idle > PATIENCE * len(blocks) and all(next(b, True) is False for b in blocks):
            raise Stuck
    return _outputs(collective, memories)


def _block(
    gpu: str, ends: dict[str, str], steps: list[ET.Element], memory: Memory, wires: Wires
) -> Iterator[bool]:
    """Do its steps; yield whether something was done since the last time."""
    out = wires.on_the_way[gpu, ends["send"], ends["chan"]]
    into = wires.on_the_way[ends["recv"], gpu, ends["chan"]]
    waits: list[tuple[str, str, str]] = []  # those of nops add up on the next real step
    for step in steps:
        a = step.attrib
        if a["depid"] != "-1":
            waits.append((gpu, a["depid"], a["deps"]))
        if a["type"] == "nop":
            continue
        while not wires.done.issuperset(waits):
            yield False
        waits = []
        for n in range(int(a["cnt"])):
            source = memory[a["srcbuf"]], int(a["srcoff"]) + n
            target = memory[a["dstbuf"]], int(a["dstoff"]) + n
            kind = a["type"]
            receives, sends = kind in {"r", "rcs", "rrc", "rrs", "rrcs"}, kind.endswith("s")
            while (receives and not into) or (sends and len(out) >= wires.places):
                yield False
            data = into.popleft() if receives else source[0][source[1]].copy()
            if kind in {"rrc", "rrs", "rrcs"}:
                data = data + source[0][source[1]]
            if kind == "re":
                data = data + target[0][target[1]]
            if kind in {"r", "rcs", "rrc", "rrcs", "cpy", "re"}:
                target[0][target[1]] = data
            if sends:
                out.append(data)
            yield True
        if a["hasdep"] == "1":
            wires.done.add((gpu, ends["id"], a["s"]))


def _memories(c: Collective, chunks: int, *, in_place: bool) -> list[Memory]:
    gives, wants = (_held(c, holds) for holds in (c.kind.shape.gives, c.kind.shape.wants))
    cut = chunks // max(len(blocks) for blocks in gives + wants)
    memories = []
    for rank in range(c.ranks):
        data = [value(rank, block, cut * WIDTH) for block in gives[rank]]
        given = np.concatenate([np.empty(0, np.int64), *data]).reshape(-1, WIDTH)
        wanted = np.zeros((len(wants[rank]) * cut, WIDTH), np.int64)
        if in_place and c.kind is Kind.ALLTOALL:
            wanted = given
        elif in_place and set(gives[rank]) <= set(wants[rank]) and gives[rank]:
            first = wants[rank].index(gives[rank][0]) * cut
            wanted[first : first + len(given)] = given
            given = wanted[first : first + len(given)]
        elif in_place and set(wants[rank]) <= set(gives[rank]) and wants[rank]:
            first = gives[rank].index(wants[rank][0]) * cut
            wanted = given[first : first + len(wanted)]
        memories.append({"i": given, "o": wanted})
    return memories


def _outputs(c: Collective, memories: list[Memory]) -> Blocks:
    outputs: Blocks = {}
    for rank, blocks in enumerate(_held(c, c.kind.shape.wants)):
        parts = np.split(memories[rank]["o"].reshape(-1), max(1, len(blocks)))
        outputs.update({(rank, block): part for block, part in zip(blocks, parts, strict=False)})
    return outputs


def _held(c: Collective, holds: object) -> list[list[int]]:
    """The blocks that each rank has, in order."""
    ranks, blocks = holders(holds, c.ranks, c.blocks, c.root)  # type: ignore[arg-type]
    return [blocks[ranks == rank].tolist() for rank in range(c.ranks)]
