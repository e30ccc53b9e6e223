"""Algorithms that may be built in several ways: by radix, by rows, by size of a group."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from synthesis.promises import (
    bruck_messages,
    bruck_sent,
    composite,
    hierarchical_messages,
    hierarchical_sent,
)
from weft import classic
from weft.errors import BadInput
from weft.schedule.traffic import blocks_sent

grids = st.tuples(st.integers(2, 6), st.integers(2, 6))


@given(n=st.integers(1, 40), radix=st.integers(2, 45))
def test_bruck_keeps_its_promise_with_any_radix(n, radix):
    schedule = classic.bruck_alltoall(weft.alltoallv(n), radix)
    weft.verify(schedule)
    assert schedule.messages == bruck_messages(n, radix)
    assert blocks_sent(schedule) == bruck_sent(n, radix)


@given(n=st.integers(1, 24))
def test_bruck_with_a_radix_above_all_offsets_sends_directly(n):
    schedule = classic.bruck_alltoall(weft.alltoall(n), max(2, n))
    assert schedule.messages == n * (n - 1)
    assert blocks_sent(schedule) == [n - 1] * n


@given(n=st.integers(1, 40), group=st.integers(1, 40))
def test_hierarchical_keeps_its_promise_with_any_groups(n, group):
    group = min(group, n)
    schedule = classic.hierarchical_allreduce(weft.allreduce(n), group)
    weft.verify(schedule)
    assert schedule.messages == hierarchical_messages(n, group)
    assert blocks_sent(schedule) == hierarchical_sent(n, group)


@given(grids)
def test_grids_keep_their_promises_with_any_rows(sides):
    rows, columns = sides
    n = rows * columns
    allreduce = classic.grid_allreduce(weft.allreduce(n), rows)
    alltoall = classic.grid_alltoall(weft.alltoallv(n), rows)
    for schedule in (allreduce, alltoall):
        weft.verify(schedule)
    assert allreduce.messages == 2 * alltoall.messages == 2 * n * (rows + columns - 2)
    assert blocks_sent(allreduce) == [Fraction(2 * (n - 1), n)] * n
    assert blocks_sent(alltoall) == [2 * n - rows - columns] * n


@given(grids)
def test_in_a_grid_ranks_talk_to_their_row_and_column_only(sides):
    rows, columns = sides
    n = rows * columns
    for schedule in (
        classic.grid_allreduce(weft.allreduce(n), rows),
        classic.grid_alltoall(weft.alltoall(n), rows),
    ):
        src, dst = schedule.transfers["src"], schedule.transfers["dst"]
        assert ((src // columns == dst // columns) | (src % columns == dst % columns)).all()


@given(n=st.integers(4, 64).filter(composite))
def test_without_rows_a_grid_is_as_square_as_it_can_be(n):
    most = max(d for d in range(1, n) if n % d == 0 and d * d <= n)
    assert classic.grid_alltoall(weft.alltoall(n)) == classic.grid_alltoall(weft.alltoall(n), most)


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda: classic.bruck_alltoall(weft.alltoall(4), 1), "the radix is 1: give 2 to"),
        (lambda: classic.grid_allreduce(weft.allreduce(8), 1), "number of rows is 1: give 2 to 4"),
        (lambda: classic.grid_alltoall(weft.alltoall(8), 8), "number of rows is 8: give 2 to 4"),
        (lambda: classic.grid_alltoall(weft.alltoall(8), 3), "in 3 rows: give a divisor of 8"),
        (
            lambda: classic.grid_allreduce(weft.allreduce(7), 7),
            "grid over 7 ranks: .*take 8, or another algorithm, such as ring",
        ),
        (lambda: classic.hierarchical_allreduce(weft.allreduce(4), 0), "group is 0: give 1 to 4"),
        (lambda: classic.hierarchical_allreduce(weft.allreduce(4), 5), "group is 5: give 1 to 4"),
    ],
)
def test_parameters_out_of_range_are_refused(build, why):
    with pytest.raises(BadInput, match=why):
        build()
