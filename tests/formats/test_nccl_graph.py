"""Graph files for NCCL, read again as its reader does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any
from xml.parsers import expat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft.errors import BadInput
from weft.formats.nccl_graph import nccl_graph
from weft.kinds import Kind
from weft.topology.topology import Link, Topology, both_ways

# One element a line, as NCCL's own reader splits it: no tab, single spaces, no declaration.
LINE = re.compile(rb' *(<[a-z]+( [a-z]+="[^"<>&]*")*/?>|</[a-z]+>)')


def read(content: bytes) -> tuple[dict[str, str], list[list[int]]]:
    """The attributes of the one graph, and the GPUs of its channels."""
    graphs: list[dict[str, str]] = []
    channels: list[list[int]] = []
    parents: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        match parents, name:
            case [], "graphs":
                assert attributes == {"version": "1"}
            case ["graphs"], "graph":
                graphs.append(attributes)
            case ["graphs", "graph"], "channel":
                channels.append([])
            case ["graphs", "graph", "channel"], "gpu":
                channels[-1].append(int(attributes["dev"], 16))
                assert int(attributes["dev"], 0) == channels[-1][-1]
            case _:
                raise AssertionError(name)
        parents.append(name)

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: parents.pop() and None
    parser.Parse(content, True)  # noqa: FBT003 - it is positional only
    assert all(LINE.fullmatch(line) for line in content.splitlines())
    [graph] = graphs
    assert int(graph["nchannels"]) == len(channels)
    return graph, channels


RINGS = (weft.classic.ring_allreduce, weft.classic.ring_allgather, weft.classic.ring_reducescatter)


@pytest.mark.parametrize("build", RINGS)
@given(ranks=st.integers(2, 40))
def test_our_rings_are_one_channel_in_their_order(build, ranks):
    kind = dict(zip(RINGS, ("allreduce", "allgather", "reducescatter"), strict=True))
    graph, channels = read(nccl_graph(build(weft.Collective.named(kind[build], ranks))))
    assert channels == [list(range(ranks))]
    assert graph == {
        "id": "0",
        "pattern": "4",
        "crossnic": "0",
        "nchannels": "1",
        "speedintra": "20",
        "speedinter": "20",
        "latencyinter": "0",
        "typeintra": "NVL",
        "typeinter": "PIX",
        "samechannels": "1",
    }


def ring_schedule(rings: Sequence[Sequence[int]], weights: Sequence[int]) -> weft.Schedule:
    """An allreduce whose piece p goes round ring p."""
    ranks = len(rings[0])
    draft = weft.PieceDraft(weft.allreduce(ranks).cut(weights))
    for piece, ring in enumerate(rings):
        for step in range(ranks - 1):
            draft.add(ring[step], ring[step + 1], piece)
        for step in range(-1, ranks - 2):
            draft.send(ring[step], ring[step + 1], piece)
    return draft.schedule("rings")


def from_zero(ring: Sequence[int]) -> list[int]:
    at = list(ring).index(0)
    return [*ring[at:], *ring[:at]]


@given(st.integers(0, 2**48))
def test_every_piece_may_take_a_ring_of_its_own(seed):
    draw = Random(seed)
    ranks = draw.randint(2, 7)
    rings = [draw.sample(range(ranks), ranks) for _ in range(draw.randint(1, 4))]
    weights = [draw.randint(1, 3) for _ in rings]
    schedule = ring_schedule(rings, weights)
    graph, channels = read(nccl_graph(schedule))
    for ring in map(from_zero, rings):
        share = sum(w for w, each in zip(weights, rings, strict=True) if from_zero(each) == ring)
        assert channels.count(ring) * sum(weights) == share * len(channels)
    assert all(channel in [from_zero(ring) for ring in rings] for channel in channels)
    assert graph["samechannels"] == str(int(all(each == channels[0] for each in channels)))


def chain_schedule(order: Sequence[int]) -> weft.Schedule:
    draft = weft.PieceDraft(weft.allreduce(len(order)))
    for child, parent in pairwise(reversed(order)):
        draft.add(child, parent, 0)
    for parent, child in pairwise(order):
        draft.send(parent, child, 0)
    return draft.schedule("chain")


@given(st.permutations(range(5)))
def test_a_sum_up_and_down_a_chain_is_a_tree_from_its_root(order):
    graph, channels = read(nccl_graph(chain_schedule(order)))
    assert (graph["id"], graph["pattern"]) == ("1", "3")
    assert channels == [list(order)]


@given(st.permutations(range(5)), st.sampled_from(["broadcast", "reduce"]))
def test_a_line_from_or_to_a_root_is_part_of_a_ring(order, name):
    draft = weft.PieceDraft(
        weft.Collective(Kind(name), 5, order[0] if name == "broadcast" else order[-1])
    )
    for src, dst in pairwise(order):
        (draft.send if name == "broadcast" else draft.add)(src, dst, 0)
    graph, channels = read(nccl_graph(draft.schedule("line")))
    assert graph["id"] == "0"
    assert channels == [from_zero(order)]


def schedule_of(collective: weft.Collective, *moves: tuple[int, int, int]) -> weft.Schedule:
    draft = weft.PieceDraft(collective)
    for src, dst, piece in moves:
        draft.send(src, dst, piece)
    return draft.schedule("mine")


def middle_rooted() -> weft.Schedule:
    draft = weft.PieceDraft(weft.allreduce(3))
    draft.add(0, 1, 0)
    draft.add(2, 1, 0)
    draft.send(1, [0, 2], 0)
    return draft.schedule("middle")


def both_ways_round() -> weft.Schedule:
    """A sum one way round, its result the other way: no end of it is a root."""
    draft = weft.PieceDraft(weft.allreduce(4))
    for src, dst in ((0, 1), (1, 2), (2, 3)):
        draft.add(src, dst, 0)
    for src, dst in ((3, 2), (2, 1), (1, 0), (0, 3)):
        draft.send(src, dst, 0)
    return draft.schedule("round")


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (
            weft.classic.binomial_broadcast(weft.broadcast(4)),
            "binomial: rank 0 sends to ranks 1 and 2 the same block 0: NCCL's files know only",
        ),
        (
            weft.classic.binomial_reduce(weft.reduce(4)),
            "binomial: rank 0 receives from ranks 1 and 2 the same block 0",
        ),
        (middle_rooted(), "middle: rank 1 sends to ranks 0 and 2 the same block 0"),
        (both_ways_round(), "round: rank 0 sends to ranks 1 and 3"),
        (weft.classic.pairwise_alltoall(weft.alltoall(3)), "alltoall over 3 ranks is nothing"),
        (weft.classic.ring_allreduce(weft.allreduce(1)), "allreduce over 1 rank is nothing"),
        (ring_schedule([[0, 1, 2], [0, 2, 1]], [1, 20]), "rings takes 21 channels of 3 ranks"),
    ],
)
def test_what_the_file_cannot_say_is_refused(schedule, message):
    with pytest.raises(BadInput, match=message) as caught:
        nccl_graph(schedule)
    assert "\n" not in str(caught.value)


def test_rings_and_chains_do_not_go_together():
    c = weft.allreduce(3).cut(2)
    draft = weft.PieceDraft(c)
    for child, parent in ((2, 1), (1, 0)):
        draft.add(child, parent, 0)
    for parent, child in ((0, 1), (1, 2)):
        draft.send(parent, child, 0)
    for step in range(2):
        draft.add(step, step + 1, 1)
    for src, dst in ((2, 0), (0, 1)):
        draft.send(src, dst, 1)
    with pytest.raises(BadInput, match="pieces on rings and pieces on chains"):
        nccl_graph(draft.schedule("both"))


def test_a_wrong_schedule_is_not_written():
    wrong = weft.parse_text("wrong: broadcast ranks=2\n0.in0 -> 0.out0")
    with pytest.raises(weft.WrongSchedule):
        nccl_graph(wrong)


def box(**of_link: Any) -> Topology:
    """Four ranks around a ring of 12 GB/s, but for one wire."""
    wires = [Link(a, (a + 1) % 4, 12 * 10**9, kind="nvlink") for a in range(3)]
    return Topology("box", 4, both_ways([*wires, Link(3, 0, **of_link)]), resources={"bus": 10**9})


@pytest.mark.parametrize(
    ("of_link", "speed", "path"),
    [
        ({"bandwidth": 12 * 10**9, "kind": "nvlink"}, "12", "NVL"),
        ({"bandwidth": 5 * 10**9, "kind": "pcie"}, "5", "PHB"),
        ({"bandwidth": 99 * 10**9, "kind": "wire"}, "12", "SYS"),
        ({"bandwidth": 99 * 10**9, "kind": "xgmi", "shares": ("bus",)}, "1", "NVL"),
    ],
)
def test_speed_and_path_are_those_of_the_worst_link(of_link, speed, path):
    graph, _ = read(nccl_graph(weft.classic.ring_allreduce(weft.allreduce(4)), box(**of_link)))
    assert (graph["speedintra"], graph["speedinter"], graph["typeintra"]) == (speed, speed, path)


def test_channels_share_the_links_that_they_use():
    rings = [[0, 1, 2, 3], [3, 2, 1, 0], [0, 1, 2, 3], [0, 1, 3, 2]]
    full = weft.find_topology("full:4")
    for count, speed in ((1, "25"), (2, "25"), (3, "12.5")):
        graph, _ = read(nccl_graph(ring_schedule(rings[:count], [1] * count), full))
        assert graph["speedintra"] == speed, count
    graph, _ = read(nccl_graph(ring_schedule([rings[0], rings[3]], [1, 2]), full))
    assert graph["speedintra"] == "8.33333"


def test_both_directions_of_a_chain_count():
    slow_back = (Link(0, 1, 10**9), Link(1, 2, 10**9), Link(2, 1, 10**8), Link(1, 0, 10**9))
    graph, _ = read(nccl_graph(chain_schedule([0, 1, 2]), Topology("y", 3, slow_back)))
    assert graph["speedintra"] == "0.1"


def test_a_topology_that_does_not_fit():
    ring = weft.classic.ring_allreduce(weft.allreduce(4))
    with pytest.raises(BadInput, match="ring is for 4 ranks, ring:5 has 5"):
        nccl_graph(ring, weft.find_topology("ring:5"))
    line = weft.find_topology("mesh:4")
    with pytest.raises(BadInput, match="mesh:4 has no way from rank 3 to rank 0, which NCCL"):
        nccl_graph(ring, line)


def test_more_elements_than_nccl_reads_are_refused():
    rings = [list(np.random.default_rng(seed).permutation(600)) for seed in range(8)]
    with pytest.raises(BadInput, match="takes 8 channels of 600 ranks: NCCL has room for 16"):
        nccl_graph(ring_schedule(rings, [1] * 8))
