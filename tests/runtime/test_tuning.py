"""Segment sizes found by trying are the fastest of those that were tried, on all ranks alike."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from math import exp, inf, log, nan

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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

limits = st.tuples(st.integers(1, 64), st.integers(1, 4096))


def search(policy: Miad, rate_of: Callable[[int], float]) -> list[int]:
    """All sizes that are tried."""
    tried: list[int] = []
    while not policy.settled:
        tried.append(policy.size)
        policy.observe(rate_of(policy.size))
    return tried


@given(limits, st.lists(st.floats(0, 1e12), min_size=1, max_size=30))
@example((4, 64), [inf, nan])
@example((4, 64), [0.0])
def test_it_settles_whatever_the_rates(limit, rates):
    step, most = limit
    policy, number = Miad(step, most), count()
    tried = search(policy, lambda _: rates[next(number) % len(rates)])
    assert len(tried) <= most.bit_length() + most // step + 2
    assert all(min(step, most) <= size <= most for size in [*tried, policy.size])


@given(limits, st.floats(0, 9), st.floats(0.1, 3))
def test_where_rates_rise_to_a_peak_and_fall_it_ends_within_a_step_of_it(limit, peak, width):
    step, most = limit

    def rate_of(size: int) -> float:
        return exp(-(((log(size) - peak) / width) ** 2) / 1000)

    policy = Miad(step, most)
    search(policy, rate_of)
    top = max(range(min(step, most), most + 1), key=rate_of)
    assert abs(policy.size - top) < step or policy.size == min(step, most) >= top


def test_it_doubles_while_that_is_faster_then_steps_back_while_that_is_no_slower():
    rates = {10: 1.0, 20: 2.0, 40: 3.0, 80: 2.0, 70: 2.5, 60: 3.5, 50: 3.2}
    policy = Miad(10, 1000)
    assert search(policy, rates.__getitem__) == [10, 20, 40, 80, 70, 60, 50]
    assert policy.size == 60


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
