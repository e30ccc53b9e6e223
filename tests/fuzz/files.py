"""Valid files of every format that we read, to be damaged; a new format is a row of FORMATS."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import weft
from formats.mscclpp.plans import encoded, handed_over, packets, piped, port_exchange, shared
from weft.formats.chakra.schema import attribute, trace_to_bytes
from weft.formats.export import Options, exported
from weft.formats.files import load_topology, read_calls
from weft.formats.weft_json import topology_to_json
from weft.topology.topology import Link, Overheads, Topology, both_ways

Files = tuple[bytes, ...]  # of one schedule, as its ranks' traces are


class Format(NamedTuple):
    name: str
    ending: str
    read: Callable[[Path], object]  # and verify, if it is a schedule
    valid: tuple[Files, ...]

    def __repr__(self) -> str:
        return self.name


SCHEDULES = (
    weft.classic.ring_allreduce(weft.allreduce(3)),
    weft.classic.recursive_doubling_allreduce(weft.allreduce(4)),
    weft.classic.pairwise_alltoall(weft.alltoall(3)),
    weft.classic.bruck_allgather(weft.allgather(4)),
    weft.classic.binomial_broadcast(weft.broadcast(4, root=1)),
)
UNEVEN = weft.parse_text(
    """
    mine: gatherv ranks=3 root=1 cut=3,2;1;1 scratch=2 modes=out
    0.in0 -> 1.out0, 0.in1 -> 1.tmp1        # in one message
    1.tmp1 -> 1.out1
    1.in0 -> 1.out2
    2.in0 -> 1.out3 via 1
    """
)
BARRIER = weft.parse_text("two: barrier ranks=2\n0.in0 -> 1.out0 + in0\n1.in0 -> 0.out0 + in0")
ANY = (*SCHEDULES, UNEVEN, BARRIER)
BOX = Topology(
    "box",
    3,
    both_ways([Link(0, 3, 10, 5, "pcie", 4, ("bus",)), Link(1, 3, 20), Link(1, 2, 7)]),
    ("s",),
    {"bus": 7},
    {(0, 1): ((0, 3),)},
    Overheads(1, 2, 3, None),
)


def exports(schedules: tuple[weft.Schedule, ...], target: str, **options: int) -> tuple[Files, ...]:
    given = Options(size=options["size"]) if options else Options()
    return tuple(tuple(exported(schedule, target, given)) for schedule in schedules)


def read_topology(path: Path) -> None:
    """Its routes are looked for when they are asked for."""
    topology = load_topology(path)
    for pair in ((0, 1), (1, 0), (2, 0)):
        if max(pair) < topology.ranks:
            assert all(topology.routes(*pair))


def binary_calls() -> bytes:
    groups = json.dumps([{"pg_name": "7", "ranks": [1, 3]}, {"pg_name": "8", "ranks": []}])
    attributes = [
        attribute("comm_type", "int64_val", 2),
        attribute("comm_size", "uint64_val", 64),
        attribute("pg_name", "string_val", "7"),
        attribute("involved_dim", "bool_list", [True, False]),
    ]
    nodes = [
        {"id": 1, "type": 1, "inputs": {"values": f"['{groups}']"}},
        {"id": 2, "name": "call", "type": 7, "attr": attributes},
        {"id": 3, "name": "wait", "type": 7, "attr": [attribute("comm_type", "int32_val", 9)]},
    ]
    return trace_to_bytes({"version": "0.0.4"}, nodes)


def json_calls() -> bytes:
    groups = json.dumps([{"pg_name": "7", "ranks": [1, 3]}])
    said = {"comm_type": "ALL_REDUCE", "comm_size": 64, "pg_name": "7", "involved_dim": [1, 0]}
    nodes = [
        {"id": 1, "node_type": 1, "inputs": groups},
        {"id": 2, "name": "call", "NodeType": "COMM_COLL_NODE", **said},
        {"Id": 3, "Name": "other", "NodeType": 7, "commType": 0, "commSize": 8, "ctrlDeps": [2]},
    ]
    return json.dumps({"workload_graph": nodes}).encode()


PLANS = tuple(
    (encoded(plan),)
    for plan in (
        port_exchange("pws"),
        packets("recspkt"),
        handed_over(barrier=True),
        handed_over(barrier=False),
        shared(),
        piped(),
    )
)
FORMATS = (
    Format("weft", ".json", weft.load, exports(ANY, "weft")),
    Format("text", ".txt", weft.load, exports(ANY, "text")),
    Format(
        "compressed",
        ".json.gz",
        weft.load,
        tuple((gzip.compress(content, mtime=0),) for (content,) in exports(ANY[:2], "weft")),
    ),
    Format(
        "msccl",
        ".xml",
        weft.load,
        exports(SCHEDULES, "rccl") + exports(SCHEDULES[:1], "msccl-executor"),
    ),
    Format("mscclpp", ".json", weft.load, exports(SCHEDULES, "mscclpp") + PLANS),
    Format("chakra", ".et", weft.load, exports(ANY[::2], "chakra", size=9000)),
    Format("calls", ".et", read_calls, ((binary_calls(),), (json_calls(),))),
    Format("topology", ".json", read_topology, ((topology_to_json(BOX),),)),
)
