"""Every error this package raises on purpose.

WeftError              catch this at the edge of a program
├── BadInput           the caller can fix it: a file, a flag, a topology that does not fit
├── WrongSchedule      a schedule breaks a rule; carries the finding
└── Stalled            a run cannot go on; carries who waits for what, from whom
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.schedule.finding import Finding


class WeftError(Exception):
    """Any error that weft raises on purpose."""


class BadInput(WeftError):
    """Input that cannot be used; one line with the value, the place and the next thing to try.

    Values come from hostile files: what would break the line, or tell a terminal something, is
    written as Python writes it.
    """

    def __init__(self, message: str) -> None:
        super().__init__("".join(c if c.isprintable() else repr(c)[1:-1] for c in message))


class WrongSchedule(WeftError):
    """The answer of the verifier when it is no; `file` is the schedule's, if it has one."""

    def __init__(self, finding: Finding, file: str | None = None) -> None:
        super().__init__(finding, file)
        self.finding = finding
        self.file = file

    def __str__(self) -> str:
        return self.finding.explain(f"weft verify {self.file or 'FILE'}")


class Stalled(WeftError):
    """A rank's run cannot go on: its peer has gone, or there was no news until the deadline."""

    def __init__(self, message: str, *, rank: int, transfer: int, segment: int, peer: int) -> None:
        super().__init__(message)
        self.rank = rank
        self.transfer = transfer  # the first of those that are not done
        self.segment = segment  # of it
        self.peer = peer  # whom it waits for
