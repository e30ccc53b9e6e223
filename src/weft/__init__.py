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
from weft.synthesis.classic.algorithms import ALGORITHMS
from weft.synthesis.classic.binomial import binomial_broadcast, binomial_reduce
from weft.synthesis.classic.bruck import bruck_allgather
from weft.synthesis.classic.pairwise import pairwise_alltoall
from weft.synthesis.classic.recursive_doubling import recursive_doubling_allreduce
from weft.synthesis.classic.ring import ring_allgather, ring_allreduce, ring_reducescatter
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
    "binomial_broadcast",
    "binomial_reduce",
    "both_ways",
    "broadcast",
    "bruck_allgather",
    "find_topology",
    "format_text",
    "gather",
    "gatherv",
    "launch",
    "load",
    "pairwise_alltoall",
    "parse_text",
    "recursive_doubling_allreduce",
    "reduce",
    "reducescatter",
    "reducescatterv",
    "ring_allgather",
    "ring_allreduce",
    "ring_reducescatter",
    "save",
    "scatter",
    "scatterv",
    "simulate",
    "tune",
    "verify",
]
