"""Drafts by pieces keep a table of ranks and pieces, whose size is bounded."""

from __future__ import annotations

import pytest

import weft
from weft.errors import BadInput


def test_a_table_too_large_is_refused_before_it_is_made():
    with pytest.raises(BadInput, match="the number of slots, over all ranks, is 3600060000"):
        weft.PieceDraft(weft.scatter(60_000))
