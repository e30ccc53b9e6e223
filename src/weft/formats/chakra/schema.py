"""Chakra's schema as tables, and a trace as metadata and nodes.

A trace is one rank's file: a GlobalMetadata message and then Node messages, each behind its length.
The numbers are those of `schema/protobuf/et_def.proto` in mlcommons/chakra, version 0.0.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Any

import msgspec

from weft.checks import MOST_NUMBER, require_range
from weft.errors import BadInput
from weft.formats.chakra.protobuf import Decoder, Field, Message, Table, Type, encode_stream

VERSION = "0.0.4"
MOST_NODES = 1 << 19  # of all ranks together; each may take two kilobytes while it is read

_Numbers = list[Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)]]


class NodeType(IntEnum):
    """The kinds of nodes that mean something here; others are kept as numbers."""

    METADATA = 1
    COMP = 4
    SEND = 5
    RECV = 6
    COLL = 7


def _list(kind: Type) -> Table:
    return {1: Field("values", kind, repeated=True)}


_MEMBERS = (  # of AttributeProto, from field 3 on, each followed by its list
    ("double", Type.DOUBLE),
    ("float", Type.FLOAT),
    ("int32", Type.SIGNED),
    ("int64", Type.SIGNED),
    ("uint32", Type.UNSIGNED),
    ("uint64", Type.UNSIGNED),
    ("sint32", Type.ZIGZAG),
    ("sint64", Type.ZIGZAG),
    ("fixed32", Type.FIXED32),
    ("fixed64", Type.FIXED64),
    ("sfixed32", Type.SFIXED32),
    ("sfixed64", Type.SFIXED64),
    ("bool", Type.BOOL),
    ("string", Type.TEXT),
    ("bytes", Type.BYTES),
)

ATTRIBUTE: Table = {
    1: Field("name", Type.TEXT),
    **{
        3 + 2 * at + is_list: Field(f"{name}_list", Type.MESSAGE, table=_list(kind))
        if is_list
        else Field(f"{name}_val", kind)
        for at, (name, kind) in enumerate(_MEMBERS)
        for is_list in (False, True)
    },
}
METADATA: Table = {
    1: Field("version", Type.TEXT),
    2: Field("attr", Type.MESSAGE, repeated=True, table=ATTRIBUTE),
}
NODE: Table = {
    1: Field("id", Type.UNSIGNED),
    2: Field("name", Type.TEXT),
    3: Field("type", Type.SIGNED),
    4: Field("ctrl_deps", Type.UNSIGNED, repeated=True),
    5: Field("data_deps", Type.UNSIGNED, repeated=True),
    8: Field("inputs", Type.MESSAGE, table={1: Field("values", Type.TEXT)}),
    10: Field("attr", Type.MESSAGE, repeated=True, table=ATTRIBUTE),
}


@dataclass(frozen=True, slots=True)
class Node:
    """What a rank does, after the nodes in `needs` are done."""

    id: int
    name: str
    type: int
    needs: tuple[int, ...]
    inputs: str  # process groups, in a METADATA node of PyTorch
    attributes: Mapping[str, Any]

    def __str__(self) -> str:
        return f"node {self.id} ({self.name[:40]!r})"

    def whole(self, name: str, least: int = 0, most: int = MOST_NUMBER) -> int:
        """The attribute of this name, which must be a whole number."""
        value = self.attributes.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            said = f"no {name}" if value is None else f"{name} {value!r:.40}"
            raise BadInput(f"{self} has {said}: give a whole number")
        require_range(f"{self}: {name}", value, least, most)
        return value

    def numbers(self, name: str) -> list[int]:
        """The attribute of this name, which must be a list of numbers of 32 bits."""
        try:
            return msgspec.convert(self.attributes.get(name), _Numbers)
        except msgspec.ValidationError as problem:
            raise BadInput(f"{self}: {name} is no list of numbers of 32 bits: {problem}") from None


@dataclass(frozen=True, slots=True)
class Trace:
    """One rank's file."""

    attributes: Mapping[str, Any]  # of the metadata
    nodes: tuple[Node, ...]
    values: int  # how many the file held


def trace_to_bytes(metadata: Message, nodes: Iterable[Message]) -> bytes:
    return encode_stream([(METADATA, metadata), *((NODE, node) for node in nodes)])


def trace_from_bytes(content: bytes) -> Trace:
    decoder = Decoder(content)
    if not decoder.more():
        raise BadInput("byte 0: an empty file: a Chakra trace begins with its metadata")
    attributes = _attributes(decoder.next_message(METADATA))
    nodes: list[Node] = []
    while decoder.more():
        nodes.append(_node(decoder.next_message(NODE)))
        require_range("the number of nodes", len(nodes), 0, MOST_NODES)
    return Trace(attributes, tuple(nodes), decoder.values)


def attribute(name: str, member: str, value: Any) -> Message:
    """An attribute to be written; `member` says which of the schema's types it has."""
    return {"name": name, member: {"values": value} if member.endswith("_list") else value}


def _node(message: Message) -> Node:
    return Node(
        id=message.get("id", 0),
        name=message.get("name", ""),
        type=message.get("type", 0),
        needs=(*message.get("data_deps", ()), *message.get("ctrl_deps", ())),
        inputs=message.get("inputs", {}).get("values", ""),
        attributes=_attributes(message),
    )


def _attributes(message: Message) -> dict[str, Any]:
    """By name, whatever their types are; of several values the last counts, as in a oneof."""
    attributes: dict[str, Any] = {}
    for each in message.get("attr", ()):
        members = [member for member in each if member != "name"]
        if members:
            value = each[members[-1]]
            plain = value.get("values", []) if members[-1].endswith("_list") else value
            attributes[each.get("name", "")] = plain
    return attributes
