"""Whether an MSCCL file runs: it never waits in a circle, and a runtime takes it as it is.

A connection holds as many chunks on their way as its protocol has places: two with Simple, eight
with LL and LL128.  The k-th send waits until there is room, so for the (k - places)-th receive.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from weft.formats.msccl.connections import Connections
from weft.formats.msccl.program import MOST_COUNT, NOBODY, RUNTIMES, Program, Runtime
from weft.formats.threads import Threads, in_order, nowhere
from weft.kinds import Kind

PROTOCOLS = {"Simple": 2, "LL": 8, "LL128": 8}  # chunks on their way
MOST_CHANNELS = 32
MOST_PEERS = 32  # of a GPU on a channel
MOST_WAITED_FOR = 127  # block number, for it is kept in eight bits
MOST_NODES = 4096  # that the parser has: algo, gpus, and the blocks and steps of its own gpu
MOST_INSIDE = 1024  # elements in one
MOST_LETTERS = 255  # of a value


def require_progress(program: Program) -> None:
    """Refuse a program whose blocks may wait for each other for ever.

    Its steps are taken chunk by chunk.  Each of them happens once, so if one round of the loop can
    end, so can all: nothing in a later round helps one that is stuck.
    """
    connections = Connections(program)
    step_of: list[int] = []
    first: list[int] = []
    for number in range(len(connections.places)):
        first.append(len(step_of))
        step_of += [number] * max(1, connections.step(number).count)
    after: list[list[int]] = [[] for _ in step_of]
    for step, other in connections.waits.items():
        count = max(1, connections.step(other).count)
        after[first[step]].append(first[other] + count - 1)
    places = PROTOCOLS.get(program.protocol, min(PROTOCOLS.values()))
    assert connections.pairs is not None  # so both ends of each connection move as many chunks
    for connection, sends in connections.sends.items():
        sent = _chunks(connections, first, sends)
        received = _chunks(connections, first, connections.receives[connection])
        for send, receive in zip(sent, received, strict=True):
            after[receive].append(send)
        for send, receive in zip(sent[places:], received, strict=False):
            after[send].append(receive)
    thread = [connections.threads[step] for step in step_of]
    in_order(Threads(thread, after, (), nowhere, lambda n: connections.where(step_of[n])))


def _chunks(connections: Connections, first: list[int], steps: list[int]) -> list[int]:
    """The chunks that these steps move, one after another."""
    return [first[step] + n for step in steps for n in range(connections.step(step).count)]


def complaints(program: Program, content: bytes, runtime: str) -> list[str]:
    """Why a runtime would refuse a file or do it wrong; nothing if it is fine."""
    text = re.sub("<!--.*?-->", _lines_only, content.decode(errors="replace"), flags=re.DOTALL)
    return [*_of_text(text), *_of_attributes(program, runtime), *broken_limits(program, runtime)]


def _lines_only(comment: re.Match[str]) -> str:
    return "\n" * comment[0].count("\n")


def broken_limits(program: Program, runtime: str) -> Iterator[str]:
    """What of a program goes beyond a runtime."""
    limits = RUNTIMES[runtime]
    yield from _of_head(program, limits)
    for gpu in range(len(program.gpus)):
        yield from _of_gpu(program, gpu, limits)


def _of_text(text: str) -> Iterator[str]:
    """What their hand-written parser does not read."""
    for pattern, what in (
        (r"<\?xml", "an XML declaration"),
        (r"\t", "a tab"),
        (r"<\w+[^<>]*=\s*'", "a value in single quotes"),
        (r"<\w+(?: \w+=\"[^\"]*\")*(?:\s{2,}|\n)\w+=", "more than a space between attributes"),
        (rf"=\"[^\"]{{{MOST_LETTERS + 1},}}\"", f"a value of more than {MOST_LETTERS} letters"),
    ):
        if match := re.search(pattern, text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"line {line}: {what}: its parser does not read that"


def _of_attributes(program: Program, runtime: str) -> Iterator[str]:
    """What it misses in the first element, and what it calls by another name."""
    limits = RUNTIMES[runtime]
    wanted = {"name", "ngpus", "nchunksperloop", "nchannels", "proto", "coll", "inplace"}
    if limits.lists_all:
        wanted |= {"outofplace", "minBytes", "maxBytes"}
    if missing := sorted(wanted - program.head.keys()):
        yield f"<algo> lacks {', '.join(missing)}"
    coll = program.head["coll"]
    if program.collective is Kind.REDUCESCATTER and coll != limits.reducescatter:
        yield f"<algo> has coll={coll!r}: it is {limits.reducescatter!r} there"


def _of_head(program: Program, limits: Runtime) -> Iterator[str]:
    if program.protocol not in PROTOCOLS:
        yield f"<algo> has proto={program.protocol[:40]!r}: there are {', '.join(PROTOCOLS)}"
    if not limits.lists_all and program.in_place and program.out_of_place:
        yield "it is for calls in place and out of place: there a file is for one of them"
    if program.least_bytes > program.most_bytes and (program.most_bytes or limits.unlimited):
        yield f"minBytes={program.least_bytes} is more than maxBytes={program.most_bytes}"
    if program.collective in limits.lacks:
        yield f"it has no {program.collective}"
    used = {block.channel for gpu in program.gpus for block in gpu.blocks}
    if max(used, default=0) >= min(program.channels, MOST_CHANNELS):
        yield (
            f"channel {max(used)} is used, of nchannels={program.channels} and at most "
            f"{MOST_CHANNELS}"
        )


def _of_gpu(program: Program, number: int, limits: Runtime) -> Iterator[str]:
    gpu = program.gpus[number]
    steps = [len(block.steps) for block in gpu.blocks]
    senders = Counter(block.channel for block in gpu.blocks if block.send != NOBODY)
    receivers = Counter(block.channel for block in gpu.blocks if block.receive != NOBODY)
    nodes = 1 + len(program.gpus) + len(steps) + sum(steps)
    each = len(program.gpus)
    for name, chunks, of_all in (
        ("i_chunks", gpu.inputs, each if program.collective is Kind.ALLGATHER else 1),
        ("o_chunks", gpu.outputs, each if program.collective is Kind.REDUCESCATTER else 1),
    ):
        rooted = program.collective in {Kind.SCATTER, Kind.GATHER}
        if chunks and not rooted and chunks * of_all != program.chunks:
            yield (
                f"line {gpu.line}: gpu {number} has {name}={chunks}, of "
                f"nchunksperloop={program.chunks} it has none or {program.chunks // of_all}"
            )
    for what, count, most in (
        ("steps in a block", max(steps, default=0), min(limits.steps, MOST_INSIDE)),
        ("blocks", len(steps), min(limits.blocks, MOST_INSIDE)),
        ("blocks that send on a channel", max(senders.values(), default=0), MOST_PEERS),
        ("blocks that receive on a channel", max(receivers.values(), default=0), MOST_PEERS),
        ("elements to parse", nodes, MOST_NODES),
    ):
        if count > most:
            yield f"line {gpu.line}: gpu {number} has {count} {what}, the most are {most}"
    for at, block in enumerate(gpu.blocks):
        if number in {block.send, block.receive}:
            yield f"{program.where(number, at)} has its own gpu as peer"
        for step in range(len(block.steps)):
            yield from _of_step(program, number, at, step)


def _of_step(program: Program, gpu: int, block: int, number: int) -> Iterator[str]:
    steps = program.gpus[gpu].blocks[block].steps
    step, where = steps[number], program.where(gpu, block, number)
    if step.count > MOST_COUNT:
        yield f"{where} takes {step.count} chunks, the most are {MOST_COUNT}"
    if step.waits_for and step.waits_for[0] > MOST_WAITED_FOR:
        yield f"{where} waits for block {step.waits_for[0]}, beyond {MOST_WAITED_FOR}"
    if step.type == "nop" and step.is_waited_for:
        yield f"{where} is waited for, but a nop tells nobody"
    following = [after.waits_for for after in steps[number + 1 : number + 2]]
    if step.type == "nop" and step.waits_for and not any(following):
        yield f"{where} waits in vain: the step after a nop has to wait for a step too"
    before = steps[number - 1] if number else step
    if step.type == before.type == "re" and not step.waits_for and step.count != before.count:
        yield f"{where} is joined to the one before, so both have to take as many chunks"
