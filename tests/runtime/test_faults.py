"""Whatever becomes of one rank, the others end, and say whom they wait for; see also test_wire."""

from __future__ import annotations

import re
import signal

import pytest

from runtime import programs
from runtime.job import outcomes, said

STALLED = (
    r"Stalled: rank (\d) cannot finish (?:ring|recursive doubling): (.*), and it needs rank (\d) "
    r"for transfer \d+, .*, segment \d+ of \d+: see what rank \3 says"
)
OVER = (
    r"BadInput: rank (\d) cannot run ring: "
    "a call of this group has failed, or the group was left"
)


@pytest.mark.parametrize("how", ["is killed", "leaves"])
def test_the_others_name_the_one_that_has_gone(how):
    code, _ = (all_of_them := outcomes(programs.one_ends, 3, how))[1]
    assert code == (-signal.SIGKILL if how == "is killed" else 0)
    for rank in (0, 2):
        stalled, again = all_of_them[rank].said
        match = re.fullmatch(STALLED, stalled)
        assert match, stalled
        assert match[1] == str(rank)
        assert match[2] == f"rank {match[3]} has gone"
        assert re.fullmatch(OVER, again)


def test_a_group_that_was_left_is_over():
    assert re.fullmatch(OVER, outcomes(programs.one_ends, 2, "leaves")[1].said[0])


def test_a_rank_that_stops_is_waited_for_until_the_deadline():
    zero, one = outcomes(programs.one_stops, 2)
    assert one.code == -signal.SIGKILL  # by rank 0, in the end
    stalled, again = zero.said
    assert "there was no news for 0.2 s, and it needs rank 1" in stalled
    assert re.fullmatch(STALLED, stalled)
    assert re.fullmatch(OVER, again)


def test_a_rank_that_never_comes_is_waited_for_until_the_deadline():
    (word,) = said(programs.never_comes, 1)
    assert re.fullmatch(STALLED, word)
    assert "there was no news for 0.2 s, and it needs rank 1" in word


@pytest.mark.parametrize("what", ["size", "segments", "schedule"])
def test_ranks_that_run_different_things_are_refused(what):
    words = said(programs.unlike, 2, what)
    different = [w for w in words if re.search(r"BadInput: .*: rank \d runs something else", w)]
    assert different
    assert all(word in different or re.fullmatch(STALLED, word) for word in words)


def test_a_rank_that_runs_more_often_ends_when_the_others_have_gone():
    once, twice = said(programs.unlike, 2, "times")
    assert once == "finished"
    assert re.fullmatch(STALLED, twice)


def test_ctrl_c_ends_a_wait_and_the_group(tmp_path):
    interrupted, other = said(programs.interrupted, 2, str(tmp_path))
    assert interrupted[0].startswith("KeyboardInterrupt")
    assert re.fullmatch(OVER, interrupted[1])
    assert re.fullmatch(STALLED, other[0])


@pytest.mark.parametrize("ranks", [1, 2])
def test_ctrl_c_ends_what_never_waits(ranks):
    interrupted, *others = said(programs.interrupted_at_work, ranks)
    assert interrupted.startswith("KeyboardInterrupt")
    assert all(re.fullmatch(STALLED, other) for other in others)


def test_one_thread_at_a_time_runs_a_call_of_a_group(tmp_path):
    zero, one = said(programs.two_threads, 2, str(tmp_path))
    refused = "BadInput: rank 0 cannot run ring: another call of this group is running"
    assert zero == ["finished", refused, refused, "finished"]
    assert one == ["finished", "finished"]


def test_a_rank_lives_as_long_as_its_process():
    """Not less: neither a second join, nor a child, nor a closed descriptor ends it."""
    assert said(programs.still_there, 2) == ["finished", "finished"]
