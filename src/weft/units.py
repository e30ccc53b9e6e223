"""Counts, sizes, rates and times in words.

Inside, sizes are whole bytes, rates whole bytes/s and times whole picoseconds.  As nccl-tests has
it, K, M, G and T alone are powers of 1024, like KiB to TiB; kB to TB are powers of 1000.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from weft.errors import BadInput

GIGABYTE = 10**9
NANOSECOND, MICROSECOND = 10**3, 10**6  # in picoseconds

DIGITS = 4  # of a rate or time that is said

_SWEEP = re.compile(r"([^:]+):([^:]+)(?::([2-9]|[1-9][0-9]{1,8}))?")

_RATES = ((10**12, "TB/s"), (10**9, "GB/s"), (10**6, "MB/s"), (10**3, "kB/s"), (1, "B/s"))
_TIMES = ((10**12, "s"), (10**9, "ms"), (10**6, "us"), (10**3, "ns"), (1, "ps"))

_BINARY = {letter: 1024**power for power, letter in enumerate("KMGT", 1)}
_SIZES = (
    {"": 1, "B": 1}
    | {letter + end: value for letter, value in _BINARY.items() for end in ("", "iB")}
    | {f"{letter}B": 1000**power for power, letter in enumerate("KMGT", 1)}
    | {"kB": 1000}
)
_TIME_UNITS = {unit: value for value, unit in _TIMES}


def parse_size(text: str) -> int:
    """Read a size: 64M, 1KiB, 1.5GB, 4096."""
    return _parse(text, _SIZES, "a size: write bytes, or a number with K, M, G or T, as in 64M")


def parse_sweep(text: str) -> list[int]:
    """Read one size, or FROM:TO by doubling, or FROM:TO:FACTOR: 64M, 1K:1G, 1K:1G:4."""
    if ":" not in text:
        return [parse_size(text)]
    found = _SWEEP.fullmatch(text)
    if not found:
        raise BadInput(
            f"{text[:40]!r} is not a sweep: write FROM:TO or FROM:TO:FACTOR, as in 1K:1G:4"
        )
    size, last = parse_size(found[1]), parse_size(found[2])
    if not 1 <= size <= last:
        raise BadInput(
            f"{text[:40]!r} is an empty sweep: give sizes of 1 byte or more, the smaller one first"
        )
    sizes: list[int] = []
    while size <= last:
        sizes.append(size)
        size *= int(found[3] or 2)
    return sizes


def parse_time(text: str) -> int:
    """Read a time: 20ms, 1.5us."""
    return _parse(text, _TIME_UNITS, "a time: write it with s, ms, us, ns or ps, as in 20ms")


def _parse(text: str, units: Mapping[str, int], wanted: str) -> int:
    found = re.fullmatch(r"(\d{1,18}(?:\.\d{1,12})?) ?([A-Za-z]*)", text.strip(), re.ASCII)
    if not found or found[2] not in units:
        raise BadInput(f"{text[:40]!r} is not {wanted}")
    value = Fraction(found[1]) * units[found[2]]
    if value.denominator > 1:
        raise BadInput(f"{text[:40]!r} is not a whole number of the smallest unit")
    return int(value)


def size_text(size: int) -> str:
    """Say a size, exactly: 64M, 1000."""
    fitting = [(value, letter) for letter, value in _BINARY.items() if size and size % value == 0]
    value, letter = max(fitting, default=(1, ""))
    return f"{size // value}{letter}"


def counted(number: int, thing: str) -> str:
    """Say how many: 1 rank, 2 ranks; of what ends in -ch, switches."""
    plural = "es" if thing.endswith("ch") else "s"
    return f"{number} {thing}{plural * (number != 1)}"


def rate_text(bytes_per_second: int) -> str:
    """Say a rate: 25 GB/s."""
    return _in_units(bytes_per_second, _RATES)


def time_text(picoseconds: int) -> str:
    """Say a time: 1.5 us."""
    return _in_units(picoseconds, _TIMES)


def _in_units(value: int, units: tuple[tuple[int, str], ...]) -> str:
    value = round(value, min(0, DIGITS - len(str(value))))
    size, unit = next(((s, u) for s, u in units if value >= s), units[-1])
    return f"{value / size:.10g} {unit}"
