"""Looks for input that breaks the core or the readers, for so many seconds, half of them each.

PYTHONPATH=tests python -m fuzz.driver 60

It first plants bugs in copies of the core, which must be found.  What breaks the core is a file in
build/fuzz/found: give it to build/fuzz/core.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from time import monotonic

from hypothesis import settings

from fuzz.files import FORMATS
from fuzz.native import PLANTS, Fuzzer
from fuzz.test_readers import test_a_damaged_file_is_read_or_refused as read_damaged_files

FOLDER = Path(__file__).parents[2] / "build" / "fuzz"
ROUND = 500  # cases of a format


def main() -> int:
    seconds = max(1, int(sys.argv[1]) // 2)
    return 0 if fuzz_core(seconds) & fuzz_readers(seconds) else 1


def fuzz_core(seconds: int) -> bool:
    fuzzer = Fuzzer(FOLDER)
    missed = [plant.name for plant in PLANTS if not fuzzer.finds(plant)]
    say(f"planted bugs found: {len(PLANTS) - len(missed)} of {len(PLANTS)}")
    for name in missed:
        say(f"  missed: {name}")
    run = fuzzer.run(seconds)
    say(f"core: {run.cases:,} cases in {seconds} s, {run.edges} edges")
    for file, (ran, lines) in fuzzer.cover().items():
        say(f"  {file}: {ran} of {lines} lines")
    if run.found:
        say(f"{run.found[-4000:]}\ncore: broken, see {FOLDER / 'found'}")
    return not missed and not run.found


def fuzz_readers(seconds: int) -> bool:
    """Rounds of new cases; the first that breaks a reader is made small, and ends it."""
    settings.register_profile(
        "new", deadline=None, print_blob=True, max_examples=ROUND, database=None
    )
    settings.load_profile("new")
    end, rounds = monotonic() + seconds, 0
    while monotonic() < end:
        try:
            read_damaged_files(kind=FORMATS[rounds % len(FORMATS)])
        except Exception:  # noqa: BLE001 - whatever a reader raises is what was looked for
            traceback.print_exc()
            return False
        rounds += 1
    say(f"readers: {rounds * ROUND:,} damaged files in {seconds} s, all read or refused")
    return True


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
