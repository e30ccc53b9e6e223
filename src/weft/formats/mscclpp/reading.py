"""A plan as acts: every reference resolved and checked, one list of acts for each threadblock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd, lcm
from typing import NamedTuple, TypeVar

from weft.errors import BadInput
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
    MOST_SEMAPHORES,
    Chunks,
    Gpu,
    Operation,
    Plan,
    RemoteBuffer,
    Share,
    Threadblock,
)
from weft.formats.mscclpp.threadblock import Thread

MOST_MOVED = 1 << 22  # chunks, by all operations together
MOST_SHARES = 1 << 12  # into which groups of threadblocks may cut a chunk

Item = TypeVar("Item")


class End(NamedTuple):
    """One end of a channel: number of its type on a gpu; or a semaphore, or a barrier."""

    rank: int
    type: str
    number: int


@dataclass(frozen=True, eq=False)
class Act:
    """A part of an operation that happens at once."""

    place: str
    thread: Thread
    name: str
    effects: tuple[Effect, ...] = ()
    ends: tuple[End, ...] = ()
    count: int = 0  # of threadblocks that meet at a barrier


@dataclass(frozen=True, eq=False)
class Acts:
    """All that a plan does."""

    threads: dict[Thread, list[Act]]
    partners: dict[End, End]  # of ends of channels
    peers: dict[End, int]
    semaphores: dict[End, int]  # and what they start with
    shares: int  # into how many parts chunks were cut


def read_acts(plan: Plan) -> Acts:
    for number, gpu in enumerate(plan.gpus):
        _check_gpu(f"gpus[{number}]", number, gpu, len(plan.gpus))
    shares = _shares(plan)
    peers = {
        End(gpu.id, kind, number): peer
        for gpu in plan.gpus
        for kind in ("memory", "port")
        for number, peer in enumerate(_connected(gpu, kind))
    }
    threads = {
        (gpu.id, block.id): list(_Threadblock(plan, gpu, block, shares, peers).acts())
        for gpu in plan.gpus
        for block in gpu.threadblocks
    }
    moved = sum(e.target.size for acts in threads.values() for act in acts for e in act.effects)
    if moved > MOST_MOVED:
        raise BadInput(f"the plan moves {moved} chunks, more than {MOST_MOVED}: take larger chunks")
    semaphores = {
        End(gpu.id, "semaphore", number): semaphore.init_value
        for gpu in plan.gpus
        for number, semaphore in enumerate(gpu.semaphores)
    }
    return Acts(threads, _partners(peers), peers, semaphores, shares)


def _check_gpu(path: str, number: int, gpu: Gpu, ranks: int) -> None:
    _want(gpu.id == number, f"{path}.id", gpu.id, str(number))
    for at, block in enumerate(gpu.threadblocks):
        _want(block.id == at, f"{path}.threadblocks[{at}].id", block.id, str(at))
    _limit(f"{path}.semaphores", len(gpu.semaphores), MOST_SEMAPHORES)
    for peer in (*_connected(gpu, "memory"), *_connected(gpu, "port")):
        fits = peer < ranks and peer != number
        _want(fits, f"{path}.channels connected_to", peer, f"another gpu, below {ranks}")
    for at, remote in enumerate(gpu.remote_buffers):
        fits = remote.rank < ranks and remote.rank != number
        place = f"{path}.remote_buffers[{at}].rank"
        _want(fits, place, remote.rank, f"another gpu, below {ranks}")


def _connected(gpu: Gpu, kind: str) -> list[int]:
    return [peer for c in gpu.channels if c.channel_type == kind for peer in c.connected_to]


def _partners(peers: dict[End, int]) -> dict[End, End]:
    """The k-th channel of a type to a peer is the peer's k-th one back."""
    between: dict[tuple[int, int, str], list[End]] = {}
    for end, peer in peers.items():
        between.setdefault((end.rank, peer, end.type), []).append(end)
    return {
        end: other
        for (rank, peer, kind), ends in between.items()
        for end, other in zip(ends, between.get((peer, rank, kind), []), strict=False)
    }


def _shares(plan: Plan) -> int:
    """Into how many parts to cut chunks so that each threadblock of a group has whole ones."""
    shares = 1
    for gpu in plan.gpus:
        for block in gpu.threadblocks:
            for operation in _flat(block.ops):
                if operation.tbg_info:
                    for chunks in (*operation.src_buff, *operation.dst_buff):
                        size = operation.tbg_info.tbg_size
                        shares = lcm(shares, size // gcd(size, chunks.size))
                        _limit("parts that tbg_size cuts chunks into", shares, MOST_SHARES)
    return shares


def _flat(operations: tuple[Operation, ...]) -> Iterator[Operation]:
    for operation in operations:
        yield operation
        yield from operation.ops


def _want(fits: object, path: str, value: object, wanted: str) -> None:
    if not fits:
        raise BadInput(f"{path} is {value}: write {wanted}")


def _limit(path: str, count: int, most: int) -> None:
    _want(count <= most, f"the number of {path}", count, f"at most {most}")


class _Threadblock:
    """Resolves the operations of one threadblock."""

    def __init__(
        self, plan: Plan, gpu: Gpu, block: Threadblock, shares: int, peers: dict[End, int]
    ) -> None:
        self._plan, self._gpu, self._block = plan, gpu, block
        self._shares, self._peers = shares, peers
        self._path = f"gpus[{gpu.id}].threadblocks[{block.id}]"
        _limit(f"{self._path}.ops", sum(1 for _ in _flat(block.ops)), MOST_OPERATIONS)
        self._channels: dict[str, list[End]] = {"memory": [], "port": [], "switch": []}
        for channels in block.channels:
            kind = channels.channel_type
            count = len(_connected(gpu, kind))
            for number in () if kind == "switch" else channels.channel_ids:
                place = f"{self._path}.channels of type {kind}"
                _want(number < count, place, number, f"a number below {count}")
                self._channels[kind].append(End(gpu.id, kind, number))
        self._remotes: dict[str, list[RemoteBuffer]] = {"memory": [], "port": [], "switch": []}
        for refs in block.remote_buffer_refs:
            for number in refs.remote_buffer_ids:
                remote = self._at(gpu.remote_buffers, number, f"{self._path}.remote_buffer_refs")
                kind = refs.access_channel_type
                fits = kind in remote.access_channel_types
                _want(fits, f"{self._path}.remote_buffer_refs", number, f"one of type {kind}")
                self._remotes[kind].append(remote)
        for kind in ("memory", "port"):
            _limit(
                f"{self._path}.channels of type {kind}", len(self._channels[kind]), MOST_CHANNELS
            )
            _limit(f"{self._path}.remote_buffer_refs", len(self._remotes[kind]), MOST_CHANNELS)

    def acts(self) -> Iterator[Act]:
        for number, operation in enumerate(self._block.ops):
            path = f"{self._path}.ops[{number}]"
            if operation.name == "pipeline":
                for inner, each in enumerate(operation.ops):
                    _want(each.name != "pipeline", f"{path}.ops[{inner}]", "a pipeline", "another")
                    yield from self._acts(f"{path}.ops[{inner}]", each)
            else:
                _want(not operation.ops, f"{path}.ops", "given", "none, or a pipeline")
                yield from self._acts(path, operation)

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
        elif name == "nop":
            yield name, (), (), 0
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
        _limit("channel_ids", len(ids), MOST_CHANNELS_AT_ONCE)
        _want(len(set(ids)) == len(ids) > 0, "channel_ids", list(ids), "one or more, each once")
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
            _want(self._peers[end] == rank, "channel_ids", end.number, f"a channel to gpu {rank}")
        _want(len(ends) == len(operation.dst_buff), "channel_ids", len(ends), "one per dst_buff")
        return ends

    def _effects(self, operation: Operation, ends: tuple[End, ...]) -> tuple[Effect, ...]:
        if operation.reduce_op not in {None, "sum"}:
            raise BadInput(
                f"reduce_op is {operation.reduce_op!r:.40}, but the executor adds whatever is "
                "written there: write sum"
            )
        for side in (operation.src_buff, operation.dst_buff):
            _limit("buffers", len(side), MOST_BUFFERS_AT_ONCE)
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
        _want(len(set(ids)) == len(ids) > 0, "semaphore_ids", list(ids), "one or more, each once")
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
        _want(number < len(items), what, number, f"a number below {len(items)}")
        return items[number]


def _share(begin: int, size: int, share: Share | None) -> tuple[int, int]:
    if share is None:
        return begin, size
    _want(share.tb_id < share.tbg_size, "tb_id", share.tb_id, f"a number below {share.tbg_size}")
    part = size // share.tbg_size
    return begin + share.tb_id * part, part
