"""Every example in the README and the docs is run, and what it shows is what comes out.

On a page, in this order: a text block with a title is a file, `>>>` in a python block is run by
doctest, and each `$ weft ...` of a console block is a command whose output follows it.
"""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft.kinds import Kind

pytestmark = [pytest.mark.tree, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "ARCHITECTURE.md",
    *ROOT.glob("docs/**/*.md"),
]
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_do_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for language, title, body in BLOCK.findall(page.read_text()):
        if title:
            Path(title).write_text(body)
        elif language == "python":
            run_python(body, names, page.name)
        elif language == "console":
            for command, expected in commands(body):
                assert run_command(command) == expected


def commands(body: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        yield command, expected


def run_command(command: str) -> str:
    program, *arguments = shlex.split(command)
    assert program == "weft"
    done = subprocess.run(
        [sys.executable, "-m", "weft", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


def run_python(body: str, names: dict[str, object], page: str) -> None:
    test = doctest.DocTestParser().get_doctest(body, names, page, page, 0)
    report: list[str] = []
    result = doctest.DocTestRunner().run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert result.failed == 0, "".join(report)


def test_there_are_examples_to_run():
    """Else a change of format could turn all of the above off."""
    text = "".join(page.read_text() for page in PAGES)
    kinds = [language for language, _, _ in BLOCK.findall(text)]
    assert kinds.count("console") >= 7
    assert kinds.count("python") >= 6


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_reference_pages_are_current(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from reference_pages import pages  # noqa: PLC0415 - it is a script, not on the path

    for page, text in pages().items():
        assert page.read_text() == text, "run `make docs`"


@pytest.mark.parametrize("kind", [Kind.BROADCAST, Kind.SCATTER])
def test_tables_and_pictures_of_algorithms_are_current(monkeypatch, tmp_path, kind):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from algorithm_pages import PAGE, PICTURES, section  # noqa: PLC0415 - it is a script

    assert section(kind, tmp_path) in PAGE.read_text(), "run `make docs`"
    picture = f"{kind}.svg"
    assert (tmp_path / picture).read_text() == (PICTURES / picture).read_text()


def test_the_bounds_are_those_of_the_code():
    table = (ROOT / "ARCHITECTURE.md").read_text().partition("## Bounds on input")[2]
    rows = re.findall(r"^\| .* \| ([\d,]+) \| `(.+)`: `(\w+)` \|$", table, re.MULTILINE)
    assert len(rows) >= 20
    for most, path, name in rows:
        value = re.search(
            rf"\b{name} = (?:std::size_t\{{1\}}|(\d+))(?: << (\d+))?", (ROOT / path).read_text()
        )
        assert value, f"{path} has no {name}"
        assert int(value[1] or 1) << int(value[2] or 0) == int(most.replace(",", "")), name
