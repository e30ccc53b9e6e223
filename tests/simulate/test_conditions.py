"""What a run meets, as people write it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import BadInput
from weft.runtime.group import WINDOW as PLACES
from weft.simulate.conditions import LATEST, Conditions, Fault, Noise

MS = 10**9
seeds = st.integers(0, 2**40)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("rank 3 dies at 1ms", Fault(MS, rank=3, dies=True)),
        ("rank 3 stops at 1ms", Fault(MS, rank=3)),
        ("rank 3 stops at 1ms for 5ms", Fault(MS, 6 * MS, rank=3)),
        ("rank 0 slows 4x at 0s", Fault(0, rank=0, factor=4)),
        ("rank 0 slows 4x at 1.5us for 2ns", Fault(1_500_000, 1_502_000, rank=0, factor=4)),
        ("link 0->1 breaks at 1ms", Fault(MS, link=(0, 1))),
        ("link 0->12 breaks at 1ms for 5ms", Fault(MS, 6 * MS, link=(0, 12))),
        ("  link 0->1 slows 2x at 0s for 0s ", Fault(0, 0, link=(0, 1), factor=2)),
    ],
)
def test_faults_are_read(text, fault):
    assert Fault.written(text) == fault


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not a fault: write `rank 3` or `link 0->1`, then dies, stops, breaks"),
        ("rank 3", "is not a fault"),
        ("rank x dies at 1ms", "is not a fault"),
        ("rank -1 dies at 1ms", "is not a fault"),
        ("rank 3 dies", "is not a fault"),
        ("rank 3 slows at 1ms", "is not a fault"),
        ("link 0->1 dies at 1ms", "is not a fault"),
        ("link 0-1 breaks at 1ms", "is not a fault"),
        ("rank 3 dies at soon", "'soon' is not a time: write it with s, ms, us, ns or ps"),
        ("rank 3 dies at 1", "'1' is not a time"),
        ("rank 3 stops at 1ms for ever", "'ever' is not a time"),
        ("rank 3 dies at 1ms for 5ms", "only a rank dies, and for good"),
        ("rank 3 slows 2000000x at 1ms", "the factor of a fault is 2000000: give 0 to 1048576"),
        ("rank 3 dies at 99999999s", "the start of a fault is 99999999000000000000: give 0 to"),
        ("rank 3 stops at 1s for 99999999s", "the end of a fault is 100000000000000000000: give"),
        ("rank 3 dies at 1ms\nrank 4 dies at 1ms", "is not a fault"),
        ("rank ٣ dies at 1ms", "is not a fault"),
    ],
)
def test_what_is_no_fault_is_refused(text, message):
    with pytest.raises(BadInput, match=message) as problem:
        Fault.written(text)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"start": 0}, "a fault is of a rank or of a link: give one of them"),
        ({"start": 0, "rank": 1, "link": (0, 1)}, "give one of them"),
        ({"start": 0, "link": (0, 1), "dies": True}, "only a rank dies, and for good"),
        ({"start": 0, "rank": 1, "dies": True, "factor": 2}, "leave the end and the factor out"),
        ({"start": -1, "rank": 1}, "the start of a fault is -1: give 0"),
        ({"start": LATEST + 1, "rank": 1}, "the start of a fault is"),
        ({"start": 5, "end": 4, "rank": 1}, "the end of a fault is 4: give 5 to"),
        ({"start": 5, "rank": 1, "factor": -1}, "the factor of a fault is -1"),
        ({"start": 0.5, "rank": 1}, "the start of a fault is 0.5: give a whole number"),
    ],
)
def test_a_fault_checks_itself(fields, message):
    with pytest.raises(BadInput, match=message):
        Fault(**fields)


def test_noise_is_read():
    assert Noise.written("20ms/100ms", seed=7) == Noise(20 * MS, 100 * MS, 7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is no noise: write LONGEST/EVERY, as in 20ms/100ms"),
        ("20ms", "'20ms' is no noise"),
        ("20/100", "'20' is not a time"),
        ("1ms/1ms/1ms", "'1ms/1ms' is not a time"),
        ("0s/1ms", "the longest pause is 0: give 1 to"),
        ("1ms/0s", "the time between pauses is 0: give 1 to"),
        ("9999999s/1ms", "the longest pause is"),
    ],
)
def test_what_is_no_noise_is_refused(text, message):
    with pytest.raises(BadInput, match=message):
        Noise.written(text)


@given(seeds, st.integers(0, 99), st.integers(1, 50), st.integers(1, 50), st.integers(0, 2000))
def test_a_later_horizon_only_adds_pauses(seed, rank, longest, every, horizon):
    noise = Noise(longest, every, seed)
    near, far = list(noise.pauses(rank, horizon)), list(noise.pauses(rank, 2 * horizon))
    assert far[: len(near)] == near
    assert all(start >= horizon for start, *_ in far[len(near) :])


@given(seeds, st.integers(1, 50), st.integers(1, 50))
def test_pauses_are_apart_and_no_longer_than_said(seed, longest, every):
    pauses = list(Noise(longest, every, seed).pauses(0, 2000))
    assert all(1 <= end - start <= longest for start, end, _ in pauses)
    assert all(before[1] <= after[0] for before, after in pairwise(pauses))
    assert all(factor == 0 for *_, factor in pauses)


def test_seeds_and_ranks_pause_at_times_of_their_own():
    drawn = [tuple(Noise(10, 100, seed).pauses(rank, 1000)) for seed in (0, 1) for rank in (0, 1)]
    assert len(set(drawn)) == 4


def test_ranks_run_as_far_ahead_as_they_do_between_processes():
    assert Conditions().window == PLACES
