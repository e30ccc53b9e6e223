"""Which step of a program meets which: sends and receives, and steps that are waited for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from weft.errors import BadInput
from weft.formats.msccl.program import NOBODY, Block, Program, Step
from weft.units import counted


class At(NamedTuple):
    """A step of a program."""

    gpu: int
    block: int
    step: int


class Connection(NamedTuple):
    """Where what one GPU sends to another on a channel goes, in order."""

    source: int
    target: int
    channel: int


@dataclass(frozen=True)
class Connections:
    """A program whose steps are numbered, block by block, and joined."""

    program: Program

    @cached_property
    def places(self) -> list[At]:
        """Where each step is."""
        return [
            At(gpu, block, step)
            for gpu, g in enumerate(self.program.gpus)
            for block, b in enumerate(g.blocks)
            for step in range(len(b.steps))
        ]

    @cached_property
    def numbers(self) -> dict[At, int]:
        return {at: number for number, at in enumerate(self.places)}

    def step(self, number: int) -> Step:
        at = self.places[number]
        return self.program.gpus[at.gpu].blocks[at.block].steps[at.step]

    def where(self, number: int) -> str:
        return self.program.where(*self.places[number])

    @cached_property
    def threads(self) -> list[int]:
        """For each step a number of its block."""
        blocks: dict[tuple[int, int], int] = {}
        return [blocks.setdefault(at[:2], len(blocks)) for at in self.places]

    @cached_property
    def waits(self) -> dict[int, int]:
        """From each step that waits for another block's to that."""
        return {
            number: self._waited_for(number, at)
            for number, at in enumerate(self.places)
            if self.step(number).waits_for
        }

    def _waited_for(self, number: int, at: At) -> int:
        step = self.step(number)
        assert step.waits_for
        other = At(at.gpu, *step.waits_for)
        if other not in self.numbers:
            raise BadInput(
                f"{self.where(number)} waits for step {other.step} of block {other.block}, which "
                "is not there: name a step of the same gpu"
            )
        found = self.numbers[other]
        if other.block != at.block and not self.step(found).is_waited_for:
            raise BadInput(
                f"{self.where(number)} waits for a step that does not say so: give "
                f'hasdep="1" to {self.where(found)}'
            )
        if other.block == at.block and other.step >= at.step:
            raise BadInput(f"{self.where(number)} waits for a later step of its own block")
        return found

    @cached_property
    def sends(self) -> dict[Connection, list[int]]:
        """The steps that send on each connection."""
        return self._ends(sends=True)

    @cached_property
    def receives(self) -> dict[Connection, list[int]]:
        """The steps that receive on each connection."""
        return self._ends(sends=False)

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """(send, receive): the k-th of a connection with the k-th, each of as many chunks."""
        pairs: list[tuple[int, int]] = []
        for connection in sorted(self.sends.keys() | self.receives.keys()):
            sends, receives = self.sends.get(connection, []), self.receives.get(connection, [])
            pairs += zip(sends, receives, strict=False)
            if len(sends) != len(receives):
                raise BadInput(self._unequal(connection, sends, receives))
        for send, receive in pairs:
            if self.step(send).count != self.step(receive).count:
                raise BadInput(
                    f"{self.where(send)} sends {self.step(send).count} chunks to "
                    f"{self.where(receive)}, which takes {self.step(receive).count}: "
                    "give both one cnt"
                )
        return pairs

    def _unequal(self, connection: Connection, sends: list[int], receives: list[int]) -> str:
        longer = sends if len(sends) > len(receives) else receives
        alone = longer[min(len(sends), len(receives))]
        return (
            f"gpu {connection.source} has {counted(len(sends), 'send')} to gpu "
            f"{connection.target} on channel {connection.channel}, which has "
            f"{counted(len(receives), 'receive')}: "
            f"{self.where(alone)} is alone"
        )

    def _ends(self, *, sends: bool) -> dict[Connection, list[int]]:
        owner: dict[Connection, tuple[int, int]] = {}
        steps = defaultdict[Connection, list[int]](list)
        for gpu, number, block in self._blocks():
            peer = block.send if sends else block.receive
            ends = (gpu, peer) if sends else (peer, gpu)
            connection = Connection(*ends, block.channel)
            if peer != NOBODY:
                first = owner.setdefault(connection, (gpu, number))
                if first != (gpu, number):
                    raise BadInput(
                        f"{self.program.where(gpu, number)} has the same peer and channel as "
                        f"block {first[1]}: a connection has one owner at each end"
                    )
            for at, step in enumerate(block.steps):
                if step.action.sends if sends else step.action.receives:
                    if peer == NOBODY:
                        raise BadInput(
                            f"{self.program.where(gpu, number, at)} is {step.type!r}, but its "
                            f"block has no peer to {'send to' if sends else 'receive from'}"
                        )
                    steps[connection].append(self.numbers[At(gpu, number, at)])
        return dict(steps)

    def _blocks(self) -> Iterator[tuple[int, int, Block]]:
        for gpu, g in enumerate(self.program.gpus):
            for number, block in enumerate(g.blocks):
                yield gpu, number, block
