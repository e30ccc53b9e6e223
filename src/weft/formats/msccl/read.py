"""Read MSCCL XML, whatever it holds: every refusal names its line."""

from __future__ import annotations

import re
from sys import intern
from typing import NamedTuple
from xml.parsers import expat

from weft.checks import require_range
from weft.errors import BadInput
from weft.formats.msccl.program import ACTIONS, NOBODY, Block, Chunk, Gpu, Program, Step
from weft.formats.weft_json import MOST_VALUES
from weft.kinds import Kind

MOST_ELEMENTS = 1 << 19  # of a file: as many as 128 GPUs can have
MOST_CHUNKS = 1 << 20  # of a buffer
MOST_MOVED = 1 << 21  # chunks of all steps; each may take half a kilobyte while it is read

_INSIDE = {"algo": "", "gpu": "algo", "tb": "gpu", "step": "tb"}  # what each element stands in
_OTHER_NAMES = {"reduce_scatter": Kind.REDUCESCATTER, "reducescatter": Kind.REDUCESCATTER}


class Element(NamedTuple):
    """An element with those in it."""

    name: str
    attributes: dict[str, str]
    inside: list[Element]
    line: int

    def refuse(self, problem: str) -> BadInput:
        return BadInput(f"line {self.line}: <{self.name}> {problem}")

    def text(self, name: str) -> str:
        if name not in self.attributes:
            raise self.refuse(f"lacks {name}: add it")
        return self.attributes[name]

    def number(self, name: str, least: int, most: int, default: int | None = None) -> int:
        if default is not None and name not in self.attributes:
            return default
        text = self.text(name)
        value = int(text) if re.fullmatch(r"-?[0-9]{1,19}", text) else None
        if value is None or not least <= value <= most:
            raise self.refuse(f"has {name}={text[:40]!r}: give {least} to {most}")
        return value


def read_program(content: bytes) -> Program:
    """Return what the file says; only that it can be understood is checked."""
    algo = _parse(content)
    ranks = algo.number("ngpus", 1, 1 << 16)
    gpus = _by_id(algo, ranks)
    in_place = bool(algo.number("inplace", 0, 1))
    program = Program(
        name=algo.text("name"),
        collective=_kind(algo),
        protocol=algo.attributes.get("proto", "Simple"),
        chunks=algo.number("nchunksperloop", 1, MOST_CHUNKS),
        channels=algo.number("nchannels", 1, 1 << 16, default=1),
        in_place=in_place,
        out_of_place=bool(algo.number("outofplace", 0, 1, default=int(not in_place))),
        least_bytes=algo.number("minBytes", 0, 1 << 62, default=0),
        most_bytes=algo.number("maxBytes", 0, 1 << 62, default=0),
        gpus=tuple(_gpu(gpu, ranks) for gpu in gpus),
        head=algo.attributes,
    )
    require_range("the number of chunks that all steps take", program.moved, 0, MOST_MOVED)
    return program


def _kind(algo: Element) -> Kind:
    name = algo.text("coll")
    if name in _OTHER_NAMES:
        return _OTHER_NAMES[name]
    known = set(Kind) - {Kind.REDUCESCATTER, Kind.BARRIER}
    if name not in known:
        raise algo.refuse(
            f"is for coll={name[:40]!r}, which has no meaning here: there are "
            f"{', '.join(sorted(known | {Kind.REDUCESCATTER}))}"
        )
    return Kind(name)


def _gpu(gpu: Element, ranks: int) -> Gpu:
    blocks = _by_id(gpu, len(gpu.inside))
    inputs, outputs, scratch = (gpu.number(f"{b}_chunks", 0, MOST_CHUNKS) for b in "ios")
    made = tuple(_block(block, ranks) for block in blocks)
    return Gpu(inputs, outputs, scratch, made, gpu.line)


def _block(block: Element, ranks: int) -> Block:
    return Block(
        send=block.number("send", NOBODY, ranks - 1),
        receive=block.number("recv", NOBODY, ranks - 1),
        channel=block.number("chan", 0, 1 << 16, default=0),
        steps=tuple(_step(step, number) for number, step in enumerate(block.inside)),
        line=block.line,
    )


def _step(step: Element, number: int) -> Step:
    if step.number("s", 0, MOST_ELEMENTS) != number:
        raise step.refuse(f"has s={step.text('s')!r}: it is number {number} of its block")
    kind = step.text("type")
    if kind not in ACTIONS:
        raise step.refuse(f"has type={kind[:40]!r}: there are {', '.join(ACTIONS)}")
    block = step.number("depid", NOBODY, MOST_ELEMENTS, default=NOBODY)
    other = step.number("deps", NOBODY, MOST_ELEMENTS, default=NOBODY)
    if (block == NOBODY) != (other == NOBODY):
        raise step.refuse(f"has depid={block} and deps={other}: give both, or -1 for both")
    idle = kind == "nop"
    return Step(
        type=kind,
        source=_chunk(step, "src", idle=idle),
        target=_chunk(step, "dst", idle=idle),
        count=step.number("cnt", 0 if idle else 1, MOST_CHUNKS, default=0 if idle else None),
        waits_for=None if block == NOBODY else (block, other),
        is_waited_for=bool(step.number("hasdep", 0, 1, default=0)),
        line=step.line,
    )


def _chunk(step: Element, end: str, *, idle: bool) -> Chunk:
    buffer = step.attributes.get(f"{end}buf", "i") if idle else step.text(f"{end}buf")
    if buffer not in {"i", "o", "s"}:
        raise step.refuse(f"has {end}buf={buffer[:40]!r}: give i, o or s")
    return Chunk(buffer, step.number(f"{end}off", -1, MOST_CHUNKS, default=-1 if idle else None))


def _by_id(parent: Element, count: int) -> list[Element]:
    """The elements inside, by their id: 0 to count - 1, once each."""
    found: dict[int, Element] = {}
    for element in parent.inside:
        number = element.number("id", 0, max(count - 1, 0))
        if number in found:
            raise element.refuse(f"has the id {number} of line {found[number].line}: give it once")
        found[number] = element
    if len(found) < count:
        missing = next(number for number in range(count) if number not in found)
        raise parent.refuse(f"has {len(found)} of {count} elements: id {missing} is missing")
    return [found[number] for number in range(count)]


def _parse(content: bytes) -> Element:
    """The tree of elements, each where it belongs; nothing is ever expanded or fetched."""
    require_range("the number of values", content.count(b"="), 0, MOST_VALUES)
    root = Element("", {}, [], 0)
    open_elements = [root]
    count = 0
    parser = expat.ParserCreate("utf-8")  # whatever the file says: some names make Python raise

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        shared = {key: intern(value) for key, value in attributes.items()}
        element = Element(name[:40], shared, [], parser.CurrentLineNumber)
        if count > MOST_ELEMENTS:
            raise element.refuse(f"is one of more than {MOST_ELEMENTS} elements: give fewer")
        if count == 1 and name != "algo":
            raise element.refuse("is not how an MSCCL file begins, which is <algo>: give one")
        if name not in _INSIDE:
            raise element.refuse("is an element that the runtimes skip: write steps only")
        if _INSIDE[name] != open_elements[-1].name:
            raise element.refuse(f"does not stand in <{_INSIDE[name]}>: move it there")
        open_elements[-1].inside.append(element)
        open_elements.append(element)

    def refuse_declarations(*_: object) -> None:
        raise BadInput(f"line {parser.CurrentLineNumber}: declares a document type: leave that out")

    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda _: open_elements.pop()
    parser.StartDoctypeDeclHandler = refuse_declarations
    try:
        parser.Parse(content, True)  # noqa: FBT003 - its signature
    except expat.ExpatError as problem:
        what = expat.ErrorString(problem.code)
        raise BadInput(f"line {problem.lineno}: not well-formed XML: {what}") from None
    return root.inside[0]
