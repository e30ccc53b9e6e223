"""Schedules run between processes leave what the collective promises, to the bit."""

from __future__ import annotations

import pytest

from runtime import programs
from runtime.job import said
from runtime.programs import LARGE


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_every_schedule_ends_right(ranks):
    counts = said(programs.every_schedule, ranks, [0, 1, 7, 1000], 10)
    assert set(counts) == {counts[0]}
    assert counts[0] > 90


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4])
def test_every_schedule_ends_right_for_large_blocks_and_for_more_draws(ranks):
    assert min(said(programs.every_schedule, ranks, [300, LARGE + 1], 60)) > 100


def test_calls_of_a_group_may_take_turns():
    for seen in said(programs.interleaved, 3):
        turns = [100 * third + n for third in range(3) for n in range(3)]
        assert [row[0] for row in seen] == [3 * (t - (t % 3 == 1)) + 3 for t in turns]
        gathered = [[1000 * rank + t - (t % 3 == 0) for rank in range(3)] for t in turns]
        assert [row[3:] for row in seen[1:]] == gathered[1:]


@pytest.mark.parametrize("ranks", [2, 4])
def test_bits_do_not_depend_on_the_rank_nor_on_the_segments(ranks):
    """Each algorithm has one result."""
    everywhere = said(programs.bits, ranks)
    for rows in zip(*everywhere, strict=True):
        assert len({result for row in rows for result in row}) == 1
