"""The executor once more, slowly: whole plans on real numbers, threadblocks in any order.

It reads the JSON by itself and knows what exported plans use.  Each rank makes its calls one after
the other on the same scratch, and takes its output away, and gives new input, the moment it leaves
one: whoever writes too late or too early shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.collective import Collective

Numbers = npt.NDArray[np.int64]
Blocks = dict[tuple[int, int], Numbers]  # what a rank gives of a block


def draw_blocks(collective: Collective, chunks: int, draw: Random) -> Blocks:
    rows = collective.initial.tolist()
    pairs = sorted({(rank, int(collective.pieces[piece]["block"])) for rank, _, piece, *_ in rows})
    return {pair: np.array([draw.randrange(10**9) for _ in range(chunks)]) for pair in pairs}


def expected(collective: Collective, chunks: int, blocks: Blocks, rank: int) -> Numbers:
    parts = [np.empty(0, np.int64)]
    for owner, _, piece, first, count in collective.final.tolist():
        if owner == rank:
            block, part = int(collective.pieces[piece]["block"]), collective.elements(piece, chunks)
            givers = range(first, first + count)
            parts.append(
                np.sum([blocks[giver, block][part.start : part.stop] for giver in givers], axis=0)
            )
    return np.concatenate(parts)


class Rank:
    """One gpu: its buffers, and how far its threadblocks are."""

    def __init__(self, gpu: dict[str, Any], collective: Collective, *, in_place: bool) -> None:
        self.gpu, self.collective, self.call = gpu, collective, 0
        sizes = gpu["input_chunks"], gpu["output_chunks"]
        memory = np.zeros(max(sizes), np.int64)
        first = [gpu["id"] * size if size < max(sizes) else 0 for size in sizes]
        self.buffers = {
            letter: memory[begin : begin + size] if in_place else np.zeros(size, np.int64)
            for letter, size, begin in zip("io", sizes, first, strict=True)
        }
        self.buffers["s"] = np.full(gpu["scratch_chunks"], -1)
        self.at = [0] * len(gpu["threadblocks"])

    def enter(self, blocks: Blocks) -> None:
        given = [blocks[pair] for pair in sorted(blocks) if pair[0] == self.gpu["id"]]
        if given:
            data = np.concatenate(given)
            self.buffers["i"][: len(data)] = data

    @property
    def is_done(self) -> bool:
        return self.at == [len(block["ops"]) for block in self.gpu["threadblocks"]]


class Machine:
    """All ranks, and the signals between them."""

    def __init__(self, plan: dict[str, Any], collective: Collective, draw: Random) -> None:
        self.collective, self.draw = collective, draw
        self.ranks = [Rank(gpu, collective, in_place=plan["inplace"]) for gpu in plan["gpus"]]
        self.signals: Counter[tuple[int, int]] = Counter()  # to a rank, on its channel
        self.peers = [
            [peer for entry in gpu["channels"] for peer in entry["connected_to"]]
            for gpu in plan["gpus"]
        ]

    def run(self, calls: list[Blocks]) -> list[list[Numbers]]:
        """Return what each rank has at the end of each call."""
        found: list[list[Numbers]] = [[] for _ in self.ranks]
        for rank in self.ranks:
            rank.enter(calls[0])
            self._leave(rank, calls, found[rank.gpu["id"]])
        while any(len(outputs) < len(calls) for outputs in found):
            ready = list(self._ready(len(calls)))
            assert ready, "nobody can go on"
            rank, block = self.draw.choice(ready)
            self._do(rank, block)
            self._leave(rank, calls, found[rank.gpu["id"]])
        assert not +self.signals
        return found

    def _leave(self, rank: Rank, calls: list[Blocks], outputs: list[Numbers]) -> None:
        while rank.is_done and rank.call < len(calls):
            outputs.append(rank.buffers["o"].copy())
            rank.call += 1
            rank.at = [0] * len(rank.at)
            if rank.call < len(calls):
                rank.enter(calls[rank.call])

    def _ready(self, calls: int) -> Iterator[tuple[Rank, int]]:
        for rank in self.ranks:
            for block, at in enumerate(rank.at if rank.call < calls else []):
                ops = rank.gpu["threadblocks"][block]["ops"]
                if at < len(ops) and self._can(rank, block, ops[at]):
                    yield rank, block

    def _channels(self, rank: Rank, block: int, op: dict[str, Any]) -> list[int]:
        own = rank.gpu["threadblocks"][block]["channels"][0]["channel_ids"]
        return [own[number] for number in op["channel_ids"]]

    def _can(self, rank: Rank, block: int, op: dict[str, Any]) -> bool:
        waits = op["name"] in {"wait", "rlxwait"}
        ids = self._channels(rank, block, op) if waits else []
        return all(self.signals[rank.gpu["id"], each] for each in ids)

    def _do(self, rank: Rank, block: int) -> None:
        op = rank.gpu["threadblocks"][block]["ops"][rank.at[block]]
        rank.at[block] += 1
        me = rank.gpu["id"]
        if op["name"] in {"wait", "rlxwait"}:
            for each in self._channels(rank, block, op):
                self.signals[me, each] -= 1
        elif op["name"] in {"signal", "rlxsignal"}:
            for each in self._channels(rank, block, op):
                peer = self.peers[me][each]
                number = self.peers[me][:each].count(peer)
                back = [at for at, other in enumerate(self.peers[peer]) if other == me]
                self.signals[peer, back[number]] += 1
        elif op["name"] == "put":
            for source, target in zip(op["src_buff"], op["dst_buff"], strict=True):
                self._view(rank, block, target)[:] = self._view(rank, block, source)
        elif op["name"] != "nop":
            views = [self._view(rank, block, each) for each in op["src_buff"]]
            self._view(rank, block, op["dst_buff"][0])[:] = np.sum(views, axis=0)

    def _view(self, rank: Rank, block: int, chunks: dict[str, Any]) -> Numbers:
        buffers, letter = rank.buffers, chunks.get("type")
        if letter is None:
            refs = rank.gpu["threadblocks"][block]["remote_buffer_refs"][0]["remote_buffer_ids"]
            remote = rank.gpu["remote_buffers"][refs[chunks["buffer_id"]]]
            buffers, letter = self.ranks[remote["rank"]].buffers, remote["type"]
        view = buffers[letter][chunks["index"] : chunks["index"] + chunks["size"]]
        assert len(view) == chunks["size"]
        return view
