"""All classic algorithms, in one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from weft.collective import Collective
from weft.kinds import Kind
from weft.schedule.schedule import Schedule
from weft.synthesis import classic


class Algorithm(NamedTuple):
    """A name, what it does, and the function that writes its schedule."""

    name: str
    kind: Kind
    build: Callable[[Collective], Schedule]


ALGORITHMS = (
    Algorithm("flat", Kind.BROADCAST, classic.flat_broadcast),
    Algorithm("chain", Kind.BROADCAST, classic.chain_broadcast),
    Algorithm("binomial", Kind.BROADCAST, classic.binomial_broadcast),
    Algorithm("Bine", Kind.BROADCAST, classic.bine_broadcast),
    Algorithm("double tree", Kind.BROADCAST, classic.double_tree_broadcast),
    Algorithm("scatter and allgather", Kind.BROADCAST, classic.scatter_allgather_broadcast),
    Algorithm("flat", Kind.REDUCE, classic.flat_reduce),
    Algorithm("chain", Kind.REDUCE, classic.chain_reduce),
    Algorithm("binomial", Kind.REDUCE, classic.binomial_reduce),
    Algorithm("Bine", Kind.REDUCE, classic.bine_reduce),
    Algorithm("double tree", Kind.REDUCE, classic.double_tree_reduce),
    Algorithm("Rabenseifner", Kind.REDUCE, classic.rabenseifner_reduce),
    Algorithm("flat", Kind.SCATTER, classic.flat_scatter),
    Algorithm("binomial", Kind.SCATTER, classic.binomial_scatter),
    Algorithm("flat", Kind.GATHER, classic.flat_gather),
    Algorithm("binomial", Kind.GATHER, classic.binomial_gather),
    Algorithm("Bruck", Kind.ALLGATHER, classic.bruck_allgather),
    Algorithm("recursive doubling", Kind.ALLGATHER, classic.recursive_doubling_allgather),
    Algorithm("ring", Kind.ALLGATHER, classic.ring_allgather),
    Algorithm("bidirectional ring", Kind.ALLGATHER, classic.bidirectional_ring_allgather),
    Algorithm("neighbour exchange", Kind.ALLGATHER, classic.neighbour_exchange_allgather),
    Algorithm("PAT", Kind.ALLGATHER, classic.pat_allgather),
    Algorithm("gather and broadcast", Kind.ALLGATHER, classic.gather_broadcast_allgather),
    Algorithm("ring", Kind.REDUCESCATTER, classic.ring_reducescatter),
    Algorithm("pairwise", Kind.REDUCESCATTER, classic.pairwise_reducescatter),
    Algorithm("recursive halving", Kind.REDUCESCATTER, classic.halving_reducescatter),
    Algorithm("PAT", Kind.REDUCESCATTER, classic.pat_reducescatter),
    Algorithm("reduce and scatter", Kind.REDUCESCATTER, classic.reduce_scatter_reducescatter),
    Algorithm("recursive doubling", Kind.ALLREDUCE, classic.recursive_doubling_allreduce),
    Algorithm("Bine", Kind.ALLREDUCE, classic.bine_allreduce),
    Algorithm("double tree", Kind.ALLREDUCE, classic.double_tree_allreduce),
    Algorithm("Rabenseifner", Kind.ALLREDUCE, classic.rabenseifner_allreduce),
    Algorithm("Swing", Kind.ALLREDUCE, classic.swing_allreduce),
    Algorithm("ring", Kind.ALLREDUCE, classic.ring_allreduce),
    Algorithm("grid", Kind.ALLREDUCE, classic.grid_allreduce),
    Algorithm("hierarchical", Kind.ALLREDUCE, classic.hierarchical_allreduce),
    Algorithm("reduce and broadcast", Kind.ALLREDUCE, classic.reduce_broadcast_allreduce),
    Algorithm("pairwise", Kind.ALLTOALL, classic.pairwise_alltoall),
    Algorithm("linear", Kind.ALLTOALL, classic.linear_alltoall),
    Algorithm("Bruck", Kind.ALLTOALL, classic.bruck_alltoall),
    Algorithm("hypercube", Kind.ALLTOALL, classic.hypercube_alltoall),
    Algorithm("grid", Kind.ALLTOALL, classic.grid_alltoall),
    Algorithm("dissemination", Kind.BARRIER, classic.dissemination_barrier),
)
