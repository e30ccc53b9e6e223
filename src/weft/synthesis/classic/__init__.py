"""The algorithms of the textbooks, one file per family."""

from __future__ import annotations

from weft.synthesis.classic.binomial import (
    binomial_broadcast,
    binomial_gather,
    binomial_reduce,
    binomial_scatter,
)
from weft.synthesis.classic.bruck import bruck_allgather
from weft.synthesis.classic.chain import chain_broadcast, chain_reduce
from weft.synthesis.classic.composed import (
    gather_broadcast_allgather,
    reduce_broadcast_allreduce,
    reduce_scatter_reducescatter,
    scatter_allgather_broadcast,
)
from weft.synthesis.classic.dissemination import dissemination_barrier
from weft.synthesis.classic.flat import flat_broadcast, flat_gather, flat_reduce, flat_scatter
from weft.synthesis.classic.neighbour_exchange import neighbour_exchange_allgather
from weft.synthesis.classic.pairwise import pairwise_alltoall, pairwise_reducescatter
from weft.synthesis.classic.pat import pat_allgather, pat_reducescatter
from weft.synthesis.classic.recursive_doubling import recursive_doubling_allreduce
from weft.synthesis.classic.ring import (
    bidirectional_ring_allgather,
    ring_allgather,
    ring_allreduce,
    ring_reducescatter,
)

__all__ = [
    "bidirectional_ring_allgather",
    "binomial_broadcast",
    "binomial_gather",
    "binomial_reduce",
    "binomial_scatter",
    "bruck_allgather",
    "chain_broadcast",
    "chain_reduce",
    "dissemination_barrier",
    "flat_broadcast",
    "flat_gather",
    "flat_reduce",
    "flat_scatter",
    "gather_broadcast_allgather",
    "neighbour_exchange_allgather",
    "pairwise_alltoall",
    "pairwise_reducescatter",
    "pat_allgather",
    "pat_reducescatter",
    "recursive_doubling_allreduce",
    "reduce_broadcast_allreduce",
    "reduce_scatter_reducescatter",
    "ring_allgather",
    "ring_allreduce",
    "ring_reducescatter",
    "scatter_allgather_broadcast",
]
