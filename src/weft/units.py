"""Counts, rates and times in words; inside, rates are whole bytes/s and times whole picoseconds."""

from __future__ import annotations

GIGABYTE = 10**9
MICROSECOND = 10**6  # in picoseconds

_RATES = ((10**12, "TB/s"), (10**9, "GB/s"), (10**6, "MB/s"), (10**3, "kB/s"), (1, "B/s"))
_TIMES = ((10**12, "s"), (10**9, "ms"), (10**6, "us"), (10**3, "ns"), (1, "ps"))


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
    size, unit = next(((s, u) for s, u in units if value >= s), units[-1])
    return f"{value / size:.4g} {unit}"
