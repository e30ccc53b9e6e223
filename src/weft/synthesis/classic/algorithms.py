"""All classic algorithms, in one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from weft.collective import Collective
from weft.kinds import Kind
from weft.schedule.schedule import Schedule
from weft.synthesis.classic.binomial import binomial_broadcast, binomial_reduce
from weft.synthesis.classic.bruck import bruck_allgather
from weft.synthesis.classic.pairwise import pairwise_alltoall
from weft.synthesis.classic.recursive_doubling import recursive_doubling_allreduce
from weft.synthesis.classic.ring import ring_allgather, ring_allreduce, ring_reducescatter


class Algorithm(NamedTuple):
    """A name, what it does, and the function that writes its schedule."""

    name: str
    kind: Kind
    build: Callable[[Collective], Schedule]


ALGORITHMS = (
    Algorithm("binomial", Kind.BROADCAST, binomial_broadcast),
    Algorithm("binomial", Kind.REDUCE, binomial_reduce),
    Algorithm("Bruck", Kind.ALLGATHER, bruck_allgather),
    Algorithm("ring", Kind.ALLGATHER, ring_allgather),
    Algorithm("ring", Kind.REDUCESCATTER, ring_reducescatter),
    Algorithm("recursive doubling", Kind.ALLREDUCE, recursive_doubling_allreduce),
    Algorithm("ring", Kind.ALLREDUCE, ring_allreduce),
    Algorithm("pairwise", Kind.ALLTOALL, pairwise_alltoall),
)
