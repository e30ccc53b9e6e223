"""Collective communication that fits your hardware."""

from __future__ import annotations

from weft.collective import (
    Collective,
    allgather,
    allgatherv,
    allreduce,
    alltoall,
    alltoallv,
    barrier,
    broadcast,
    gather,
    gatherv,
    reduce,
    reducescatter,
    reducescatterv,
    scatter,
    scatterv,
)
from weft.errors import BadInput, Stalled, WeftError, WrongSchedule
from weft.formats.export import export
from weft.formats.files import load, save
from weft.kinds import Kind
from weft.runtime.group import Group
from weft.runtime.launch import launch
from weft.runtime.tuning import tune
from weft.schedule.schedule import Schedule, ScheduleDraft
from weft.schedule.text import format_text, parse_text
from weft.schedule.verify import verify
from weft.simulate.conditions import Fault, Noise
from weft.simulate.simulate import simulate
from weft.simulate.trace import Trace
from weft.synthesis import classic
from weft.synthesis.classic.algorithms import ALGORITHMS
from weft.synthesis.classic.pieces import PieceDraft
from weft.topology.topology import Link, Overheads, Topology, both_ways
from weft.topology.zoo import find_topology

__all__ = [
    "ALGORITHMS",
    "BadInput",
    "Collective",
    "Fault",
    "Group",
    "Kind",
    "Link",
    "Noise",
    "Overheads",
    "PieceDraft",
    "Schedule",
    "ScheduleDraft",
    "Stalled",
    "Topology",
    "Trace",
    "WeftError",
    "WrongSchedule",
    "allgather",
    "allgatherv",
    "allreduce",
    "alltoall",
    "alltoallv",
    "barrier",
    "both_ways",
    "broadcast",
    "classic",
    "export",
    "find_topology",
    "format_text",
    "gather",
    "gatherv",
    "launch",
    "load",
    "parse_text",
    "reduce",
    "reducescatter",
    "reducescatterv",
    "save",
    "scatter",
    "scatterv",
    "simulate",
    "tune",
    "verify",
]
