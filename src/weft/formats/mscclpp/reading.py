"""A plan as acts: what holds for all of it is checked here, and each threadblock is resolved."""

from __future__ import annotations

from math import gcd, lcm

from weft.errors import BadInput
from weft.formats.mscclpp.acts import Acts, End, limit, want
from weft.formats.mscclpp.plan import MOST_SEMAPHORES, Gpu, Plan
from weft.formats.mscclpp.resolving import ThreadblockReader, connected, flat

MOST_GPUS = 1 << 12
MOST_ACTS = 1 << 17  # of a plan, and as many ends of channels
MOST_MOVED = 1 << 20  # chunks, by all operations together
MOST_SHARES = 1 << 12  # into which groups of threadblocks may cut a chunk


def read_acts(plan: Plan) -> Acts:
    limit("gpus", len(plan.gpus), MOST_GPUS)
    for number, gpu in enumerate(plan.gpus):
        _check_gpu(f"gpus[{number}]", number, gpu, len(plan.gpus))
    shares = _shares(plan)
    peers = {
        End(gpu.id, kind, number): peer
        for gpu in plan.gpus
        for kind in ("memory", "port")
        for number, peer in enumerate(connected(gpu, kind))
    }
    limit("channels, of all gpus,", len(peers), MOST_ACTS)
    steps = [
        act
        for gpu in plan.gpus
        for block in gpu.threadblocks
        for act in ThreadblockReader(plan, gpu, block, shares, peers).acts()
    ]
    limit("operations, of all gpus,", len(steps), MOST_ACTS)
    moved = sum(effect.target.size for act in steps for effect in act.effects)
    if moved > MOST_MOVED:
        raise BadInput(f"the plan moves {moved} chunks, more than {MOST_MOVED}: take larger chunks")
    semaphores = {
        End(gpu.id, "semaphore", number): semaphore.init_value
        for gpu in plan.gpus
        for number, semaphore in enumerate(gpu.semaphores)
    }
    return Acts(steps, _partners(peers), peers, semaphores, shares)


def _check_gpu(path: str, number: int, gpu: Gpu, ranks: int) -> None:
    want(gpu.id == number, f"{path}.id", gpu.id, str(number))
    for at, block in enumerate(gpu.threadblocks):
        want(block.id == at, f"{path}.threadblocks[{at}].id", block.id, str(at))
    limit(f"{path}.semaphores", len(gpu.semaphores), MOST_SEMAPHORES)
    for peer in (*connected(gpu, "memory"), *connected(gpu, "port")):
        fits = peer < ranks and peer != number
        want(fits, f"{path}.channels connected_to", peer, f"another gpu, below {ranks}")
    for at, remote in enumerate(gpu.remote_buffers):
        fits = remote.rank < ranks and remote.rank != number
        place = f"{path}.remote_buffers[{at}].rank"
        want(fits, place, remote.rank, f"another gpu, below {ranks}")


def _partners(peers: dict[End, int]) -> dict[End, End]:
    """The k-th channel of a type to a peer is the peer's k-th one back."""
    between: dict[tuple[int, int, str], list[End]] = {}
    for end, peer in peers.items():
        between.setdefault((end.rank, peer, end.type), []).append(end)
    return {
        end: other
        for (rank, peer, kind), ends in between.items()
        for end, other in zip(ends, between.get((peer, rank, kind), []), strict=False)
    }


def _shares(plan: Plan) -> int:
    """Into how many parts to cut chunks so that each threadblock of a group has whole ones."""
    shares = 1
    for gpu in plan.gpus:
        for block in gpu.threadblocks:
            for operation in flat(block.ops):
                if operation.tbg_info:
                    for chunks in (*operation.src_buff, *operation.dst_buff):
                        size = operation.tbg_info.tbg_size
                        shares = lcm(shares, size // gcd(size, chunks.size))
                        limit("parts that tbg_size cuts chunks into", shares, MOST_SHARES)
    return shares
