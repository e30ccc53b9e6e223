"""The plan as the executor reads it, and what the executor can take.

Fields and limits are those of `execution_plan.cc` and `execution_common.hpp` of MSCCL++ 0.9.  The
file has no version; a field that this reader does not know is refused, because it may change what
the plan does.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from weft.checks import require_range
from weft.errors import BadInput

MOST_OPERATIONS = 64  # of a threadblock, those inside pipelines included
MOST_CHANNELS = 16  # of a threadblock, and as many remote buffers, of each type
MOST_CHANNELS_AT_ONCE = 8  # of an operation
MOST_BUFFERS_AT_ONCE = 10  # that an operation reads, and that it writes
MOST_BARRIERS = 16  # of a gpu
MOST_SEMAPHORES = 16  # of a gpu
MOST_OFFSET = (1 << 32) - 1  # bytes
MOST_CHUNKS = 1 << 16  # our own, of a buffer: a message is a multiple of 16 bytes for each
MOST_THREADBLOCKS = 64  # our own: all of a gpu must run at once, and an A100 has 108 processors
MOST_VALUES = 1 << 21  # in a file
ALIGNMENT = 16  # bytes; an operation moves that many at a time
THREADS = 1024  # of a threadblock

Number = Annotated[int, Meta(ge=0, le=MOST_OFFSET)]
Letter = Literal["i", "o", "s"]
ChannelType = Literal["memory", "port", "switch"]


class _Fields(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A JSON object; a field with a default may be left out."""


class Chunks(_Fields, frozen=True):
    """Chunks of a buffer of this gpu (`type`), of another, or of what a switch joins."""

    index: Number
    size: Number
    type: Letter | None = None
    buffer_id: Number | None = None  # place in the threadblock's remote buffers
    switch_channel_id: Number | None = None


class Share(_Fields, frozen=True):
    """Which part of an operation a threadblock of a group does."""

    tb_id: Number
    tbg_size: Annotated[int, Meta(ge=1, le=1024)]


class Iterations(_Fields, frozen=True):
    """A pipeline does its operations for so many bytes at a time."""

    unit_size: Number
    num_chunks: Number


class Operation(_Fields, frozen=True):
    """One step of a threadblock; `channel_ids` are places in the threadblock's channels."""

    name: str
    src_buff: tuple[Chunks, ...] = ()
    dst_buff: tuple[Chunks, ...] = ()
    channel_ids: tuple[Number, ...] = ()
    channel_type: ChannelType | None = None
    reduce_op: str | None = None
    tbg_info: Share | None = None
    barrier_id: Number | None = None
    num_threadblocks: Number | None = None
    semaphore_ids: tuple[Number, ...] = ()
    iter_context: Iterations | None = None
    ops: tuple[Operation, ...] = ()


class ThreadblockChannels(_Fields, frozen=True):
    """Channels of the gpu, counted by type, that a threadblock uses."""

    channel_type: ChannelType
    channel_ids: tuple[Number, ...]
    buff: Letter | None = None


class RemoteBufferRefs(_Fields, frozen=True):
    """Remote buffers of the gpu that a threadblock uses."""

    access_channel_type: ChannelType
    remote_buffer_ids: tuple[Number, ...]


class Threadblock(_Fields, frozen=True, omit_defaults=False):
    """A list of operations, done in order."""

    id: Number
    ops: tuple[Operation, ...]
    channels: tuple[ThreadblockChannels, ...]
    remote_buffer_refs: tuple[RemoteBufferRefs, ...] = ()


class RankGroup(_Fields, frozen=True):
    """Gpus that a switch joins."""

    size: Number
    ranks: tuple[Number, ...]


class Channels(_Fields, frozen=True):
    """Channels of a gpu: one to each of `connected_to`, or those of switches."""

    channel_type: ChannelType
    connected_to: tuple[Number, ...] = ()
    buffer_type: Letter | None = None
    rank_groups: tuple[RankGroup, ...] = ()


class RemoteBuffer(_Fields, frozen=True):
    """A buffer of another gpu."""

    rank: Number
    type: Letter
    access_channel_types: tuple[ChannelType, ...]


class Semaphore(_Fields, frozen=True):
    """It counts between threadblocks of one gpu."""

    init_value: Number


class Gpu(_Fields, frozen=True, omit_defaults=False):
    """What one rank does."""

    id: Number
    input_chunks: Number
    output_chunks: Number
    scratch_chunks: Number
    threadblocks: tuple[Threadblock, ...]
    channels: tuple[Channels, ...]
    remote_buffers: tuple[RemoteBuffer, ...] = ()
    semaphores: tuple[Semaphore, ...] = ()


class Plan(Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    name: str
    collective: str
    protocol: Literal["Simple", "LL"]
    inplace: bool
    gpus: tuple[Gpu, ...]
    reuse_resources: bool = False
    num_threads_per_block: Number = THREADS
    use_double_scratch_buffer: bool = False
    buffer_alignment: Number = ALIGNMENT
    min_message_size: Annotated[int, Meta(ge=0)] = 0
    max_message_size: int = (1 << 64) - 1


def decode_plan(content: bytes) -> Plan:
    require_range("the number of values", content.count(b","), 0, MOST_VALUES)
    if b'"inputChunks"' in content:
        raise BadInput(
            'the plan has "inputChunks", so it is of an old MSCCL++: make it again with one that '
            'writes "input_chunks"'
        )
    try:
        return msgspec.json.decode(content, type=Plan)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise BadInput(f"not a valid MSCCL++ execution plan: {problem}") from None


def encode_plan(plan: Plan) -> bytes:
    return msgspec.json.encode(plan) + b"\n"


def name_suffix(collective: str, ranks: int, *, in_place: bool) -> str:
    """What the names of our plans end in, beyond those of their schedules."""
    return f" {collective} {ranks}{' in place' * in_place}"
