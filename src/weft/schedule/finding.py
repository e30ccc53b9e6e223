"""What the verifier found, as data and in words.

The first line is the whole finding; what is missing is told apart from what is counted too often,
because their causes differ (a lost transfer, a doubled reduction); the history is the evidence; the
last line is the next command.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

MOST_LINES = 12


@dataclass(frozen=True, slots=True)
class Held:
    """A piece, by its name, and how often each rank has contributed to it, where that matters."""

    piece: str
    ranks: Counter[int]

    def __str__(self) -> str:
        return f"{self.piece} from {ranks_in_words(self.ranks)}" if self.ranks else self.piece


@dataclass(frozen=True, slots=True)
class Write:
    """One line of a slot's history: a transfer, as text, and what the slot held after it."""

    number: int
    transfer: str
    held: Held

    def __str__(self) -> str:
        return f"transfer {self.number}: {self.transfer}   then it holds {self.held}"


@dataclass(frozen=True, slots=True)
class Finding:
    """Which rule is broken, at which transfer (None: by the result), and in which slot.

    `got` is what the slot holds and `want` what it should hold; None is nothing at all.
    """

    schedule: str
    mode: str
    rule: str
    promise: str
    number: int | None
    transfer: str | None
    place: str  # of no slot at all, if the rule is that it exists
    start: Held | None  # what the slot held before all transfers
    got: Held | None
    want: Held | None
    history: tuple[Write, ...]  # all that was written to the slot
    origin: tuple[Write, ...]  # how the last of it came about, elsewhere

    @property
    def missing(self) -> Counter[int]:
        return _counts(self.want) - _counts(self.got)

    @property
    def surplus(self) -> Counter[int]:
        return _counts(self.got) - _counts(self.want)

    def explain(self, command: str) -> str:
        """Say it in full; `command` is what to call for all that is written to the slot."""
        what = f"{self.place} ends wrong"
        if self.number is not None:
            what = f"transfer {self.number} is wrong: {self.transfer}"
        lines = [
            f"{what}   ({self.schedule}, {self.mode})",
            f"  rule: {self.rule}: {self.promise}",
            *self._difference(),
        ]
        if "exists" not in self.rule:
            lines += [f"  what wrote {self.place}:", *self._writes()]
            if self.origin:
                lines += ["  where that came from:", *_indented(self.origin)]
            lines.append(f"  see it: {command} --at {self.place}")
        return "\n".join(lines)

    def _writes(self) -> list[str]:
        start = [f"    at the start it holds {self.start}"] if self.start else []
        return [*start, *_indented(self.history)] or ["    nothing"]

    def _difference(self) -> list[str]:
        if self.want is None:
            return []
        if self.number is not None:
            return [f"  got: {self.got}", f"  wanted: {self.want}"]
        lines = [f"  holds: {self.got or 'nothing'}", f"  should hold: {self.want}"]
        if self.got and self.got.piece == self.want.piece:
            lines.append(f"  missing: {ranks_in_words(self.missing)}")
            lines.append(f"  counted too often: {ranks_in_words(self.surplus)}")
        return lines


def _indented(writes: tuple[Write, ...]) -> list[str]:
    return [f"    {line}" for line in shortened([str(write) for write in writes], MOST_LINES)]


def ranks_in_words(counts: Counter[int]) -> str:
    """Say a counted set: `ranks 0-3, 7 (2 times)`."""
    runs: list[tuple[int, int, int]] = []  # first, last, times
    for rank, times in sorted(counts.items()):
        if runs and runs[-1][1:] == (rank - 1, times):
            runs[-1] = (runs[-1][0], rank, times)
        else:
            runs.append((rank, rank, times))
    names = [_run_in_words(*run) for run in runs]
    return (
        ("rank " if len(counts) == 1 else "ranks ") + ", ".join(shortened(names, MOST_LINES))
        if names
        else "nobody"
    )


def shortened(items: list[str], most: int) -> list[str]:
    """Leave out the middle of a long list, and say so."""
    if len(items) <= most:
        return items
    head, tail = items[: most // 2], items[-(most // 2) :]
    return [*head, f"... {len(items) - len(head) - len(tail)} more ...", *tail]


def _run_in_words(first: int, last: int, times: int) -> str:
    return (str(first) if first == last else f"{first}-{last}") + (
        f" ({times} times)" if times > 1 else ""
    )


def _counts(held: Held | None) -> Counter[int]:
    return held.ranks if held else Counter()
