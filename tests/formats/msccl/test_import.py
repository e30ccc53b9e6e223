"""Files made by others: what they do, and why some are refused."""

from __future__ import annotations

import re
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from formats.msccl.files import block, gpu, msccl, pair
from twins.execute import expected
from twins.msccl import WIDTH, Stuck, run
from weft.errors import BadInput, WeftError, WrongSchedule
from weft.formats import threads
from weft.formats.msccl import read
from weft.formats.msccl.file import Wanted, from_msccl, to_msccl
from weft.formats.msccl.program import ACTIONS
from weft.kinds import Kind


def lines(content: bytes) -> list[str]:
    return weft.format_text(from_msccl(content)).splitlines()


def test_two_ranks_that_send_first_and_receive_then():
    """One after another that is no list of whole messages, but nothing they touch is shared."""
    weft.verify(from_msccl(pair()))
    assert lines(pair()) == [
        "mine: allgather ranks=2 modes=out",
        "0.in0 -> 0.out0",
        "1.in0 -> 1.out1",
        "1.in0 -> 0.out1",
        "0.in0 -> 1.out0",
    ]


def test_a_swap_within_the_same_memory_goes_over_scratch():
    exchange = block(1, 1, "s i1 i1 1", "r i1 i1 1"), block(0, 0, "s i0 i0 1", "r i0 i0 1")
    content = msccl("alltoall", 2, [gpu("2,0,0", b) for b in exchange], inplace=1, outofplace=0)
    weft.verify(from_msccl(content))
    assert lines(content) == [
        "mine: alltoall ranks=2 modes=in",
        "0.in1 -> 1.tmp0",
        "1.in0 -> 0.in1",
        "1.tmp0 -> 1.in0",
    ]


def test_every_type_of_step():
    """A reduction along three ranks that adds without storing, and hands the sum back on."""
    content = msccl(
        "allreduce",
        1,
        [
            gpu("1,1,1", block(1, 2, "s i0 i0 1", "rcs o0 o0 1"), block(-1, -1, "nop i0 i0 0")),
            gpu("1,1,0", block(2, 0, "rrs i0 i0 1", "r o0 o0 1")),
            gpu("1,1,1", block(0, 1, "rrcs i0 o0 1"), block(-1, -1, "cpy i0 s0 1")),
        ],
    )
    weft.verify(from_msccl(content))
    assert lines(content) == [
        "mine: allreduce ranks=3 modes=out",
        "2.in0 -> 2.tmp0",
        "0.in0 -> 1.tmp0 + in0",
        "1.tmp0 -> 2.out0 + in0",
        "2.out0 -> 0.out0",
        "0.out0 -> 1.out0",
    ]


def test_a_file_for_calls_in_place_may_name_one_buffer_only():
    gather = [
        gpu("0,2,0", block(1, 1, "s o0 o0 1", "r o1 o1 1")),
        gpu("0,2,0", block(0, 0, "s o1 o1 1", "r o0 o0 1")),
    ]
    weft.verify(from_msccl(msccl("allgather", 2, gather, inplace=1, outofplace=0)))
    spread = [gpu("1,0,0", block(1, -1, "s i0 i0 1")), gpu("1,0,0", block(-1, 0, "r i0 i0 1"))]
    weft.verify(from_msccl(msccl("broadcast", 1, spread, inplace=1, outofplace=0)))


@pytest.mark.parametrize("root", [0, 1])
def test_the_root_is_the_rank_from_which_it_is_correct(root):
    ends = block(1 - root, -1, "s i0 i0 1"), block(-1, root, "r o0 o0 1")
    local = block(-1, -1, "cpy i0 o0 1")
    gpus = [gpu("1,1,0", ends[0], local), gpu("1,1,0", ends[1])]
    content = msccl("broadcast", 1, gpus[:: 1 - 2 * root])
    assert from_msccl(content).collective.root == root


def test_steps_of_several_chunks_are_one_message():
    both = [
        gpu("2,4,0", block(1, 1, "s i0 i0 2", "r o2 o2 2"), block(-1, -1, "cpy i0 o0 2")),
        gpu("2,4,0", block(0, 0, "s i0 i0 2", "r o0 o0 2"), block(-1, -1, "cpy i0 o2 2")),
    ]
    schedule = from_msccl(msccl("allgather", 4, both))
    weft.verify(schedule)
    assert schedule.messages == 2
    assert len(schedule) == 8


def test_a_wrong_program_is_a_wrong_schedule():
    content = pair().replace(b'type="cpy"', b'type="re"', 1)
    with pytest.raises(WrongSchedule, match="addend is written"):
        weft.verify(from_msccl(content))


def test_names_are_made_plain():
    head = pair().replace(b'name="mine"', 'name="&lt;mine&gt; é__"'.encode())
    assert from_msccl(head).name == "mine"


def test_blocks_that_wait_for_each_other():
    """Each of two gpus receives before it sends."""
    gpus = [
        gpu("1,2,0", block(1 - g, 1 - g, f"r o{1 - g} o{1 - g} 1", "s i0 i0 1")) for g in (0, 1)
    ]
    with pytest.raises(
        BadInput, match="steps wait for each other: step 0 of block 0 of gpu 0"
    ) as e:
        from_msccl(msccl("allgather", 2, gpus))
    assert "\n" not in str(e.value)


@pytest.mark.parametrize(("protocol", "runs"), [("Simple", False), ("LL", True), ("LL128", True)])
def test_more_on_the_way_than_a_connection_holds(protocol, runs):
    """Both gpus send three times before they receive: two places are too few."""
    gpus = [
        gpu(
            "3,6,0",
            block(
                1 - g,
                1 - g,
                *(f"s i{k} i{k} 1" for k in range(3)),
                *(f"r o{3 - 3 * g + k} o{3 - 3 * g + k} 1" for k in range(3)),
            ),
            block(-1, -1, f"cpy i0 o{3 * g} 3"),
        )
        for g in (0, 1)
    ]
    content = msccl("allgather", 6, gpus, proto=protocol)
    collective = weft.allgather(2)
    if runs:
        weft.verify(from_msccl(content))
        run(content, collective, Random(0), in_place=False)
    else:
        with pytest.raises(BadInput, match="steps wait for each other"):
            from_msccl(content)
        with pytest.raises(Stuck):
            run(content, collective, Random(0), in_place=False)


def passed_on(waits: str) -> bytes:
    """Rank 1's sum is sent on by another block, with and without waiting for it."""
    told = " told" if waits else ""
    return msccl(
        "allreduce",
        1,
        [
            gpu("1,1,0", block(1, -1, "s i0 i0 1"), block(-1, 1, "r o0 o0 1")),
            gpu(
                "1,1,0",
                block(-1, 0, f"rrc i0 o0 1{told}"),
                block(0, -1, f"s o0 o0 1{waits}"),
            ),
        ],
    )


def test_two_blocks_at_one_chunk_must_be_ordered():
    weft.verify(from_msccl(passed_on(" waits=0:0")))
    with pytest.raises(BadInput, match="touch o0 of gpu 1, and nothing orders them: make one"):
        from_msccl(passed_on(""))


def test_no_search_for_what_orders_two_blocks_is_free(monkeypatch):
    """Nor one that finds it: many long ones would take hours."""
    monkeypatch.setattr(threads, "MOST_SEARCHED", 0)
    with pytest.raises(BadInput, match="more than 0 steps to see what orders the steps"):
        from_msccl(passed_on(" waits=0:0"))


NUMBERS = re.compile(rb'(?:off|cnt|depid|deps|hasdep|chan|send|recv)="([^"]*)"')
TYPES = re.compile(rb'type="([^"]*)"')
EXPORTED = [
    to_msccl(weft.classic.ring_allreduce(weft.allreduce(3)), "rccl"),
    to_msccl(weft.classic.recursive_doubling_allreduce(weft.allreduce(4)), "msccl"),
    to_msccl(weft.classic.pairwise_alltoall(weft.alltoall(3)), "rccl"),
    to_msccl(weft.classic.bruck_allgather(weft.allgather(4)), "rccl", Wanted("LL")),
]


@given(st.sampled_from(EXPORTED), st.data())
def test_a_spoilt_file_is_refused_or_still_does_what_it_says(content, data):
    """Replace a number or a type in some step; what passes the checks runs right on arrays."""
    if data.draw(st.integers(0, 3)):
        places, values = NUMBERS, [b"-1", b"0", b"1", b"2", b"3", b"4"]
    else:
        places, values = TYPES, [kind.encode() for kind in ACTIONS]
    found = [match.span(1) for match in places.finditer(content)]
    start, end = data.draw(st.sampled_from(found))
    value = data.draw(st.sampled_from(values))
    spoilt = content[:start] + value + content[end:]
    try:
        schedule = from_msccl(spoilt)
        weft.verify(schedule)
    except WeftError:
        return
    c = schedule.collective
    program = read.read_program(spoilt)
    cut = program.chunks // (c.ranks if c.kind in {Kind.ALLGATHER, Kind.ALLTOALL} else 1)
    want = expected(c.kind, c.ranks, c.root or 0, lambda _: cut * WIDTH)
    for seed in range(3):
        got = run(spoilt, c, Random(seed), in_place=not program.out_of_place)
        for at, wanted in want.items():
            np.testing.assert_array_equal(got[at], wanted)


def test_most_spoilt_files_are_refused():
    """Else the test above would say nothing."""
    content, refused, draw = EXPORTED[0], 0, Random(1)
    places = [m.span(1) for m in re.finditer(rb'(?:srcoff|dstoff|type|send)="([^"]*)"', content)]
    for start, end in draw.sample(places, 40):
        spoilt = content[:start] + (b"2" if content[start:end] != b"2" else b"1") + content[end:]
        try:
            weft.verify(from_msccl(spoilt))
        except WeftError:
            refused += 1
    assert refused >= 25
