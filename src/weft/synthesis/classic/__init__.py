"""The algorithms of the textbooks, one file per family."""

from __future__ import annotations

from weft.synthesis.classic.binomial import binomial_broadcast, binomial_reduce
from weft.synthesis.classic.bruck import bruck_allgather
from weft.synthesis.classic.pairwise import pairwise_alltoall
from weft.synthesis.classic.recursive_doubling import recursive_doubling_allreduce
from weft.synthesis.classic.ring import ring_allgather, ring_allreduce, ring_reducescatter

__all__ = [
    "binomial_broadcast",
    "binomial_reduce",
    "bruck_allgather",
    "pairwise_alltoall",
    "recursive_doubling_allreduce",
    "ring_allgather",
    "ring_allreduce",
    "ring_reducescatter",
]
