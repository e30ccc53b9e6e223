"""Files that cannot be understood, or that a runtime would not do right."""

from __future__ import annotations

import re

import pytest

import weft
from formats.msccl.files import block, gpu, msccl, pair
from weft.errors import BadInput
from weft.formats.msccl import read, to_schedule
from weft.formats.msccl.file import fitness, from_msccl, to_msccl

BODY = [gpu("1,2,0", block(1, 1, "s i0 i0 1", "r o1 o1 1")), gpu("1,2,0", block(0, 0))]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"<algo", "line 1: not well-formed XML: unclosed token"),
        (b"<algo><gpu></algo>", "line 1: not well-formed XML: mismatched tag"),
        (b"<html/>", "line 1: <html> is not how an MSCCL file begins, which is <algo>: give one"),
        (
            b"<algo><copy/></algo>",
            "line 1: <copy> is an element that the runtimes skip: write steps only",
        ),
        (b"<algo><tb/></algo>", "line 1: <tb> does not stand in <gpu>: move it there"),
        (b"<algo/>", "line 1: <algo> lacks ngpus: add it"),
        (
            b'<!DOCTYPE a [<!ENTITY a "b">]>\n<algo/>',
            "line 1: declares a document type: leave that out",
        ),
        (
            pair().replace(b'ngpus="2"', b'ngpus="3"'),
            "line 1: <algo> has 2 of 3 elements: id 2 is missing",
        ),
        (
            pair().replace(b'gpu id="1"', b'gpu id="0"'),
            "line 11: <gpu> has the id 0 of line 2: give it once",
        ),
        (pair().replace(b'ngpus="2"', b'ngpus="two"'), "has ngpus='two': give 1 to 65536"),
        (
            pair().replace(b"allgather", b"custom"),
            "line 1: <algo> is for coll='custom', which has no meaning here: there are allgather, ",
        ),
        (
            pair().replace(b'type="s"', b'type="ra"', 1),
            "line 4: <step> has type='ra': there are s, r, rcs, rrc, rrs, rrcs, cpy, re, nop",
        ),
        (
            pair().replace(b'step s="1"', b'step s="2"', 1),
            "line 5: <step> has s='2': it is number 1 of its block",
        ),
        (
            pair().replace(b'srcbuf="i"', b'srcbuf="x"', 1),
            "line 4: <step> has srcbuf='x': give i, o or s",
        ),
        (
            pair().replace(b'depid="-1"', b'depid="1"', 1),
            "line 4: <step> has depid=1 and deps=-1: give both, or -1 for both",
        ),
        (
            pair().replace(b'nchunksperloop="2"', b'nchunksperloop="3"'),
            "nchunksperloop=3 does not divide by the 2 blocks of allgather over 2 gpus",
        ),
        (
            pair().replace(b'o_chunks="2"', b'o_chunks="4"', 1),
            "line 2: i_chunks=1 and o_chunks=4, but nchunksperloop=2: it counts the larger of them",
        ),
        (
            pair().replace(b'dstoff="1"', b'dstoff="2"', 1),
            (
                "step 1 of block 0 of gpu 0 (line 5) takes chunks 2 to 2 of o, which has 2 in "
                "allgather over 2 ranks: stay within"
            ),
        ),
        (
            pair().replace(b'depid="-1" deps="-1"', b'depid="7" deps="0"', 1),
            "step 0 of block 0 of gpu 0 (line 4) waits for step 0 of block 7, which is not there",
        ),
        (
            pair().replace(b'depid="-1" deps="-1"', b'depid="1" deps="0"', 1),
            (
                "step 0 of block 0 of gpu 0 (line 4) waits for a step that does not say so: give "
                'hasdep="1" to step 0 of block 1 of gpu 0 (line 8)'
            ),
        ),
        (
            pair().replace(b'depid="-1" deps="-1"', b'depid="0" deps="1"', 1),
            "step 0 of block 0 of gpu 0 (line 4) waits for a later step of its own block",
        ),
        (
            pair().replace(b'send="1"', b'send="-1"'),
            "step 0 of block 0 of gpu 0 (line 4) is 's', but its block has no peer to send to",
        ),
        (
            msccl("allgather", 2, BODY),
            (
                "gpu 0 has 1 send to gpu 1 on channel 0, which has 0 receives: step 0 of "
                "block 0 of gpu 0 (line 4) is alone"
            ),
        ),
        (
            pair().replace(b'cnt="1"', b'cnt="2"', 1),
            (
                "step 0 of block 0 of gpu 0 (line 4) sends 2 chunks to step 1 of block 0 of gpu 1 "
                "(line 14), which takes 1: give both one cnt"
            ),
        ),
        (
            pair().replace(b'tb id="1" send="-1"', b'tb id="1" send="1"', 1),
            (
                "block 1 of gpu 0 (line 7) has the same peer and channel as block 0: a connection "
                "has one owner at each end"
            ),
        ),
    ],
)
def test_what_is_refused_and_where(content, problem):
    with pytest.raises(BadInput, match=re.escape(problem)):
        from_msccl(content)


@pytest.mark.parametrize("encoding", ["klingon", "gb2312"])
def test_a_file_is_utf8_whatever_it_says(encoding):
    """Some names of encodings would make the parser raise errors of its own."""
    head = f'<?xml version="1.0" encoding="{encoding}"?>\n'.encode()
    assert from_msccl(head + pair()) == from_msccl(pair())
    with pytest.raises(BadInput, match="line 2: not well-formed XML"):
        from_msccl(head + b"<algo \xff")


def test_steps_that_do_nothing_a_million_times_are_refused():
    """A file of a kilobyte could take gigabytes, though no step goes beyond a buffer."""
    idle = block(-1, -1, *[f"nop i0 i0 {1 << 20}"] * 3)
    with pytest.raises(BadInput, match="chunks that all steps take is 3145728: give 0 to 2097152"):
        from_msccl(msccl("allreduce", 1, [gpu("1,1,0", idle)]))


def test_more_roots_than_there_is_time_to_try_are_refused(monkeypatch):
    send, receive = block(1, -1, "s i0 i0 1"), block(-1, 0, "r o0 o0 1")
    content = msccl("broadcast", 1, [gpu("1,1,0", send), gpu("1,1,0", receive)])
    assert from_msccl(content).collective.root == 0
    monkeypatch.setattr(to_schedule, "MOST_TRIED", 7)
    with pytest.raises(BadInput, match="times the roots that may be meant, is 8: give 0 to 7"):
        from_msccl(content)


def test_too_many_elements_are_refused_while_they_are_read(monkeypatch):
    monkeypatch.setattr(read, "MOST_ELEMENTS", 10)
    with pytest.raises(BadInput, match="line 14: <step> is one of more than 10 elements"):
        from_msccl(pair())


def test_more_attributes_than_memory_is_meant_for_are_refused(monkeypatch):
    monkeypatch.setattr(read, "MOST_VALUES", 10)
    with pytest.raises(BadInput, match=r"the number of values is \d+: give 0 to 10"):
        from_msccl(pair())


def test_a_comment_full_of_tags_is_read_once():
    """A search from each of them would take hours."""
    comment = b"<!-- " + b"<a " * 300_000 + b"-->\n"
    assert fitness(comment + pair()) == fitness(pair())


def test_what_each_runtime_does_not_take():
    content = to_msccl(weft.classic.ring_allreduce(weft.allreduce(2)), "rccl")
    assert fitness(content) == {
        "msccl-executor": [],
        "msccl": ["it is for calls in place and out of place: there a file is for one of them"],
        "rccl": [],
    }
    old = content.replace(b' outofplace="1" minBytes="0" maxBytes="0"', b"")
    assert fitness(old)["msccl-executor"] == ["<algo> lacks maxBytes, minBytes, outofplace"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b"<algo", b'<?xml version="1.0"?>\n<algo', "line 1: an XML declaration"),
        (b'<algo name="mine"', b'<algo  name="mine"', "line 1: more than a space between"),
        (b'<algo name="mine"', b"<algo name='mine'", "line 1: a value in single quotes"),
        (b"<step", b"\t<step", "line 4: a tab"),
        (b'name="mine"', b'name="' + b"m" * 256 + b'"', "line 1: a value of more than 255 letters"),
        (b'nchannels="1"', b'nchannels="0"', "channel 0 is used, of nchannels=0 and at most 32"),
        (b'proto="Simple"', b'proto="Fast"', "<algo> has proto='Fast'"),
        (b"allgather", b"reduce_scatter", "it is 'reducescatter' there"),
    ],
)
def test_what_their_parsers_do_not_read(old, new, problem):
    """The file is read here all the same, if it is well-formed."""
    content = pair().replace(old, new, 1)
    if b"nchannels=" in new:
        content = content.replace(b'nchannels="0"', b'nchannels="1"').replace(
            b'chan="0"', b'chan="1"'
        )
        problem = "channel 1 is used, of nchannels=1 and at most 32"
    assert any(problem in each for each in fitness(content)["msccl-executor"])


def test_limits_of_blocks_steps_and_counts():
    many = "".join(f" {k}" for k in range(65)).split()
    steps = [f"s i{k} i{k} 1" for k in many], [f"r o{k} o{k} 1" for k in many]
    wide = msccl(
        "broadcast",
        65,
        [gpu("65,65,0", block(1, -1, *steps[0])), gpu("0,65,0", block(-1, 0, *steps[1]))],
    )
    assert fitness(wide)["rccl"] == [
        "line 2: gpu 0 has 65 steps in a block, the most are 64",
        "line 71: gpu 1 has 65 steps in a block, the most are 64",
    ]
    assert fitness(wide)["msccl"] == []
    large = msccl("broadcast", 72, [gpu("72,72,0", block(-1, -1, "cpy i0 o0 72"))])
    assert fitness(large)["msccl"] == [
        "step 0 of block 0 of gpu 0 (line 4) takes 72 chunks, the most are 71"
    ]
    nop = msccl(
        "broadcast",
        1,
        [
            gpu(
                "1,1,0",
                block(-1, -1, "cpy i0 o0 1 told"),
                block(-1, -1, "nop i0 i0 0 waits=0:0", "cpy i0 o0 1"),
            )
        ],
    )
    assert fitness(nop)["msccl"] == [
        (
            "step 0 of block 1 of gpu 0 (line 7) waits in vain: the step after a nop has to wait "
            "for a step too"
        )
    ]


ALONE = block(-1, -1, "cpy i0 o0 1")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (
            msccl("broadcast", 1, [gpu("1,1,0", ALONE)], minBytes=2, maxBytes=1),
            "minBytes=2 is more than maxBytes=1",
        ),
        (
            msccl("broadcast", 1, [gpu("1,1,0", block(0, -1))]),
            "block 0 of gpu 0 (line 3) has its own gpu as peer",
        ),
        (
            msccl("broadcast", 2, [gpu("1,2,0", block(-1, -1))]),
            "line 2: gpu 0 has i_chunks=1, of nchunksperloop=2 it has none or 2",
        ),
        (
            msccl("reducescatter", 2, [gpu("2,2,0"), gpu("2,1,0")]),
            "line 2: gpu 0 has o_chunks=2, of nchunksperloop=2 it has none or 1",
        ),
        (
            msccl("broadcast", 1, [gpu("1,1,0", block(-1, -1, "nop i0 i0 0 told"), ALONE)]),
            "step 0 of block 0 of gpu 0 (line 4) is waited for, but a nop tells nobody",
        ),
    ],
)
def test_what_their_checks_refuse(content, problem):
    for complaints in fitness(content).values():
        assert problem in complaints


def test_what_stands_in_comments_is_no_fault():
    commented = b"<!-- a\ttab, an  <a  b='c'\n -->\n" + pair()
    assert fitness(commented)["rccl"] == []
    assert fitness(commented.replace(b"<step", b"\t<step", 1))["rccl"] == [
        "line 6: a tab: its parser does not read that"
    ]


def test_a_name_with_a_bracket_hides_no_attributes():
    assert fitness(pair().replace(b'"mine"', b'"a>b coll=1"'))["rccl"] == []
