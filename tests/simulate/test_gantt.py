from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from twins.machines import any_run
from weft import classic
from weft.simulate.conditions import Fault
from weft.simulate.gantt import LEAST_WIDTH, LEGEND, gantt_text
from weft.topology.zoo.generators import full, ring


def drawn(text: str) -> str:
    """As it is printed: a row begins after the margin."""
    return "\n".join(line[4:] for line in text.splitlines()[1:-1])


def test_a_broadcast_level_by_level():
    trace = weft.simulate(
        classic.binomial_broadcast(weft.broadcast(4)), full(4), 25_000, segments=1
    )
    assert gantt_text(trace, 48) == drawn("""
    rank 0  >>>>>>>>>>
    rank 1  ....................>>>>>>>>>>
    rank 2  ....................
    rank 3  ........................................
            0                                   4 us
    > sends
    + applies
    # both
    . waits
    x is gone
    """)


@pytest.mark.parametrize(
    ("fault", "chart"),
    [
        (
            "rank 1 dies at 2500ns",
            """
    rank 0  >>>>>>>>>>>>>>>..............>>>>>>>>>>>>>>>>......x
    rank 1  >>>>>>>>>>>>>>>..............>>>>>>>>xxxxxxxxxxxxxxx
    rank 2  >>>>>>>>>>>>>>>..............>>>>>>>>>>>>>>>>......x
            0                                             3.5 us
    > sends   + applies   # both   . waits   x is gone
    """,
        ),
        (
            "rank 1 stops at 1500ns for 3us",
            """
    rank 0  >>>>>....>>>>>>....>>>>>>.................>>>>>>
    rank 1  >>>>>.................>>>>>>>>>>>>>>>>..............
    rank 2  >>>>>....>>>>>>.................>>>>>>>>>>>
            0                                            10.5 us
    > sends   + applies   # both   . waits   x is gone
    """,
        ),
    ],
    ids=["dies", "pauses"],
)
def test_a_rank_that_something_befalls_and_those_that_wait_for_it(fault, chart):
    trace = weft.simulate(
        classic.ring_allreduce(weft.allreduce(3)),
        ring(3),
        75_000,
        segments=1,
        faults=[Fault.written(fault)],
    )
    assert gantt_text(trace, 60) == drawn(chart)


@given(st.integers(0, 2**40), st.integers(0, 120))
def test_no_line_is_longer_than_the_width(seed, width):
    lines = gantt_text(any_run(Random(seed)), width).splitlines()
    assert max(map(len, lines)) <= max(width, LEAST_WIDTH)


@pytest.mark.parametrize("ranks", [32, 33, 100])
def test_of_many_ranks_the_first_32_are_shown(ranks):
    trace = weft.simulate(classic.ring_allgather(weft.allgather(ranks)), ring(ranks), ranks * 1000)
    lines = gantt_text(trace).splitlines()
    rows = [line for line in lines if line.startswith("rank ")]
    assert len(rows) == 32
    rest = {32: [], 33: ["and 1 more rank"], 100: ["and 68 more ranks"]}
    assert [line for line in lines if line.startswith("and ")] == rest[ranks]


def test_a_run_of_no_time_is_an_empty_row():
    trace = weft.simulate(classic.ring_allreduce(weft.allreduce(1)), full(1), 8)
    row, axis, legend = gantt_text(trace, 60).splitlines()
    assert (row, axis.split(), legend) == ("rank 0", ["0", "0", "ps"], LEGEND)
