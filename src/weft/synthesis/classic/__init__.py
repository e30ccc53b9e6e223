"""The algorithms of the textbooks, one file per family."""

from __future__ import annotations

from weft.synthesis.classic.bine import bine_allreduce, bine_broadcast, bine_reduce
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
from weft.synthesis.classic.double_tree import (
    double_tree_allreduce,
    double_tree_broadcast,
    double_tree_reduce,
)
from weft.synthesis.classic.flat import flat_broadcast, flat_gather, flat_reduce, flat_scatter
from weft.synthesis.classic.grid import grid_allreduce
from weft.synthesis.classic.halving import (
    halving_reducescatter,
    rabenseifner_allreduce,
    rabenseifner_reduce,
)
from weft.synthesis.classic.hierarchical import hierarchical_allreduce
from weft.synthesis.classic.linear import linear_alltoall
from weft.synthesis.classic.neighbour_exchange import neighbour_exchange_allgather
from weft.synthesis.classic.pairwise import pairwise_alltoall, pairwise_reducescatter
from weft.synthesis.classic.pat import pat_allgather, pat_reducescatter
from weft.synthesis.classic.recursive_doubling import (
    recursive_doubling_allgather,
    recursive_doubling_allreduce,
)
from weft.synthesis.classic.ring import (
    bidirectional_ring_allgather,
    ring_allgather,
    ring_allreduce,
    ring_reducescatter,
)
from weft.synthesis.classic.store_and_forward import (
    bruck_alltoall,
    grid_alltoall,
    hypercube_alltoall,
)
from weft.synthesis.classic.swing import swing_allreduce

__all__ = [
    "bidirectional_ring_allgather",
    "bine_allreduce",
    "bine_broadcast",
    "bine_reduce",
    "binomial_broadcast",
    "binomial_gather",
    "binomial_reduce",
    "binomial_scatter",
    "bruck_allgather",
    "bruck_alltoall",
    "chain_broadcast",
    "chain_reduce",
    "dissemination_barrier",
    "double_tree_allreduce",
    "double_tree_broadcast",
    "double_tree_reduce",
    "flat_broadcast",
    "flat_gather",
    "flat_reduce",
    "flat_scatter",
    "gather_broadcast_allgather",
    "grid_allreduce",
    "grid_alltoall",
    "halving_reducescatter",
    "hierarchical_allreduce",
    "hypercube_alltoall",
    "linear_alltoall",
    "neighbour_exchange_allgather",
    "pairwise_alltoall",
    "pairwise_reducescatter",
    "pat_allgather",
    "pat_reducescatter",
    "rabenseifner_allreduce",
    "rabenseifner_reduce",
    "recursive_doubling_allgather",
    "recursive_doubling_allreduce",
    "reduce_broadcast_allreduce",
    "reduce_scatter_reducescatter",
    "ring_allgather",
    "ring_allreduce",
    "ring_reducescatter",
    "scatter_allgather_broadcast",
    "swing_allreduce",
]
