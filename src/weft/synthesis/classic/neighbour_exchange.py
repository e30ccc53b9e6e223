"""Neighbour exchange: each rank swaps with its two neighbours in turn, half a ring's steps.

Chen, Zhang, Zhang, Yuan: Performance evaluation of allgather algorithms on terascale Linux cluster
with Fast Ethernet, HPC Asia (2005).
"""

from __future__ import annotations

import numpy as np

from weft.collective import Collective
from weft.errors import BadInput
from weft.kinds import Kind
from weft.schedule.schedule import Schedule
from weft.synthesis.classic.pieces import PieceDraft
from weft.units import counted


def neighbour_exchange_allgather(collective: Collective) -> Schedule:
    """Neighbours swap their blocks, and from then on the two blocks that came last; n is even.

    Messages: n n / 2.  With blocks of B bytes each rank sends (n - 1) B.
    """
    collective.require(Kind.ALLGATHER)
    n = collective.ranks
    if n % 2:
        raise BadInput(
            f"neighbour exchange over {counted(n, 'rank')}: it pairs ranks up, so take an even "
            "number, or another algorithm, such as ring"
        )
    draft, rank = PieceDraft(collective), np.arange(n)
    draft.send(rank, rank ^ 1, rank)
    pair = rank // 2  # the pair of blocks that came last
    for step in range(1, n // 2):
        neighbour = (rank + np.where((rank + step) % 2 == 0, 1, -1)) % n
        draft.send(rank[:, None], neighbour[:, None], 2 * pair[:, None] + [0, 1])
        pair = pair[neighbour]
    return draft.schedule("neighbour exchange")
