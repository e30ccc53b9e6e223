"""Write MSCCL XML, in the one form that all of its parsers read: single spaces, double quotes."""

from __future__ import annotations

from collections.abc import Iterator

from weft.formats.msccl.program import NOBODY, RUNTIMES, Block, Gpu, Program, Step
from weft.kinds import Kind


def write_program(program: Program, runtime: str) -> bytes:
    """Return the file for a runtime."""
    return "".join(f"{line}\n" for line in _lines(program, runtime)).encode()


def _lines(program: Program, runtime: str) -> Iterator[str]:
    limits = RUNTIMES[runtime]
    reduces = program.collective is Kind.REDUCESCATTER
    name = limits.reducescatter if reduces else program.collective
    most = program.most_bytes or limits.unlimited
    yield (
        f'<algo name="{program.name}" ngpus="{len(program.gpus)}" nchannels="{program.channels}" '
        f'nchunksperloop="{program.chunks}" proto="{program.protocol}" coll="{name}" '
        f'inplace="{program.in_place:d}" outofplace="{program.out_of_place:d}" '
        f'minBytes="{program.least_bytes}" maxBytes="{most}">'
    )
    for number, gpu in enumerate(program.gpus):
        yield from _gpu_lines(number, gpu)
    yield "</algo>"


def _gpu_lines(number: int, gpu: Gpu) -> Iterator[str]:
    yield (
        f'  <gpu id="{number}" i_chunks="{gpu.inputs}" o_chunks="{gpu.outputs}" '
        f's_chunks="{gpu.scratch}">'
    )
    for at, block in enumerate(gpu.blocks):
        yield from _block_lines(at, block)
    yield "  </gpu>"


def _block_lines(number: int, block: Block) -> Iterator[str]:
    yield (
        f'    <tb id="{number}" send="{block.send}" recv="{block.receive}" chan="{block.channel}">'
    )
    for at, step in enumerate(block.steps):
        yield _step_line(at, step)
    yield "    </tb>"


def _step_line(number: int, step: Step) -> str:
    block, other = step.waits_for or (NOBODY, NOBODY)
    (source, first), (target, second) = step.source, step.target
    return (
        f'      <step s="{number}" type="{step.type}" srcbuf="{source}" srcoff="{first}" '
        f'dstbuf="{target}" dstoff="{second}" cnt="{step.count}" depid="{block}" '
        f'deps="{other}" hasdep="{step.is_waited_for:d}"/>'
    )
