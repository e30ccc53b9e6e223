"""Engine, lowering and moves do what a list means, whatever the times and the faults."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.tree

# In the words of `show`; causes are an arrival, room, or a message.
MAY_HAPPEN = [
    ", then message",
    "is slot 0",
    "until never: factor 0",
    "dies at",
    "finished: never",
    "messages of nothing are sent too",
    *(f"{reason}," for reason in ("deadline", "peer gone")),
    *(f"cause {cause}\n" for cause in (-1, -2, -3, 1)),
]


def test_random_runs_end_right(world):
    """No deadlock, no wrong bits, and each fault ends in an error in time; see world.cpp."""
    assert list(world.failures(0, 5_000)) == []


@pytest.mark.slow
def test_many_random_runs_end_right(world):
    assert list(world.failures(1_000_000, 100_000)) == []


def test_a_seed_says_all_of_a_run(world):
    assert "finished: " in world.show(7)
    assert world.show(7) == world.show(7)


def test_random_runs_meet_all_that_can_happen(world):
    shown = world.show(0, 1_000)
    assert [what for what in MAY_HAPPEN if what not in shown] == []
