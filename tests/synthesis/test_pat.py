"""What PAT promises beyond its counts: the size of messages, the order, the scratch."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from synthesis.moves import moves
from weft.errors import BadInput
from weft.kinds import Ints
from weft.schedule.schedule import Schedule
from weft.synthesis.classic.pat import pat_allgather, pat_reducescatter

ranks = st.integers(1, 40)
limits = st.none() | st.integers(1, 50)


@given(n=ranks, most=limits)
def test_no_message_has_more_blocks_than_allowed(n, most):
    for schedule in both(n, most):
        weft.verify(schedule)
        for _, message in groupby(moves(schedule).tolist(), key=lambda row: row[:2]):
            assert len(list(message)) <= (most or n)


@given(n=ranks, most=limits)
def test_as_many_trees_as_fit_a_message_are_walked_side_by_side(n, most):
    depth = (n - 1).bit_length()
    spread = max(0, min((most or n).bit_length() - 1, depth - 1))
    steps = spread + min(n, 1 << (depth - spread)) - 1
    assert [schedule.messages for schedule in both(n, most)] == [n * steps] * 2


@given(n=ranks, most=limits)
def test_the_reducescatter_is_the_allgather_backwards(n, most):
    there, back = map(moves, both(n, most))
    assert np.array_equal(np.unique(there, axis=0), np.unique(back[:, [1, 0, 2]], axis=0))
    assert steps_of(there) == [n - distance for distance in reversed(steps_of(back))]


@given(n=ranks)
def test_distances_halve_when_nothing_limits_messages(n):
    there = moves(pat_allgather(weft.allgather(n)))
    assert steps_of(there) == [1 << bit for bit in reversed(range((n - 1).bit_length()))]


@given(n=ranks, most=st.integers(1, 50))
def test_scratch_is_a_slot_per_tree_and_level(n, most):
    trees = min(most, n)
    assert both(n, most)[1].scratch <= trees * max(1, (-(-n // trees)).bit_length())


def test_a_message_of_no_blocks_is_refused():
    for build in (lambda: pat_allgather(weft.allgather(4), 0), lambda: both(4, -1)):
        with pytest.raises(BadInput, match="most blocks of a message is"):
            build()


def both(n: int, most: int | None) -> tuple[Schedule, Schedule]:
    return pat_allgather(weft.allgather(n), most), pat_reducescatter(weft.reducescatter(n), most)


def steps_of(rows: Ints) -> list[int]:
    """How far each message of rank 0 goes, in order; one step sends to one distance."""
    first = rows[rows[:, 0] == 0]
    return [distance for distance, _ in groupby(first[:, 1].tolist())]
