"""Written threadblocks as the gpus of a plan: what they share is numbered, and limits are kept."""

from __future__ import annotations

from weft.errors import BadInput
from weft.formats.mscclpp.memory import Places, Range
from weft.formats.mscclpp.plan import (
    MOST_CHANNELS,
    MOST_OPERATIONS,
    Channels,
    Chunks,
    Gpu,
    Letter,
    Operation,
    RemoteBuffer,
    RemoteBufferRefs,
    Threadblock,
    ThreadblockChannels,
)
from weft.formats.mscclpp.threadblock import REDUCE, Channel, Draft, Step

Remote = tuple[int, Letter]  # rank, buffer


def gpu_of(rank: int, drafts: list[Draft], places: Places) -> Gpu:
    steps = [step for draft in drafts for step in draft.steps]
    channels = sorted({c for step in steps for c in step.channels}, key=lambda c: c.order)
    remotes = sorted({remote for step in steps for remote in _remotes(rank, step)})
    return Gpu(
        id=rank,
        input_chunks=places.sizes.inputs,
        output_chunks=places.sizes.outputs,
        scratch_chunks=places.scratch[rank],
        threadblocks=tuple(_threadblock(draft, channels, remotes) for draft in drafts),
        channels=(Channels("memory", tuple(c.peer for c in channels)),) if channels else (),
        remote_buffers=tuple(RemoteBuffer(peer, buffer, ("memory",)) for peer, buffer in remotes),
    )


def _remotes(rank: int, step: Step) -> set[Remote]:
    return {(each.rank, each.buffer) for each in step.targets if each.rank != rank}


def _threadblock(draft: Draft, channels: list[Channel], remotes: list[Remote]) -> Threadblock:
    rank, number = draft.thread
    own = [c for c in channels if c.here == draft.thread]
    used = sorted(set[Remote]().union(*(_remotes(rank, step) for step in draft.steps)))
    _check_limits(draft, len(own), len(used))
    return Threadblock(
        number,
        tuple(_operation(rank, step, own, used) for step in draft.steps),
        (ThreadblockChannels("memory", tuple(map(channels.index, own))),) if own else (),
        (RemoteBufferRefs("memory", tuple(map(remotes.index, used))),) if used else (),
    )


def _operation(rank: int, step: Step, own: list[Channel], used: list[Remote]) -> Operation:
    def chunks(each: Range) -> Chunks:
        if each.rank == rank:
            return Chunks(each.first, each.size, type=each.buffer)
        return Chunks(each.first, each.size, buffer_id=used.index((each.rank, each.buffer)))

    return Operation(
        step.name,
        tuple(map(chunks, step.sources)),
        tuple(map(chunks, step.targets)),
        tuple(map(own.index, step.channels)),
        "memory" if step.channels or step.name == "put" else None,
        "sum" if step.name == REDUCE else None,
    )


def _check_limits(draft: Draft, channels: int, remotes: int) -> None:
    for what, count, most, advice in (
        ("operations", len(draft.steps), MOST_OPERATIONS, "with fewer steps"),
        ("channels", channels, MOST_CHANNELS, "in which a rank has fewer peers"),
        ("remote buffers", remotes, MOST_CHANNELS, "in which a rank has fewer peers"),
    ):
        if count > most:
            rank, number = draft.thread
            raise BadInput(
                f"gpu {rank}, threadblock {number} would have {count} {what}, and MSCCL++ takes "
                f"at most {most}: take an algorithm {advice}, or fewer ranks"
            )
