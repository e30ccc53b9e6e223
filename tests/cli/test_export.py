"""`weft export`, and `weft verify` and `weft simulate` on what it writes; `weft calls`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from threading import Thread
from typing import NamedTuple

import pytest

import weft
from weft.cli import main
from weft.errors import BadInput
from weft.formats.export import Target


class Done(NamedTuple):
    """What a command left."""

    code: int | str | None
    output: str
    problem: str


@pytest.fixture
def run(tmp_path, capsys, monkeypatch) -> Callable[..., Done]:
    monkeypatch.chdir(tmp_path)
    weft.save(weft.classic.ring_allreduce(weft.allreduce(4)), "ring.json")

    def command(*arguments: str) -> Done:
        with pytest.raises(SystemExit) as done:
            main(arguments)
        return Done(done.value.code, *capsys.readouterr())

    return command


READABLE = sorted(set(Target) - {Target.NCCL_GRAPH, Target.CHAKRA})


@pytest.mark.parametrize("target", READABLE)
def test_what_is_exported_can_be_verified_and_simulated(run, target):
    assert run("export", "ring.json", "--to", target, "-o", "out").output == "wrote out\n"
    assert run("verify", "out").output.startswith("ok     ring, allreduce over 4 ranks")
    assert run("simulate", "out", "-t", "ring:4", "--json").code == 0


def test_chakra_has_a_file_for_each_rank(run):
    done = run("export", "ring.json", "--to", "chakra", "-s", "64K", "-o", "trace")
    assert done.output == "wrote 4 files: trace.0.et to trace.3.et\n"
    assert run("verify", "trace.2.et").output.startswith("ok     ring")
    assert weft.load("trace.1.et") == weft.load("ring.json")
    again = run("export", "trace.0.et", "--to", "chakra", "-s", "64K", "-o", "a.et", "--json")
    assert json.loads(again.output) == {
        "target": "chakra",
        "files": [f"a.{rank}.et" for rank in range(4)],
    }


def test_verify_says_which_runtimes_take_a_file(run):
    run("export", "ring.json", "--to", "rccl", "-o", "ring.xml")
    lines = run("verify", "ring.xml").output.splitlines()
    assert lines[1:] == [
        "msccl-executor: takes it",
        "msccl: it is for calls in place and out of place: there a file is for one of them",
        "rccl: takes it",
    ]
    told = json.loads(run("verify", "ring.xml", "--json").output)["runtimes"]
    assert told["rccl"] == []
    assert len(told["msccl"]) == 1


def test_a_file_for_calls_in_place_alone_is_simulated_in_place(run):
    run("export", "ring.json", "--to", "msccl", "--in-place", "-o", "ring.xml")
    assert "in place" in run("verify", "ring.xml").output
    told = json.loads(run("simulate", "ring.xml", "-t", "ring:4", "--json").output)
    assert told[0]["in_place"] is True


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--to", "text", "--parts", "2"], "weft: parts is not for text: leave it out"),
        (["--to", "chakra"], "weft: chakra says how many bytes go where: give a size, as in 64M"),
        (["--to", "rccl", "--protocol", "x"], "'x' is not a protocol: give Simple, LL, LL128"),
        (["--to", "nowhere"], "Invalid value for '--to'"),
        (["--to", "nccl-graph", "-t", "ring:3"], "ring is for 4 ranks, ring:3 has 3"),
        (["--to", "rccl", "--min-size", "2M", "--max-size", "1M"], "give the smaller first"),
        (["--to", "rccl", "--max-size", "2000T"], "and at most 1125899906842624"),
        (["--to", "chakra", "--min-size", "1K"], "weft: min_size is not for chakra"),
        (["--to", "chakra", "-s", "1M", "-o", "."], "give what the files' names begin with"),
    ],
)
def test_wishes_that_cannot_be_met_are_one_line(run, arguments, problem):
    done = run("export", "ring.json", "-o", "out", *arguments)
    assert done.code == 2
    assert problem in done.problem
    assert done.problem.count("\n") == 1


def test_a_wrong_schedule_is_not_exported(run, tmp_path):
    (tmp_path / "wrong.txt").write_text("wrong: allreduce ranks=2\n0.in0 -> 1.out0 + in0\n")
    done = run("export", "wrong.txt", "--to", "rccl", "-o", "out")
    assert done.code == 2
    assert done.problem == (
        "weft: wrong.txt is a wrong schedule: `weft verify wrong.txt` shows why\n"
    )
    assert not (tmp_path / "out").exists()


def test_files_that_are_no_schedule_are_named(run, tmp_path):
    run("export", "ring.json", "--to", "nccl-graph", "-o", "graph.xml")
    assert run("verify", "graph.xml").problem.startswith(
        "weft: graph.xml: line 1: <graphs> is not how an MSCCL file begins"
    )
    (tmp_path / "bad.xml").write_text("<algo\n")
    assert run("simulate", "bad.xml", "-t", "ring:4").problem.startswith("weft: bad.xml: line 1: ")
    assert run("verify", "lost.0.et").problem.startswith("weft: lost.0.et: no traces lost.0.et")


def test_a_pipe_is_read_once(run, tmp_path):
    run("export", "ring.json", "--to", "rccl", "-o", "ring.xml")
    os.mkfifo(tmp_path / "pipe")
    content = (tmp_path / "ring.xml").read_bytes()
    writer = Thread(target=(tmp_path / "pipe").write_bytes, args=[content])
    writer.start()
    assert "rccl: takes it" in run("verify", "pipe").output
    writer.join()


def test_a_byte_order_mark_hides_nothing(run, tmp_path):
    run("export", "ring.json", "--to", "rccl", "-o", "ring.xml")
    path = tmp_path / "ring.xml"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert "rccl: takes it" in run("verify", "ring.xml").output


@pytest.mark.parametrize("name", ["trace", "trace.et", "trace.1.et"])
def test_traces_are_found_as_they_were_named(run, name):
    assert (
        "trace.0.et to trace.3.et"
        in run("export", "ring.json", "--to", "chakra", "-s", "64K", "-o", name).output
    )
    for given in ("trace.et", "trace.1.et"):
        assert run("verify", given).code == 0


def test_an_unknown_target_is_named_in_python_too():
    ring = weft.classic.ring_allreduce(weft.allreduce(2))
    with pytest.raises(BadInput, match="'nowhere' is no target: there are "):
        weft.export(ring, "out", "nowhere")


TRACE = {
    "workload_graph": [
        {"Id": 1, "Name": "a", "NodeType": 7, "comm_type": 0, "comm_size": 65536},
        {"Id": 2, "Name": "a", "NodeType": 7, "comm_type": 0, "comm_size": 65536},
        {"Id": 3, "Name": "b", "NodeType": 7, "comm_type": 9},
    ]
}


def test_calls_of_a_trace_and_how_long_they_take(run, tmp_path):
    (tmp_path / "training.json").write_text(json.dumps(TRACE))
    listed = json.loads(run("calls", "training.json", "--json").output)
    assert [(row["collective"], row["size"], row["times"]) for row in listed] == [
        ("allreduce", 65536, 2),
        ("barrier", 0, 1),
    ]
    timed = json.loads(run("calls", "training.json", "-t", "cluster:4", "--json").output)
    assert all(row["algorithm"] and row["time_ps"] > 0 for row in timed)
    shown = run("calls", "training.json", "-t", "cluster:4").output
    total = 2 * timed[0]["time_ps"] + timed[1]["time_ps"]
    assert f"{weft.units.time_text(total)} for all of them on cluster:4" in shown


def test_a_trace_that_calls_nothing_is_refused(run):
    run("export", "ring.json", "--to", "chakra", "-s", "64K", "-o", "trace")
    assert run("calls", "trace.0.et").problem == (
        "weft: trace.0.et calls no collectives: take another trace\n"
    )
