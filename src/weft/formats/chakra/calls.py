"""What a trace calls: its collectives by name, with sizes and groups, and how often each.

Chakra traces hold such calls as COMM_COLL nodes, in protocol buffers or in JSON.  All ten of its
collectives have a name here; another number is refused, since it comes from a schema that we do not
know.  Sends, receives and work are passed over.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from weft.checks import require_range
from weft.errors import BadInput
from weft.formats.chakra.schema import MOST_NODES, Node, NodeType, trace_from_bytes
from weft.formats.weft_json import MOST_VALUES
from weft.kinds import Kind
from weft.simulate.sizes import MOST_SIZE

KINDS = {  # by comm_type
    "ALL_REDUCE": Kind.ALLREDUCE,
    "REDUCE": Kind.REDUCE,
    "ALL_GATHER": Kind.ALLGATHER,
    "GATHER": Kind.GATHER,
    "SCATTER": Kind.SCATTER,
    "BROADCAST": Kind.BROADCAST,
    "ALL_TO_ALL": Kind.ALLTOALL,
    "REDUCE_SCATTER": Kind.REDUCESCATTER,
    "REDUCE_SCATTER_BLOCK": Kind.REDUCESCATTER,
    "BARRIER": Kind.BARRIER,
}

Ranks = tuple[int, ...]

_JSON = re.compile(rb'\s*\{\s*["}]')  # a message of 123 bytes begins with a brace too
_GROUPS = re.compile(r"\[\s*\{")  # how the list begins


@dataclass(frozen=True, slots=True)
class Call:
    """A collective that a trace calls `times` times in the same way."""

    kind: Kind
    size: int  # bytes, as the trace counts them
    group: str  # the name of the process group; empty: all ranks
    ranks: Ranks | None  # of the group, where the trace lists them
    dimensions: tuple[bool, ...]  # of the network that take part; empty: it does not say
    times: int


def calls_from_chakra(content: bytes) -> tuple[Call, ...]:
    """Return what one rank's trace calls, in the order of the first calls."""
    nodes = _json_nodes(content) if _JSON.match(content) else trace_from_bytes(content).nodes
    groups: dict[str, Ranks | None] = {}
    for node in nodes:
        if node.type == NodeType.METADATA and "pg_name" in node.inputs:
            groups |= _groups(node)
    counted = Counter(_call(node) for node in nodes if node.type == NodeType.COLL)
    return tuple(
        Call(kind, size, group, groups.get(group), dimensions, times)
        for (kind, size, group, dimensions), times in counted.items()
    )


def _call(node: Node) -> tuple[Kind, int, str, tuple[bool, ...]]:
    kind = _kind(node)
    silent = kind is Kind.BARRIER and "comm_size" not in node.attributes
    group = node.attributes.get("pg_name", "")
    dimensions = node.attributes.get("involved_dim", [])
    if not isinstance(group, str | int):
        raise BadInput(f"{node} has the group {group!r:.40}: give its name")
    try:
        involved = msgspec.convert(dimensions, tuple[bool, ...], strict=False)
    except msgspec.ValidationError:
        raise BadInput(
            f"{node} has involved_dim {dimensions!r:.40}: give a list of truth values"
        ) from None
    size = 0 if silent else node.whole("comm_size")
    require_range(f"comm_size of {node}", size, 0, MOST_SIZE)
    return kind, size, str(group), involved


def _kind(node: Node) -> Kind:
    value = node.attributes.get("comm_type")
    if isinstance(value, str) and value.upper() in KINDS:
        return KINDS[value.upper()]
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(KINDS):
        return [*KINDS.values()][value]
    raise BadInput(
        f"{node} has comm_type {value!r:.40}: there are 0 to {len(KINDS) - 1}, {', '.join(KINDS)}"
    )


def _groups(node: Node) -> dict[str, Ranks | None]:
    """The process groups that PyTorch lists as text; one without ranks has all, however many."""
    found = _GROUPS.search(node.inputs)
    last = node.inputs.rfind("}")
    end = node.inputs.find("]", last) + 1
    text = node.inputs[found.start() : end] if found else ""
    try:
        listed = msgspec.json.decode(text, type=list[_Group])
    except (msgspec.DecodeError, RecursionError) as problem:
        raise BadInput(f"{node} lists process groups that are not JSON: {problem}") from None
    return {str(group.pg_name): group.ranks or None for group in listed}


class _Group(msgspec.Struct, frozen=True):
    pg_name: str | int
    ranks: Ranks = ()


def _json_nodes(content: bytes) -> tuple[Node, ...]:
    """The nodes of the JSON form, whose keys have several spellings: NodeType, node_type, ..."""
    require_range("the number of values", content.count(b","), 0, MOST_VALUES)
    try:
        whole = msgspec.json.decode(content, type=dict[str, Any])
        listed = msgspec.convert(_plain(whole).get("workloadgraph"), list[dict[str, Any]])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise BadInput(
            f"not a JSON trace, whose workload_graph is a list of objects: {problem}"
        ) from None
    require_range("the number of nodes", len(listed), 0, MOST_NODES)
    return tuple(_json_node(at, _plain(row)) for at, row in enumerate(listed))


_SPELLED = {
    "commtype": "comm_type",
    "commsize": "comm_size",
    "pgname": "pg_name",
    "involveddim": "involved_dim",
}


def _json_node(at: int, said: Mapping[str, Any]) -> Node:
    kind = said.get("nodetype", said.get("type"))
    if isinstance(kind, str):
        kind = _TYPES.get(kind.upper().removesuffix("_NODE"), 0)
    if not isinstance(kind, int) or isinstance(kind, bool):
        raise BadInput(f"workload_graph[{at}] has node type {kind!r:.40}: give a number or a name")
    number = said.get("id", at)
    return Node(
        id=number if isinstance(number, int) else at,
        name=str(said.get("name", "")),
        type=kind,
        needs=(),
        inputs=str(said.get("inputs", "")),
        attributes={name: said[key] for key, name in _SPELLED.items() if key in said},
    )


_TYPES = {"COMM_COLL": NodeType.COLL, "METADATA": NodeType.METADATA}


def _plain(keys: Mapping[str, Any]) -> dict[str, Any]:
    return {key.replace("_", "").lower(): value for key, value in keys.items()}
