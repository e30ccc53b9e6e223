"""What the fuzzer of the core starts from, and what is planted to try it; `make fuzz` runs it."""

from __future__ import annotations

import pytest

from fuzz.native import NATIVE, PLANTS, SEEDS, Plant
from fuzz.seeds import seeds


def test_most_schedules_fit_into_bytes() -> None:
    made = list(seeds(SEEDS))
    assert len(made) > 3 * SEEDS
    assert len(set(made)) > 2 * SEEDS


@pytest.mark.tree
@pytest.mark.parametrize("plant", PLANTS, ids=[plant.name for plant in PLANTS])
def test_a_bug_can_be_planted(plant: Plant) -> None:
    assert (NATIVE / plant.file).read_text().count(plant.old) == 1
