from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from twins.draw import any_schedule, good_schedule
from weft.errors import BadInput, WeftError
from weft.schedule.text import MOST_LINE, format_text, parse_place, parse_text


def test_a_schedule_reads_like_this():
    schedule = parse_text(
        """
        # Comments and empty lines are for people.
        mine: allreduce ranks=2 cut=2

        0.in0 -> 1.out0 + in0           # a sum
        1.in1 -> 0.out1+in1
        1.out0->0.out0, 1.in1 -> 0.tmp0
        0.out1 -> 1.out1 via 2
        """
    )
    assert schedule.name == "mine"
    assert schedule.collective == weft.allreduce(2).cut(2)
    assert schedule.transfers.tolist() == [
        (0, 1, 0, 2, 0, -1, 0),
        (1, 0, 1, 3, 1, -1, 0),
        (1, 0, 2, 2, -1, 7, 0),
        (1, 0, 1, 4, -1, 7, 0),
        (0, 1, 3, 3, -1, -1, 2),
    ]
    assert schedule.scratch == 1


@pytest.mark.parametrize(
    ("header", "collective"),
    [
        ("broadcast ranks=4 root=2", weft.broadcast(4, root=2)),
        ("broadcast ranks=4", weft.broadcast(4)),
        ("allgatherv ranks=4 cut=3,2", weft.allgatherv(4).cut([3, 2])),
        ("gather ranks=2 cut=3,2;1", weft.gather(2).cut_blocks([[3, 2], [1]])),
    ],
)
def test_headers(header, collective):
    assert parse_text(f"x: {header}").collective == collective
    assert parse_text(f"torus:2x2 v1.0: {header}").name == "torus:2x2 v1.0"


def test_modes_and_scratch():
    assert not parse_text("x: allreduce ranks=2 modes=in").out_of_place
    assert not parse_text("x: allreduce ranks=2 modes=out").in_place
    assert parse_text("x: allreduce ranks=2 scratch=3").scratch == 3


@given(st.integers(0, 2**48), st.booleans())
def test_text_and_back_is_the_same_schedule(seed, good):
    """Message numbers may differ, as they do not matter; nothing else does."""
    draw = Random(seed)
    schedule = good_schedule(draw) if good else any_schedule(draw)
    try:
        text = format_text(schedule)
        again = parse_text(text)
    except BadInput:
        assert not good  # Numbers out of range have no text.
        return
    assert format_text(again) == text
    assert again.collective == schedule.collective
    assert again.scratch == schedule.scratch
    columns = [name for name in schedule.transfers.dtype.names or () if name != "message"]
    assert again.transfers[columns].tolist() == schedule.transfers[columns].tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text is empty"),
        ("# only words", "the text is empty"),
        ("0.in0 -> 1.out0", "line 1: .* is not a header"),
        ("x: allreduce", "line 1: ranks= is missing"),
        ("\nx: bcast ranks=2", "line 2: 'bcast' is not a collective"),
        ("x: allreduce ranks=two", "line 1: 'two' is not a whole number"),
        ("x: allreduce ranks=-2", "'-2' is not a whole number"),
        ("x: allreduce ranks=99999999999", "at most 9 digits"),
        ("x: allreduce ranks=2 ranks=3", "says one thing twice"),
        ("x: allreduce ranks=2 modes", "is not a header"),
        ("x:a" + " a=:a" * 50_000 + " !", "is not a header"),
        ("x: allreduce ranks=2\n" + "," * (MOST_LINE + 1), "length of the line"),
        ("x: allreduce ranks=2 color=red", "color=: the options are"),
        ("x: allreduce ranks=2 cut=0", "0 pieces"),
        ("x: allreduce ranks=2 cut=1,,2", "'' is not a whole number"),
        ("x: allreduce ranks=2 cut=999999999", "999999999 pieces"),
        ("x: gather ranks=9 cut=" + 9 * "1048576;" + "1", "pieces of all blocks is 9437185: give"),
        ("x: allreduce ranks=2 modes=up", "modes=up: write modes=in"),
        ("x: allreduce ranks=2 modes=\x1b[31m", r"modes=\\x1b\[31m: write modes=in"),
        ("x: allreduce ranks=2 scratch=999999999", "slots"),
        ("x: allreduce ranks=2\n\n0.in0 > 1.out0", "line 3: .* is not a transfer"),
        ("x: allreduce ranks=2\n0.in0 -> 1.out0 + 0.in0", "line 2: .* is not a transfer"),
        ("x: allreduce ranks=2\n0.in0 -> 1.box0", "line 2: 'box0' is not a slot"),
        ("x: allreduce ranks=2\n0.in1 -> 1.out0", "in1 does not exist: .* has in0 to in0"),
        ("x: allreduce ranks=2\n0.in0 -> 1.out99999999999", "not a whole number"),
        ("x: allreduce ranks=2\n0.in٣ -> 1.out0", "line 2"),
    ],
)  # fmt: skip
def test_bad_text_is_refused_with_its_line(text, message):
    with pytest.raises(BadInput, match=message) as caught:
        parse_text(text)
    assert "\n" not in str(caught.value)


@given(st.text() | st.from_regex(r"x: allreduce ranks=[0-9]{1,3}( [a-z]+=\S+)?\n[0-9a-z.>+, \n-]*"))
def test_any_text_is_read_or_refused(text):
    try:
        parse_text(text)
    except WeftError as problem:
        assert "\n" not in str(problem)


def test_places():
    schedule = weft.classic.ring_allreduce(weft.allreduce(3))
    assert parse_place(schedule, "2.out1") == (2, 4)
    for text in ("2", "2.out3", "3.out0", "0.tmp0"):
        with pytest.raises(BadInput, match=r"not a place|does not exist"):
            parse_place(schedule, text)


def test_cuts_are_written_as_short_as_they_can_be():
    for cut in ("3", "1,2", "2;1,3"):
        text = f"x: allgather ranks=2 cut={cut}\n"
        assert format_text(parse_text(text)) == text
