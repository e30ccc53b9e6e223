"""Every error this package raises on purpose.

WeftError              catch this at the edge of a program
├── BadInput           the caller can mend it: a file, a flag, a topology that does not fit
└── WrongSchedule      a schedule breaks a rule; carries the finding
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.schedule.finding import Finding


class WeftError(Exception):
    """All of the errors below."""


class BadInput(WeftError):
    """The message is one line: the value, the place, and the next thing to try."""


class WrongSchedule(WeftError):
    """The answer of the verifier when it is no."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding)
        self.finding = finding
