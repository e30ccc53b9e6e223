from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from twins.draw import any_collective
from weft.collective import MOST_PIECES, Collective
from weft.errors import BadInput
from weft.kinds import Kind

seeds = st.integers(0, 2**32)


def states(collective: Collective) -> tuple[dict[tuple[int, str], object], ...]:
    """Initial and final contents as {(rank, slot name): (block, ranks)}."""
    return tuple(
        {
            (rank, collective.slot_name(slot)): (
                int(collective.pieces["block"][piece]),
                list(range(first, first + count)),
            )
            for rank, slot, piece, first, count in table.tolist()
        }
        for table in (collective.initial, collective.final)
    )


def test_broadcast_and_reduce():
    assert states(weft.broadcast(2, root=1)) == (
        {(1, "in0"): (0, [1])},
        {(0, "out0"): (0, [1]), (1, "out0"): (0, [1])},
    )
    assert states(weft.reduce(2, root=1)) == (
        {(0, "in0"): (0, [0]), (1, "in0"): (0, [1])},
        {(1, "out0"): (0, [0, 1])},
    )


def test_scatter_and_gather():
    assert states(weft.scatter(2, root=1)) == (
        {(1, "in0"): (0, [1]), (1, "in1"): (1, [1])},
        {(0, "out0"): (0, [1]), (1, "out0"): (1, [1])},
    )
    assert states(weft.gather(2, root=1)) == (
        {(0, "in0"): (0, [0]), (1, "in0"): (1, [1])},
        {(1, "out0"): (0, [0]), (1, "out1"): (1, [1])},
    )


def test_allgather_and_reducescatter():
    assert states(weft.allgather(2)) == (
        {(0, "in0"): (0, [0]), (1, "in0"): (1, [1])},
        {(r, f"out{b}"): (b, [b]) for r in range(2) for b in range(2)},
    )
    assert states(weft.reducescatter(2)) == (
        {(r, f"in{b}"): (b, [r]) for r in range(2) for b in range(2)},
        {(0, "out0"): (0, [0, 1]), (1, "out0"): (1, [0, 1])},
    )


@pytest.mark.parametrize("make", [weft.allreduce, weft.barrier])
def test_allreduce_and_barrier(make):
    assert states(make(2)) == (
        {(0, "in0"): (0, [0]), (1, "in0"): (0, [1])},
        {(0, "out0"): (0, [0, 1]), (1, "out0"): (0, [0, 1])},
    )


def test_alltoall():
    """Block s * n + d goes from s to d; it is input d of rank s and output s of rank d."""
    assert states(weft.alltoall(2)) == (
        {(0, "in0"): (0, [0]), (0, "in1"): (1, [0]), (1, "in0"): (2, [1]), (1, "in1"): (3, [1])},
        {
            (0, "out0"): (0, [0]),
            (0, "out1"): (2, [1]),
            (1, "out0"): (1, [0]),
            (1, "out1"): (3, [1]),
        },
    )


@pytest.mark.parametrize(
    ("collective", "shared"),
    [
        (weft.broadcast(3, root=1), {(1, "out0", "in0")}),
        (weft.reduce(3, root=1), {(1, "out0", "in0")}),
        (weft.scatter(3, root=1), {(1, "out0", "in1")}),
        (weft.gather(3, root=1), {(1, "out1", "in0")}),
        (weft.allgather(2), {(0, "out0", "in0"), (1, "out1", "in0")}),
        (weft.reducescatter(2), {(0, "out0", "in0"), (1, "out0", "in1")}),
        (weft.allreduce(2).cut(2), {(r, f"out{p}", f"in{p}") for r in range(2) for p in range(2)}),
        (weft.alltoall(2), {(r, f"out{p}", f"in{p}") for r in range(2) for p in range(2)}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_in_place_outputs_are_where_the_field_expects_them(collective, shared):
    names = collective.slot_name
    assert {
        (r, names(slot), names(place)) for r, slot, place in collective.in_place.tolist()
    } == shared


@given(seeds)
def test_slots_of_a_rank_are_numbered_without_gaps(seed):
    collective = any_collective(Random(seed))
    for table, start in ((collective.initial, 0), (collective.final, collective.inputs)):
        for rank in range(collective.ranks):
            slots = table["slot"][table["rank"] == rank].tolist()
            assert slots == list(range(start, start + len(slots)))


@given(st.lists(st.integers(1, 2**40), min_size=1, max_size=9), st.integers(0, 2**40))
def test_pieces_tile_a_block_of_any_size(weights, size):
    """Every element is in just one piece, for 0, 1 and 7 elements as for any other number."""
    collective = weft.allreduce(2).cut(weights)
    ends = [0]
    for piece in range(len(weights)):
        elements = collective.elements(piece, size)
        assert elements.start == ends[-1]
        ends.append(elements.stop)
    assert ends[-1] == size


@pytest.mark.parametrize(("size", "lengths"), [(0, [0, 0, 0]), (1, [0, 0, 1]), (7, [2, 2, 3])])
def test_small_sizes(size, lengths):
    collective = weft.allreduce(3).cut(3)
    assert [len(collective.elements(piece, size)) for piece in range(3)] == lengths


def test_weights_are_kept_in_lowest_terms():
    assert weft.allreduce(2).cut([6, 4]) == weft.allreduce(2).cut([3, 2])
    assert weft.allgather(2).cut_blocks([[2, 2], [3, 3]]) == weft.allgather(2).cut(2)


def test_blocks_may_be_cut_differently():
    collective = weft.allgather(2).cut_blocks([[1, 2], [1]])
    assert collective.pieces.tolist() == [(0, 0, 1, 3), (0, 1, 3, 3), (1, 0, 1, 1)]
    assert (collective.inputs, collective.outputs) == (2, 3)


def test_alltoall_in_place_needs_equal_cuts_both_ways():
    uneven = weft.alltoall(2).cut_blocks([[1], [1, 2], [2, 1], [1]])
    with pytest.raises(BadInput, match="cut both blocks alike"):
        _ = uneven.in_place
    assert len(weft.alltoall(2).cut_blocks([[1], [1, 2], [1, 2], [1]]).in_place) == 6


def test_names_say_what_a_collective_is():
    assert (
        repr(weft.broadcast(4, root=2).cut(3)) == "broadcast over 4 ranks, root 2, 3 pieces a block"
    )
    assert repr(weft.allgatherv(1)) == "allgatherv over 1 rank"
    assert repr(weft.allgather(2).cut_blocks([[1], [1, 1]])).endswith("1 to 2 pieces a block")
    assert weft.allreduce(2).cut([1, 2]).piece_name(1) == "block 0 [1:3 of 3]"
    assert weft.alltoall(2).slot_name(5) == "tmp1"
    assert weft.alltoall(2).slot_name(-1) == "slot-1"


@pytest.mark.parametrize(
    "name", [*Kind, "scatterv", "gatherv", "allgatherv", "reducescatterv", "alltoallv"]
)
def test_every_collective_has_a_function_of_its_name(name):
    collective = getattr(weft, name)(3)
    assert collective.name == name
    assert Collective.named(name, 3, collective.root) == collective


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: weft.allreduce(0), "0 ranks: give 1 to 65536"),
        (lambda: weft.allreduce(-3), "-3 ranks"),
        (lambda: weft.broadcast(4, root=4), "root 4: give a root below 4"),
        (lambda: Collective(Kind.BROADCAST, 4), "root None"),
        (lambda: Collective(Kind.ALLREDUCE, 4, root=0), "allreduce has no root"),
        (lambda: Collective(Kind.ALLREDUCE, 4, uneven=True), "no uneven variant"),
        (lambda: weft.allreduce(4).cut(0), "0 pieces"),
        (lambda: weft.allreduce(4).cut(MOST_PIECES + 1), "1048577 pieces"),
        (lambda: weft.allreduce(4).cut([]), "give 1 to"),
        (lambda: weft.allreduce(4).cut([1, 0]), "all above 0"),
        (lambda: weft.allreduce(4).cut([2**62, 1]), "at most"),
        (lambda: weft.allgather(4).cut_blocks([[1], [1]]), "4 blocks, but 2 cuts"),
        (lambda: weft.alltoall(65536), "cut less"),
        (lambda: weft.allreduce(1024).cut(MOST_PIECES), "cut less"),
        (lambda: Collective.named("allreducev", 2), "no uneven variant"),
        (lambda: Collective.named("bcast", 2), "'bcast' is not a collective: there are broadcast"),
    ],
)
def test_nonsense_is_refused_in_one_line(make, message):
    with pytest.raises(BadInput, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_a_block_in_very_many_pieces_is_no_trouble():
    collective = weft.allreduce(2).cut(MOST_PIECES)
    assert len(collective.pieces) == MOST_PIECES
    assert collective.piece_name(MOST_PIECES - 1) == "block 0 [1048575:1048576 of 1048576]"


def test_tables_are_the_same_for_equal_collectives():
    one, other = (weft.allgather(3).cut([1, 2]) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    np.testing.assert_array_equal(one.final, other.final)
