"""The operations of one threadblock as acts: what its references mean, and whether they may."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from weft.errors import BadInput
from weft.formats.mscclpp.acts import Act, End, limit, want
from weft.formats.mscclpp.memory import Range
from weft.formats.mscclpp.operations import (
    BY_PORT,
    KNOWN,
    MOVES,
    SEMAPHORES,
    SIGNALS,
    SWITCH,
    WAITS,
    WITH_SIGNAL,
    Effect,
    effects,
)
from weft.formats.mscclpp.plan import (
    MOST_BARRIERS,
    MOST_BUFFERS_AT_ONCE,
    MOST_CHANNELS,
    MOST_CHANNELS_AT_ONCE,
    MOST_OPERATIONS,
    Chunks,
    Gpu,
    Operation,
    Plan,
    RemoteBuffer,
    Share,
    Threadblock,
)

Item = TypeVar("Item")


class ThreadblockReader:
    """Resolves the operations of one threadblock."""

    def __init__(
        self, plan: Plan, gpu: Gpu, block: Threadblock, shares: int, peers: dict[End, int]
    ) -> None:
        self._plan, self._gpu, self._block = plan, gpu, block
        self._shares, self._peers = shares, peers
        self._path = f"gpus[{gpu.id}].threadblocks[{block.id}]"
        limit(f"{self._path}.ops", sum(1 for _ in flat(block.ops)), MOST_OPERATIONS)
        self._channels: dict[str, list[End]] = {"memory": [], "port": [], "switch": []}
        for channels in block.channels:
            kind = channels.channel_type
            count = len(connected(gpu, kind))
            for number in () if kind == "switch" else channels.channel_ids:
                place = f"{self._path}.channels of type {kind}"
                want(number < count, place, number, f"a number below {count}")
                self._channels[kind].append(End(gpu.id, kind, number))
        self._remotes: dict[str, list[RemoteBuffer]] = {"memory": [], "port": [], "switch": []}
        for refs in block.remote_buffer_refs:
            for number in refs.remote_buffer_ids:
                remote = self._at(gpu.remote_buffers, number, f"{self._path}.remote_buffer_refs")
                kind = refs.access_channel_type
                fits = kind in remote.access_channel_types
                want(fits, f"{self._path}.remote_buffer_refs", number, f"one of type {kind}")
                self._remotes[kind].append(remote)
        for kind in ("memory", "port"):
            limit(f"{self._path}.channels of type {kind}", len(self._channels[kind]), MOST_CHANNELS)
            limit(f"{self._path}.remote_buffer_refs", len(self._remotes[kind]), MOST_CHANNELS)

    def acts(self) -> Iterator[Act]:
        for number, operation in enumerate(self._block.ops):
            path = f"{self._path}.ops[{number}]"
            if operation.name != "pipeline":
                want(not operation.ops, f"{path}.ops", "given", "none, or make it a pipeline")
                yield from self._acts(path, operation)
                continue
            context = operation.iter_context
            if context is None or not (context.unit_size and context.num_chunks):
                raise BadInput(f"{path} would be done zero times: write an iter_context above 0")
            for inner, each in enumerate(operation.ops):
                for chunks in each.dst_buff:
                    size = f"{path}.ops[{inner}].dst_buff size"
                    want(chunks.size <= context.num_chunks, size, chunks.size, "up to num_chunks")
                yield from self._acts(f"{path}.ops[{inner}]", each)

    def _acts(self, path: str, operation: Operation) -> Iterator[Act]:
        try:
            for name, found, ends, count in self._parts(operation):
                yield Act(path, (self._gpu.id, self._block.id), name, found, ends, count)
        except BadInput as problem:
            raise BadInput(f"{path}: {problem}") from None

    def _parts(
        self, operation: Operation
    ) -> Iterator[tuple[str, tuple[Effect, ...], tuple[End, ...], int]]:
        name = operation.name
        if name in MOVES:
            ends = self._move_ends(operation)
            yield name, self._effects(operation, ends), ends, 0
            if name in WITH_SIGNAL:
                yield "signal", (), ends, 0
            if name == "pwsf":
                yield "flush", (), ends, 0
        elif name in SIGNALS | WAITS or name == "flush":
            yield name, (), self._ends(operation), 0
        elif name in SEMAPHORES:
            yield name, (), self._semaphores(operation), 0
        elif name == "barrier":
            yield name, (), *self._barrier(operation)
            yield "go on", (), (), 0
        elif name == "nop":
            yield name, (), (), 0
        elif name == "pipeline":
            raise BadInput("a pipeline in a pipeline: write its operations into the outer one")
        elif name in SWITCH:
            raise BadInput(
                f"{name} lets a switch work for several gpus at once, which no transfer says: "
                "take a plan without switch channels"
            )
        else:
            raise BadInput(f"{name[:40]!r} is no operation: there are {', '.join(sorted(KNOWN))}")

    def _ends(self, operation: Operation) -> tuple[End, ...]:
        kind = operation.channel_type
        if kind not in {"memory", "port"}:
            raise BadInput(f"{operation.name} has channel_type {kind}: write memory or port")
        if operation.name == "flush" and kind != "port":
            raise BadInput(f"flush has channel_type {kind}: only ports are flushed, leave it out")
        ids = operation.channel_ids
        limit("channel_ids", len(ids), MOST_CHANNELS_AT_ONCE)
        want(len(set(ids)) == len(ids) > 0, "channel_ids", list(ids), "one or more, each once")
        return tuple(self._at(self._channels[kind], number, "channel_ids") for number in ids)

    def _move_ends(self, operation: Operation) -> tuple[End, ...]:
        """The ports that move; memory is reached without a channel."""
        name, kind = operation.name, operation.channel_type
        if kind == "switch" or (kind == "port" and name not in BY_PORT):
            raise BadInput(f"{name} has channel_type {kind}: write memory")
        if name in WITH_SIGNAL and kind != "port":
            raise BadInput(f"{name} has channel_type {kind}, where it would not signal: write port")
        if kind != "port":
            return ()
        ends = tuple(
            self._at(self._channels["port"], number, "channel_ids")
            for number in operation.channel_ids
        )
        for end, chunks in zip(ends, operation.dst_buff, strict=False):
            rank = self._range(operation, chunks).rank
            want(self._peers[end] == rank, "channel_ids", end.number, f"a channel to gpu {rank}")
        want(len(ends) == len(operation.dst_buff), "channel_ids", len(ends), "one per dst_buff")
        return ends

    def _effects(self, operation: Operation, ends: tuple[End, ...]) -> tuple[Effect, ...]:
        if operation.reduce_op not in {None, "sum"}:
            raise BadInput(
                f"reduce_op is {operation.reduce_op!r:.40}, but the executor adds whatever is "
                "written there: write sum"
            )
        for side in (operation.src_buff, operation.dst_buff):
            limit("buffers", len(side), MOST_BUFFERS_AT_ONCE)
        if "pkt" in operation.name and self._plan.protocol != "LL":
            raise BadInput(f"{operation.name} needs room for packets: write protocol LL")
        sources = [self._range(operation, chunks) for chunks in operation.src_buff]
        targets = [self._range(operation, chunks) for chunks in operation.dst_buff]
        return effects(operation.name, sources, targets, self._gpu.id, port=bool(ends))

    def _range(self, operation: Operation, chunks: Chunks) -> Range:
        if chunks.switch_channel_id is not None or (chunks.type is None) == (
            chunks.buffer_id is None
        ):
            raise BadInput("a buffer needs either type or buffer_id: write one of them")
        rank, letter = self._gpu.id, chunks.type
        if letter is None and chunks.buffer_id is not None:
            remotes = self._remotes[operation.channel_type or "memory"]
            remote = self._at(remotes, chunks.buffer_id, "buffer_id")
            rank, letter = remote.rank, remote.type
        gpu = self._plan.gpus[rank]
        counts = {"i": gpu.input_chunks, "o": gpu.output_chunks, "s": gpu.scratch_chunks}
        letter = letter or "s"
        end = chunks.index + chunks.size
        if not chunks.size or end > counts[letter]:
            raise BadInput(
                f"chunks {chunks.index} to {end} of {letter} on gpu {rank}: it has "
                f"{counts[letter]}, use one or more of them"
            )
        begin, size = chunks.index * self._shares, chunks.size * self._shares
        return Range(rank, letter, *_share(begin, size, operation.tbg_info))

    def _semaphores(self, operation: Operation) -> tuple[End, ...]:
        ids = operation.semaphore_ids
        want(len(set(ids)) == len(ids) > 0, "semaphore_ids", list(ids), "one or more, each once")
        for number in ids:
            self._at(self._gpu.semaphores, number, "semaphore_ids")
        return tuple(End(self._gpu.id, "semaphore", number) for number in ids)

    def _barrier(self, operation: Operation) -> tuple[tuple[End, ...], int]:
        number, count = operation.barrier_id, operation.num_threadblocks
        if number is None or number >= MOST_BARRIERS:
            raise BadInput(f"barrier_id is {number}: write a number below {MOST_BARRIERS}")
        if not count or count > len(self._gpu.threadblocks):
            raise BadInput(
                f"num_threadblocks is {count}: the gpu has {len(self._gpu.threadblocks)}"
            )
        return (End(self._gpu.id, "barrier", number),), count

    def _at(self, items: tuple[Item, ...] | list[Item], number: int, what: str) -> Item:
        want(number < len(items), what, number, f"a number below {len(items)}")
        return items[number]


def _share(begin: int, size: int, share: Share | None) -> tuple[int, int]:
    if share is None:
        return begin, size
    want(share.tb_id < share.tbg_size, "tb_id", share.tb_id, f"a number below {share.tbg_size}")
    part = size // share.tbg_size
    return begin + share.tb_id * part, part


def connected(gpu: Gpu, kind: str) -> list[int]:
    return [peer for c in gpu.channels if c.channel_type == kind for peer in c.connected_to]


def flat(operations: tuple[Operation, ...]) -> Iterator[Operation]:
    for operation in operations:
        yield operation
        yield from operation.ops
