"""`weft algorithms COLLECTIVE --topology T`: a comparison, as a table, a plot, a file and JSON."""

from __future__ import annotations

import json
from typing import NamedTuple
from xml.dom.minidom import parse

import pytest

import weft
from weft.cli import main


class Done(NamedTuple):
    """What a command left."""

    code: int | str | None
    output: str
    problem: str


@pytest.fixture
def algorithms(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")

    def run(*arguments: str) -> Done:
        with pytest.raises(SystemExit) as done:
            main(["algorithms", *arguments])
        return Done(done.value.code, *capsys.readouterr())

    return run


def test_the_table_the_plot_and_who_is_left_out(algorithms):
    done = algorithms("allreduce", "-t", "ring:4", "--size", "64:1M:4")
    assert (done.code, done.problem) == (0, "")
    lines = done.output.splitlines()
    assert lines[0] == "allreduce over 4 ranks, on ring:4"
    assert lines[2].split("  ")[0] == "algorithm"
    assert lines[2].split()[-5:] == ["at", "64", "at", "1M", "fastest"]
    ring = next(line for line in lines if line.startswith("ring"))
    assert ring.split()[:6] == ["ring", "24", "3/2", "S", "6", "S"]
    assert any(line.startswith("left out: recursive doubling: no route for") for line in lines)
    strip = next(line for line in lines if line.startswith("fastest "))
    assert len(strip) == 60
    assert " ring" in "".join(lines[lines.index(strip) :])


def test_times_are_those_of_weft_simulate(algorithms):
    ring = weft.classic.ring_allreduce(weft.allreduce(4))
    trace = weft.simulate(ring, weft.find_topology("cluster:4"), 1 << 20)
    found = json.loads(algorithms("allreduce", "-t", "cluster:4", "-s", "1M", "--json").output)
    row = next(row for row in found["algorithms"] if row["algorithm"] == "ring")
    assert (row["times_ps"], row["segments"]) == ([trace.time], [trace.segments])
    assert "at 1M" in algorithms("allreduce", "-t", "cluster:4", "-s", "1M").output


def test_json_says_everything(algorithms, tmp_path):
    command = ["reduce", "--root", "2", "-t", "cluster:4", "-s", "8:8K:32", "--json"]
    found = json.loads(algorithms(*command, "--write", "new", "--plot", "new/p.svg").output)
    named = ("collective", "ranks", "root", "topology", "sizes")
    assert [found[name] for name in named] == ["reduce", 4, 2, "cluster:4", [8, 256, 8192]]
    for row in found["algorithms"]:
        loaded = weft.load(tmp_path / row["file"])
        assert (row["messages"], row["transfers"]) == (loaded.messages, len(loaded))
        assert len(row["times_ps"]) == len(row["segments"]) == 3
    wins = {row["algorithm"]: row["wins"] for row in found["algorithms"]}
    assert wins[found["fastest"][0]][0][0] == 8
    left_out = {each["algorithm"]: each["why"] for each in found["left_out"]}
    names = {algorithm.name for algorithm in weft.ALGORITHMS if algorithm.kind == "reduce"}
    assert wins.keys() | left_out.keys() == names
    assert (tmp_path / found["plot"]).exists()


def test_the_plot_is_a_file_that_browsers_open(algorithms, tmp_path):
    done = algorithms("allgather", "-t", "cluster:4", "--plot", "p.svg")
    assert done.output.endswith("wrote p.svg\n")
    document = parse(str(tmp_path / "p.svg"))  # noqa: S318 - it is our own
    title = document.getElementsByTagName("title")[0].firstChild
    assert title
    assert title.toxml() == "allgather over 4 ranks, on cluster:4"


def test_one_size_is_a_table_without_a_plot(algorithms):
    done = algorithms("allreduce", "-t", "cluster:4", "-s", "64K")
    assert "+---" not in done.output
    assert done.code == 0


def test_where_none_runs_the_answer_is_no(algorithms):
    done = algorithms("alltoall", "-t", "mesh:5")
    assert (done.code, done.problem) == (1, "")
    assert "left out: pairwise: no route for" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--size", "1K"], "--size is for a comparison: give a collective and --topology too"),
        (["allreduce", "--plot", "x.svg"], "--plot is for a comparison"),
        (["-t", "ring:4", "--plot", "x.svg"], "--plot is for a comparison"),
        (["allreduce", "-t", "ring:4", "-s", "1K", "--plot", "x.svg"], "--size 1K is one"),
        (["barrier", "-t", "ring:4", "--plot", "x.svg"], "a barrier has none: leave it out"),
        (["barrier", "-t", "ring:4", "-s", "1K"], "a barrier moves no data: give no sizes"),
        (["allreduce", "-t", "ring:4", "-s", "4:1"], "'4:1' is an empty sweep"),
        (["allreduce", "-t", "ring:4", "-s", "x"], "'x' is not a size"),
        (["allgather", "-t", "ring:4", "-s", "3"], "the size, with 4 blocks on a rank, is 3"),
        (["allreduce", "-t", "ring:4", "-n", "5"], "--ranks is 5, ring:4 has 4"),
        (["reduce", "-t", "ring:4", "--root", "4"], "give a root below 4"),
        (["reduce", "-t", "full:4", "-s", "1:8", "--plot", "no/x.svg"], "no/x.svg cannot be"),
    ],
)
def test_a_request_that_cannot_be_carried_out_is_one_line(algorithms, arguments, message):
    done = algorithms(*arguments)
    assert (done.code, done.output) == (2, "")
    assert message in done.problem
    assert done.problem.count("\n") == 1
