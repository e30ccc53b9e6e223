"""Property tests repeat their cases; `--hypothesis-profile=explore` draws new ones."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("same")
