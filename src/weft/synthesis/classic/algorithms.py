"""All classic algorithms, in one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from weft.collective import Collective
from weft.kinds import Kind
from weft.schedule.schedule import Schedule
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


class Algorithm(NamedTuple):
    """A name, what it does, and the function that writes its schedule."""

    name: str
    kind: Kind
    build: Callable[[Collective], Schedule]


ALGORITHMS = (
    Algorithm("flat", Kind.BROADCAST, flat_broadcast),
    Algorithm("chain", Kind.BROADCAST, chain_broadcast),
    Algorithm("binomial", Kind.BROADCAST, binomial_broadcast),
    Algorithm("Bine", Kind.BROADCAST, bine_broadcast),
    Algorithm("double tree", Kind.BROADCAST, double_tree_broadcast),
    Algorithm("scatter and allgather", Kind.BROADCAST, scatter_allgather_broadcast),
    Algorithm("flat", Kind.REDUCE, flat_reduce),
    Algorithm("chain", Kind.REDUCE, chain_reduce),
    Algorithm("binomial", Kind.REDUCE, binomial_reduce),
    Algorithm("Bine", Kind.REDUCE, bine_reduce),
    Algorithm("double tree", Kind.REDUCE, double_tree_reduce),
    Algorithm("Rabenseifner", Kind.REDUCE, rabenseifner_reduce),
    Algorithm("flat", Kind.SCATTER, flat_scatter),
    Algorithm("binomial", Kind.SCATTER, binomial_scatter),
    Algorithm("flat", Kind.GATHER, flat_gather),
    Algorithm("binomial", Kind.GATHER, binomial_gather),
    Algorithm("Bruck", Kind.ALLGATHER, bruck_allgather),
    Algorithm("recursive doubling", Kind.ALLGATHER, recursive_doubling_allgather),
    Algorithm("ring", Kind.ALLGATHER, ring_allgather),
    Algorithm("bidirectional ring", Kind.ALLGATHER, bidirectional_ring_allgather),
    Algorithm("neighbour exchange", Kind.ALLGATHER, neighbour_exchange_allgather),
    Algorithm("PAT", Kind.ALLGATHER, pat_allgather),
    Algorithm("gather and broadcast", Kind.ALLGATHER, gather_broadcast_allgather),
    Algorithm("ring", Kind.REDUCESCATTER, ring_reducescatter),
    Algorithm("pairwise", Kind.REDUCESCATTER, pairwise_reducescatter),
    Algorithm("recursive halving", Kind.REDUCESCATTER, halving_reducescatter),
    Algorithm("PAT", Kind.REDUCESCATTER, pat_reducescatter),
    Algorithm("reduce and scatter", Kind.REDUCESCATTER, reduce_scatter_reducescatter),
    Algorithm("recursive doubling", Kind.ALLREDUCE, recursive_doubling_allreduce),
    Algorithm("Bine", Kind.ALLREDUCE, bine_allreduce),
    Algorithm("double tree", Kind.ALLREDUCE, double_tree_allreduce),
    Algorithm("Rabenseifner", Kind.ALLREDUCE, rabenseifner_allreduce),
    Algorithm("Swing", Kind.ALLREDUCE, swing_allreduce),
    Algorithm("ring", Kind.ALLREDUCE, ring_allreduce),
    Algorithm("grid", Kind.ALLREDUCE, grid_allreduce),
    Algorithm("hierarchical", Kind.ALLREDUCE, hierarchical_allreduce),
    Algorithm("reduce and broadcast", Kind.ALLREDUCE, reduce_broadcast_allreduce),
    Algorithm("pairwise", Kind.ALLTOALL, pairwise_alltoall),
    Algorithm("linear", Kind.ALLTOALL, linear_alltoall),
    Algorithm("Bruck", Kind.ALLTOALL, bruck_alltoall),
    Algorithm("hypercube", Kind.ALLTOALL, hypercube_alltoall),
    Algorithm("grid", Kind.ALLTOALL, grid_alltoall),
    Algorithm("dissemination", Kind.BARRIER, dissemination_barrier),
)
