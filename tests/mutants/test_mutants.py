"""Whatever one changes in the verifier is noticed; `equivalent.txt` lists what cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from mutants.corpus import write_corpus
from mutants.mutate import Mutant
from mutants.programs import Trial, all_mutants

pytestmark = [pytest.mark.slow, pytest.mark.tree]

LINES = Path(__file__).with_name("equivalent.txt").read_text().splitlines()
EQUIVALENT = {line for line in LINES if line and not line.startswith("#")}


def test_no_mutant_survives(tmp_path: Path) -> None:
    """Any small change of the verifier makes it judge a schedule, or add up a sum, wrongly."""
    write_corpus(tmp_path / "corpus")
    alive = Trial(tmp_path / "corpus", tmp_path).survivors(all_mutants())

    assert [str(mutant) for mutant in alive if not names(mutant) & EQUIVALENT] == []


def test_every_equivalent_is_a_mutant() -> None:
    """The list of equivalents has no entry for code that is no longer there."""
    assert EQUIVALENT - {name for mutant in all_mutants() for name in names(mutant)} == set()


def names(mutant: Mutant) -> set[str]:
    """The entries that would cover it."""
    return {f"{mutant.file}: {text}" for text in (mutant.change, mutant.lines)}
