from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import BadInput
from weft.units import counted, parse_size, parse_time, rate_text, size_text, time_text


@given(st.integers(0, 10**18 - 1))
def test_a_size_that_was_said_is_read_as_it_was(size):
    assert parse_size(size_text(size)) == size


@given(st.integers(0, 2**18), st.sampled_from([2**10, 2**20, 2**30, 2**40]))
def test_round_sizes_too(count, unit):
    assert parse_size(size_text(count * unit)) == count * unit


@given(st.integers(1, 9999), st.sampled_from([1, 10**3, 10**6, 10**9]))
def test_a_time_that_was_said_is_read_as_it_was(count, unit):
    """Where its four digits are all of it."""
    assert parse_time(time_text(count * unit)) == count * unit


@given(st.integers(1, 9 * 10**18))
def test_a_time_is_said_to_four_digits(time):
    number, unit = time_text(time).split()
    picoseconds = float(number) * parse_time(f"1{unit}")
    assert picoseconds == pytest.approx(time, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("4096", 4096),
        ("64B", 64),
        ("1K", 1024),
        ("1KiB", 1024),
        ("1kB", 1000),
        ("1KB", 1000),
        ("1.5K", 1536),
        ("64 M", 64 << 20),
        (" 2G ", 2 << 30),
        ("1TB", 10**12),
        ("0.5B", None),
        ("-1", None),
        ("1e6", None),
        ("1 000", None),
        ("K", None),
        ("", None),
        ("1k", None),
        ("1P", None),
        ("inf", None),
        ("٣", None),
        ("1" * 19, None),
    ],
)
def test_sizes_as_people_write_them(text, size):
    if size is None:
        with pytest.raises(BadInput, match="is not a ") as problem:
            parse_size(text)
        assert repr(text[:40]) in str(problem.value)
    else:
        assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "picoseconds"),
    [
        ("0s", 0),
        ("1ps", 1),
        ("20ms", 20 * 10**9),
        ("1.5us", 1_500_000),
        ("2 s", 2 * 10**12),
        ("0.001ns", 1),
        ("0.0001ns", None),
        ("20", None),
        ("20MS", None),
        ("-1s", None),
        ("1m", None),
        ("1h", None),
        ("", None),
    ],
)
def test_times_as_people_write_them(text, picoseconds):
    if picoseconds is None:
        with pytest.raises(BadInput, match="is not a "):
            parse_time(text)
    else:
        assert parse_time(text) == picoseconds


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B/s"), (999, "999 B/s"), (1500, "1.5 kB/s"), (25 * 10**9, "25 GB/s")],
)
def test_rates_are_said_by_thousands(value, text):
    assert rate_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 ps"), (1, "1 ps"), (1_234_567, "1.235 us"), (999_999, "1 us"), (3 * 10**16, "30000 s")],
)
def test_times_are_said_by_thousands(value, text):
    assert time_text(value) == text


def test_counts_have_plurals():
    assert [counted(n, "switch") for n in (0, 1, 2)] == ["0 switches", "1 switch", "2 switches"]
    assert counted(1, "rank") == "1 rank"
