"""Programs that hold mutants of the verifier, and which of these survive.

Nearly all mutants are compiled at once: a function that has mutants has as many bodies, of which
`active_mutant` chooses one.  What is changed outside of functions takes a program of its own.
"""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from mutants.mutate import Edit, Mutant, Span, mutants_of

VERIFY = Path(__file__).parents[2] / "native" / "verify"
MUTATED = [VERIFY / name for name in ("contributions.hpp", "contributions.cpp", "verify.cpp")]
SOURCES = sorted(VERIFY.glob("*.cpp"))
HARNESS = Path(__file__).with_name("harness.cpp")
COMPILER = ("g++", "-std=c++20", "-w", "-D_GLIBCXX_ASSERTIONS")
BLAMED = re.compile(r"^mutant (\d+):.*(?:error|required from)", re.MULTILINE)
MOST_SECONDS = 20  # for a mutant that sleeps; one that runs wild is stopped by the harness

Numbered = dict[int, Mutant]  # from 1; 0 is the original


class DoesNotCompile(Exception):
    """The compiler's words are the message."""


def all_mutants() -> list[Mutant]:
    return [mutant for file in MUTATED for mutant in mutants_of(file.name, file.read_text())]


class Trial:
    """Compiles mutants in a folder and runs them on a corpus."""

    def __init__(self, corpus: Path, folder: Path) -> None:
        self._corpus = corpus
        self._folder = folder
        self._objects = {source.name: folder / f"{source.stem}.o" for source in SOURCES}
        for source in SOURCES:
            _compile("-I", VERIFY.parent, "-c", source, "-o", self._objects[source.name])
        self._harness = folder / "harness.o"
        _compile("-O1", "-I", VERIFY.parent, "-c", HARNESS, "-o", self._harness)
        assert self._agrees(self._program({}, folder)), "the verifier fails its own tests"

    def survivors(self, mutants: list[Mutant]) -> list[Mutant]:
        """The mutants that compile and that the harness does not tell from the original."""
        numbered = dict(enumerate(mutants, 1))
        program, together = self._program_of_all({n: m for n, m in numbered.items() if m.body})
        assert self._agrees(program), "the choice of a body changes more than that"

        def survives(number: int) -> bool:
            if numbered[number].body:
                return number in together and self._agrees(program, number)
            return self._survives_alone(numbered[number])

        with ThreadPoolExecutor(2) as pool:
            alive = list(pool.map(survives, numbered))
        return [mutant for mutant, lives in zip(mutants, alive, strict=True) if lives]

    def _survives_alone(self, mutant: Mutant) -> bool:
        source = mutant.edit.apply((VERIFY / mutant.file).read_text())
        with TemporaryDirectory(dir=self._folder) as folder:
            try:
                return self._agrees(self._program({mutant.file: source}, Path(folder)))
            except DoesNotCompile:
                return False

    def _agrees(self, program: Path, mutant: int = 0) -> bool:
        command = [str(program), str(self._corpus), str(mutant)]
        try:
            run = subprocess.run(command, check=False, capture_output=True, timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return run.returncode == 0

    def _program_of_all(self, together: Numbered) -> tuple[Path, Numbered]:
        """A program of all that compile, and which these are."""
        try:
            changed = {file.name: _with_all_bodies(file, together) for file in MUTATED}
            return self._program(changed, self._folder / "together"), together
        except DoesNotCompile as problem:
            blamed = {int(number) for number in BLAMED.findall(str(problem))}
            if not blamed:
                raise
        return self._program_of_all({n: together[n] for n in together.keys() - blamed})

    def _program(self, changed: dict[str, str], folder: Path) -> Path:
        """The harness with changed files; a changed header changes every source."""
        (folder / "verify").mkdir(parents=True, exist_ok=True)
        for file, text in changed.items():
            (folder / "verify" / file).write_text(text)
        inputs = dict(self._objects)
        if any(file.endswith(".hpp") for file in changed):
            inputs = {source.name: source for source in SOURCES}
        inputs |= {file: folder / "verify" / file for file in changed if file in inputs}
        includes = ("-I", folder, "-I", VERIFY.parent)
        _compile(*includes, *inputs.values(), self._harness, "-o", folder / "program")
        return folder / "program"


def _compile(*arguments: str | Path) -> None:
    run = subprocess.run([*COMPILER, *arguments], capture_output=True, text=True, check=False)
    if run.returncode:
        raise DoesNotCompile(run.stderr)


def _with_all_bodies(file: Path, together: Numbered) -> str:
    """The text of a file in which each function has the bodies of all its mutants."""
    text = file.read_text()
    here = {n: mutant for n, mutant in together.items() if mutant.file == file.name}
    for body in sorted({mutant.body for mutant in here.values() if mutant.body}, reverse=True):
        start = text.rfind("\n", 0, body.start)
        head = text[start : body.start].replace("constexpr ", "")  # it asks a variable
        cases = {n: mutant for n, mutant in here.items() if mutant.body == body}
        text = text[:start] + head + _choice(text, body, cases) + text[body.end :]
    return f"extern int active_mutant;\n{text}"


def _choice(text: str, body: Span, cases: Numbered) -> str:
    """A body that is that of the active mutant; the compiler gives errors the mutant's number."""
    original = text[body.start : body.end]
    chosen = [
        f'case {number}:\n#line {mutant.line} "mutant {number}"\n'
        f"{_within(mutant.edit, body).apply(original)}\nbreak;\n"
        for number, mutant in cases.items()
    ]
    return f"{{ switch (active_mutant) {{\n{''.join(chosen)}default: {original} }} }}"


def _within(edit: Edit, body: Span) -> Edit:
    return Edit(edit.start - body.start, edit.end - body.start, edit.text)
