"""What an MSCCL file says: for each GPU, thread blocks that run a list of steps each.

The GPUs' buffers (`i` input, `o` output, `s` scratch) are counted in chunks.  A block may send to
one peer and receive from one, on one channel; the k-th send on a connection meets the k-th
receive.  Nothing else orders two blocks but a step's dependency on a step of another block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from weft.kinds import Kind

MOST_SIZE = 1 << 50  # bytes
NOBODY = -1  # as peer, or as block that is waited for
MOST_COUNT = 71  # chunks of a step


class Action(NamedTuple):
    """What a step of some type does; receiving comes before sending."""

    receives: bool = False
    adds: bool = False  # the source chunks to what arrives, or to the target's
    stores: bool = False
    sends: bool = False


ACTIONS = {
    "s": Action(sends=True),
    "r": Action(receives=True, stores=True),
    "rcs": Action(receives=True, stores=True, sends=True),
    "rrc": Action(receives=True, adds=True, stores=True),
    "rrs": Action(receives=True, adds=True, sends=True),
    "rrcs": Action(receives=True, adds=True, stores=True, sends=True),
    "cpy": Action(stores=True),
    "re": Action(adds=True, stores=True),
    "nop": Action(),
}


class Chunk(NamedTuple):
    """A chunk, or the first of several."""

    buffer: str
    offset: int

    def ahead(self, number: int) -> Chunk:
        return Chunk(self.buffer, self.offset + number)


@dataclass(frozen=True, slots=True)
class Step:
    """An operation on `count` chunks, which may first wait for a step of another block."""

    type: str
    source: Chunk
    target: Chunk
    count: int
    waits_for: tuple[int, int] | None = None  # block and step
    is_waited_for: bool = False
    line: int = 0

    @property
    def action(self) -> Action:
        return ACTIONS[self.type]


@dataclass(frozen=True, slots=True)
class Block:
    """A thread block."""

    send: int
    receive: int
    channel: int
    steps: tuple[Step, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Gpu:
    """The chunks of each buffer, and who works on them."""

    inputs: int
    outputs: int
    scratch: int
    blocks: tuple[Block, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """A file; sizes are those of the collective's larger buffer in bytes, and 0 is no limit."""

    name: str
    collective: Kind
    protocol: str
    chunks: int  # of the larger buffer, in each loop
    channels: int
    in_place: bool
    out_of_place: bool
    least_bytes: int
    most_bytes: int
    gpus: tuple[Gpu, ...]
    head: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)  # as it was read

    @property
    def moved(self) -> int:
        """The chunks of all steps."""
        return sum(step.count for gpu in self.gpus for block in gpu.blocks for step in block.steps)

    def where(self, gpu: int, block: int, step: int | None = None) -> str:
        """A place in words."""
        found = self.gpus[gpu].blocks[block]
        if step is None:
            return f"block {block} of gpu {gpu} (line {found.line})"
        return f"step {step} of block {block} of gpu {gpu} (line {found.steps[step].line})"


class Runtime(NamedTuple):
    """What one of the runtimes takes; the numbers are its own limits."""

    reducescatter: str  # its name for it
    steps: int  # of a block
    blocks: int
    lists_all: bool  # every attribute of <algo> must be there, and a file may be for both modes
    unlimited: int  # what maxBytes is for any size
    lacks: frozenset[Kind] = frozenset()


RUNTIMES = {
    "msccl-executor": Runtime("reducescatter", 64, 1024, lists_all=True, unlimited=0),
    "msccl": Runtime(
        "reduce_scatter",
        256,
        216,
        lists_all=False,
        unlimited=MOST_SIZE,
        lacks=frozenset({Kind.SCATTER, Kind.GATHER}),
    ),
    "rccl": Runtime("reducescatter", 64, 64, lists_all=True, unlimited=0),
}
