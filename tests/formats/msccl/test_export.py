"""What is exported does what the schedule does, in every order that the runtimes may take."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from synthesis.promises import algorithms_for
from twins.execute import expected
from twins.msccl import WIDTH, run
from weft.collective import Collective
from weft.errors import BadInput
from weft.formats.msccl.file import Wanted, from_msccl, to_msccl
from weft.formats.msccl.program import RUNTIMES
from weft.formats.msccl.read import read_program
from weft.kinds import Kind
from weft.schedule.schedule import Schedule

seeds = st.integers(0, 10**9)


@st.composite
def exports(draw: st.DrawFn) -> tuple[Schedule, str]:
    """Any algorithm from any root, and a runtime that has its collective."""
    ranks = draw(st.integers(1, 9))
    runtime = draw(st.sampled_from(list(RUNTIMES)))
    lacks = {Kind.BARRIER} | ({Kind.SCATTER, Kind.GATHER} if runtime == "msccl" else set())
    choice = [algorithm for algorithm in algorithms_for(ranks) if algorithm.kind not in lacks]
    algorithm = draw(st.sampled_from(choice))
    root = draw(st.integers(0, ranks - 1)) if algorithm.kind.rooted else None
    return algorithm.build(Collective(algorithm.kind, ranks, root)), runtime


@given(export=exports(), parts=st.integers(1, 3), seed=seeds)
def test_a_file_does_what_the_schedule_does(export, parts, seed):
    """Arrays, blocks in random order, and as few places on a connection as the protocol has."""
    schedule, runtime = export
    content = to_msccl(schedule, runtime, Wanted(parts=parts))
    program = read_program(content)
    c = schedule.collective
    for in_place in [False] * program.out_of_place + [True] * program.in_place:
        got = run(content, c, Random(seed), in_place=in_place)
        size = WIDTH * program.chunks // (c.blocks // (c.ranks if c.kind is Kind.ALLTOALL else 1))
        want = expected(c.kind, c.ranks, c.root or 0, lambda _, size=size: size)  # type: ignore[misc]
        assert got.keys() == want.keys()
        for at, block in want.items():
            np.testing.assert_array_equal(got[at], block)


@given(exports())
def test_export_import_export_is_stable(export):
    schedule, runtime = export
    content = to_msccl(schedule, runtime)
    again = from_msccl(content)
    weft.verify(again)
    assert again.collective.kind == schedule.collective.kind
    assert to_msccl(again, runtime) == content


def test_a_ring_is_one_block_that_passes_on_what_it_gets():
    program = read_program(to_msccl(weft.classic.ring_allreduce(weft.allreduce(4)), "rccl"))
    for rank, gpu in enumerate(program.gpus):
        (block,) = gpu.blocks
        assert (block.send, block.receive) == ((rank + 1) % 4, (rank - 1) % 4)
        assert [step.type for step in block.steps] == [
            "s",
            "rrcs",
            "rrcs",
            "rrcs",
            "rcs",
            "rcs",
            "r",
        ]


def test_what_is_only_passed_on_is_not_stored():
    """In a reducescatter the sums on their way need no scratch."""
    ring = weft.classic.ring_reducescatter(weft.reducescatter(4))
    program = read_program(to_msccl(ring, "msccl-executor"))
    types = [step.type for step in program.gpus[0].blocks[0].steps]
    assert types == ["s", "rrs", "rrs", "rrc"]
    assert program.gpus[0].scratch == 0


def test_adjacent_chunks_of_a_message_are_one_step():
    program = read_program(to_msccl(weft.classic.bruck_allgather(weft.allgather(8)), "msccl"))
    counts = {step.count for block in program.gpus[0].blocks for step in block.steps}
    assert counts == {0, 1, 3}  # of a nop, the own block, the rest


def test_parts_are_on_channels_of_their_own():
    ring = weft.classic.ring_allreduce(weft.allreduce(4))
    program = read_program(to_msccl(ring, "msccl", Wanted(parts=4)))
    assert program.channels == 4
    assert program.chunks == 16
    assert [block.channel for block in program.gpus[0].blocks] == [0, 1, 2, 3]


@pytest.mark.slow
def test_more_steps_than_a_block_takes_go_on_several_channels():
    ring = weft.classic.ring_allreduce(weft.allreduce(64))
    for runtime, channels in (("msccl", 1), ("msccl-executor", 2)):
        program = read_program(to_msccl(ring, runtime))
        assert program.channels == channels
        assert max(len(b.steps) for g in program.gpus for b in g.blocks) <= RUNTIMES[runtime].steps


def test_the_name_of_a_reducescatter_is_the_runtime_s():
    ring = weft.classic.ring_reducescatter(weft.reducescatter(2))
    assert b'coll="reduce_scatter"' in to_msccl(ring, "msccl")
    assert b'coll="reducescatter"' in to_msccl(ring, "msccl-executor")


def test_where_a_file_is_for_one_way_of_being_called_it_is_out_of_place():
    ring = weft.classic.ring_allreduce(weft.allreduce(2))
    assert b'inplace="0" outofplace="1"' in to_msccl(ring, "msccl")
    assert b'inplace="1" outofplace="1"' in to_msccl(ring, "rccl")
    alone = Schedule(ring.name, ring.collective, ring.transfers, out_of_place=False)
    assert b'inplace="1" outofplace="0"' in to_msccl(alone, "msccl")


def test_sizes_and_protocol_are_as_wanted():
    ring = weft.classic.ring_allreduce(weft.allreduce(2))
    wanted = Wanted("LL", least_bytes=1024, most_bytes=65535)
    assert b'proto="LL"' in to_msccl(ring, "rccl", wanted)
    assert b'minBytes="1024" maxBytes="65535"' in to_msccl(ring, "rccl", wanted)
    assert b'maxBytes="0"' in to_msccl(ring, "rccl")
    assert b'maxBytes="1125899906842624"' in to_msccl(ring, "msccl")  # there 0 is no size at all


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        (Wanted("Fast"), "'Fast' is not a protocol: give Simple, LL, LL128"),
        (Wanted(least_bytes=2, most_bytes=1), "sizes from 2 to 1 bytes: give the smaller first"),
        (Wanted(parts=0), "the number of parts is 0: give 1 to 32"),
        (Wanted(parts=33), "the number of parts is 33: give 1 to 32"),
    ],
)
def test_wishes_that_cannot_be_met(wanted, problem):
    with pytest.raises(BadInput, match=problem):
        to_msccl(weft.classic.ring_allreduce(weft.allreduce(2)), "rccl", wanted)


def test_blocks_of_any_sizes_cannot_be_exported():
    ring = weft.classic.ring_allgather(weft.allgatherv(3))
    with pytest.raises(BadInput, match="has blocks of any sizes, a file has equal ones"):
        to_msccl(ring, "rccl")


def test_pieces_of_unequal_weights_are_chunks_of_one_size():
    draft = weft.PieceDraft(weft.broadcast(2).cut([2, 1]))
    draft.send(0, 1, [0, 1])
    content = to_msccl(draft.schedule("unequal"), "rccl")
    assert read_program(content).chunks == 3
    weft.verify(from_msccl(content))


def test_what_does_not_fit_says_why():
    pairwise = weft.classic.pairwise_alltoall(weft.alltoall(40))
    with pytest.raises(BadInput, match=r"does not fit rccl: .* blocks, the most are 64"):
        to_msccl(pairwise, "rccl")
