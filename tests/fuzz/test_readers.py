"""Whatever happened to a file, it is read or refused: in one line, and with little of the machine.

`make fuzz` tries new cases for as long as it is told.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz.damage import damaged
from fuzz.files import FORMATS, Files, Format
from weft import collective
from weft.errors import BadInput, WrongSchedule
from weft.formats.msccl import read
from weft.schedule import schedule

MOST_SECONDS = 30  # for a file of a few kilobytes: else it hangs
MOST_MORE_BYTES = 1 << 30
BOUNDS = {collective: ("MOST_CONTENTS",), schedule: ("MOST_SLOTS",), read: ("MOST_CHUNKS",)}
SMALL = 1 << 14  # in their place: what they allow would take long, however well it is read
EVERYTHING = [file for each in FORMATS for file in chain.from_iterable(each.valid)]


@pytest.mark.parametrize("kind", FORMATS, ids=str)
@given(st.data())
def test_a_damaged_file_is_read_or_refused(kind: Format, data: st.DataObject) -> None:
    files = data.draw(st.sampled_from(kind.valid))
    number = data.draw(st.integers(0, len(files) - 1))
    others = [*chain.from_iterable(kind.valid), *EVERYTHING]
    spoilt = data.draw(damaged(files[number], others))
    judge(kind, (*files[:number], spoilt, *files[number + 1 :]))


@pytest.mark.parametrize("kind", FORMATS, ids=str)
def test_what_is_damaged_was_valid(kind: Format) -> None:
    for files in kind.valid:
        assert judge(kind, files) is None


def read_without_name(_: Path) -> None:
    raise BadInput("no name: give one")


def read_and_take_all_memory(_: Path) -> None:
    bytearray(2 * MOST_MORE_BYTES)


def read_forever(_: Path) -> None:
    while True:
        pass


@pytest.mark.parametrize(
    ("read_badly", "error"),
    [
        (read_without_name, AssertionError),
        (json.loads, TypeError),
        pytest.param(read_and_take_all_memory, MemoryError, marks=pytest.mark.memory),
        (read_forever, TimeoutError),
    ],
)
def test_a_reader_that_does_otherwise_is_noticed(
    read_badly: Callable[[Path], object], error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "MOST_SECONDS", 1)
    with pytest.raises(error):
        judge(FORMATS[0]._replace(read=read_badly), FORMATS[0].valid[0])


def judge(kind: Format, files: Files) -> str | None:
    """The words in which it is refused; an error if it ends in any other way."""
    with TemporaryDirectory() as folder:
        paths = [Path(folder, f"file{kind.ending}")]
        if kind.ending == ".et":
            paths = [Path(folder, f"file.{rank}.et") for rank in range(len(files))]
        for path, content in zip(paths, files, strict=True):
            path.write_bytes(content)
        try:
            with small_bounds(), little_time(), little_memory():
                kind.read(paths[0])
        except BadInput as problem:
            assert str(problem).startswith(f"{paths[0]}: ")
            assert str(problem).isprintable()
            return str(problem)
        except WrongSchedule as wrong:
            return str(wrong)
    return None


@contextmanager
def small_bounds() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module, names in BOUNDS.items():
            for name in names:
                patch.setattr(module, name, SMALL)
        yield


@contextmanager
def little_time() -> Iterator[None]:
    def refuse_to_wait(*_: object) -> None:
        raise TimeoutError(f"it has not ended after {MOST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, refuse_to_wait)
    signal.alarm(MOST_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def little_memory() -> Iterator[None]:
    """What asks for more gets a MemoryError."""
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (held + MOST_MORE_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
