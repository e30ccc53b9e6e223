"""Schedules run between processes leave what the collective promises, to the bit."""

from __future__ import annotations

import os

import numpy as np
import pytest

import weft
from runtime import programs
from runtime.job import said
from runtime.programs import LARGE
from weft.runtime.call import Call
from weft.runtime.group import share_memory


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_every_schedule_ends_right(ranks):
    counts = said(programs.every_schedule, ranks, [0, 1, 7, 1000], 10)
    assert set(counts) == {counts[0]}
    assert counts[0] > 90


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4])
def test_every_schedule_ends_right_for_large_blocks_and_for_more_draws(ranks):
    assert min(said(programs.every_schedule, ranks, [300, LARGE + 1], 60)) > 100


def test_a_group_and_a_call_say_what_they_are():
    memory = share_memory(2)
    with weft.Group(memory, 0, 2) as group:
        blocks = [np.zeros(4, np.float32) for _ in range(2)]
        call = group.prepare(weft.classic.ring_allreduce(weft.allreduce(2)), blocks[:1], blocks[1:])
        assert repr(group) == "<Group rank 0 of 2>"
        assert repr(call) == (
            "<Call ring: allreduce over 2 ranks, 2 pieces a block, rank 0, 1 segment>"
        )
    os.close(memory)


def test_what_the_core_calls_is_not_for_users():
    assert not [name for name in vars(Call) if not name.startswith("_")]
    assert {name for name in vars(weft.Group) if not name.startswith("_")} == {
        "join",
        "leave",
        "prepare",
    }


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
