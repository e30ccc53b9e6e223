"""Segment sizes found by trying are the fastest of those that were tried, on all ranks alike."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runtime import programs
from runtime.job import said
from weft.runtime.tuning import Miad

RATES: dict[str, Callable[[float], float]] = {
    "rises": lambda size: size,
    "falls": lambda size: -size,
    "is flat": lambda _: 1.0,
    "has a peak": lambda size: -abs(size - 50),
    "has a peak between": lambda size: -abs(size - 47.5),
}


@pytest.mark.parametrize("shape", RATES)
@pytest.mark.parametrize("most", [1, 10, 64, 160, 1000])
def test_the_best_that_was_tried_is_settled_on(shape, most):
    policy = Miad(10, most)
    tried = {}
    while not policy.settled:
        assert 1 <= policy.size <= most
        tried[policy.size] = rate = RATES[shape](policy.size) + 2000.0
        policy.observe(rate)
    assert tried[policy.size] == max(tried.values())
    assert len(tried) < 110


def test_a_peak_is_found_to_the_step():
    policy = Miad(10, 1000)
    while not policy.settled:
        policy.observe(RATES["has a peak"](policy.size) + 2000.0)
    assert policy.size == 50


@pytest.mark.parametrize("ranks", [1, 3])
def test_all_ranks_agree_on_a_size_and_end_right(ranks):
    segments, *others = [words[0] for words in said(programs.tuned, ranks)]
    assert set(others) <= {segments}
