"""`weft simulate` as a user meets it: its output, its exit code, what stops it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE
from typing import NamedTuple

import pytest

import weft
from weft.cli import main
from weft.schedule.schedule import ScheduleDraft


class Done(NamedTuple):
    """What a command left."""

    code: int | str | None
    output: str
    problem: str


@pytest.fixture
def folder(tmp_path):
    ring = weft.classic.ring_allreduce(weft.allreduce(3))
    collective = weft.gatherv(2)
    draft = ScheduleDraft(collective)
    draft.move([0, 1], 0, collective.input(0), [collective.output(0), collective.output(1)])
    text = weft.format_text(ring)
    (tmp_path / "ring.txt").write_text(text)
    (tmp_path / "broken.txt").write_text(text.replace("2.in2 -> 0.out2 + in2\n", ""))
    weft.save(draft.schedule("direct", in_place=False), tmp_path / "gatherv.json")
    return tmp_path


@pytest.fixture
def simulate(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "60")

    def run(*arguments: str, file: str = "ring.txt", topology: str = "ring:3") -> Done:
        with pytest.raises(SystemExit) as done:
            main(["simulate", file, "-t", topology, *arguments])
        return Done(done.value.code, *capsys.readouterr())

    return run


def test_one_size(simulate):
    done = simulate("--size", "75000", "--segments", "1")
    assert (done.code, done.problem) == (0, "")
    assert done.output == (
        "ring, allreduce over 3 ranks, 3 pieces a block, on ring:3\n"
        "\n"
        " size  time       algbw      busbw  segments\n"
        "75000  8 us  9.375 GB/s  12.5 GB/s         1\n"
        "\n"
        "busy: wire 0->1 50.0%, wire 2->0 50.0%, wire 1->2 50.0%\n"
    )


def test_where_latency_counts_it_says_so(simulate):
    assert simulate("--size", "3").output.endswith(
        "nothing is busy for even half of the time: it is latency that counts\n"
    )


@pytest.mark.parametrize(
    ("size", "sizes"),
    [
        ("1KiB", ["1K"]),
        ("1kB", ["1000"]),
        ("0", ["0"]),
        ("1K:4K", ["1K", "2K", "4K"]),
        ("1000:5000:2", ["1000", "2000", "4000"]),
        ("1K:1G:1024", ["1K", "1M", "1G"]),
        ("7:7", ["7"]),
        ("1K:4095", ["1K", "2K"]),
    ],
)
def test_sizes_and_sweeps(simulate, size, sizes):
    rows = simulate("--size", size, "--segments", "1").output.splitlines()[3:]
    assert [row.split()[0] for row in rows if row and "busy" not in row] == sizes


def test_a_size_for_every_block(simulate):
    run = {"file": "gatherv.json", "topology": "full:2"}
    done = simulate("--size", "1K,2K", "--json", **run)
    assert [trace["size"] for trace in json.loads(done.output)] == [3072]
    assert "has blocks of any size: give a list" in simulate("--size", "1K", **run).problem
    assert "3 sizes for 2 blocks" in simulate("--size", "1,2,3", **run).problem


def test_json_says_all_but_the_segments(simulate):
    done = simulate("--size", "75000", "--segments", "1", "--window", "3", "--json")
    (data,) = json.loads(done.output)
    resources = {resource["name"]: resource["busy_ps"] for resource in data.pop("resources")}
    assert resources == {f"rank {rank}": 0 for rank in range(3)} | {
        "wire 0->1": 4_000_000,
        "wire 1->2": 4_000_000,
        "wire 2->0": 4_000_000,
    }
    assert data == {
        "schedule": "ring",
        "topology": "ring:3",
        "size": 75000,
        "segments": 1,
        "in_place": False,
        "window": 3,
        "noise": None,
        "faults": [],
        "deadline_ps": None,
        "finished": True,
        "time_ps": 8_000_000,
        "algbw_bytes_per_s": 9.375e9,
        "busbw_bytes_per_s": 12.5e9,
        "events": 48,
        "rank_ends_ps": [8_000_000] * 3,
        "failures": [],
    }


def test_json_says_what_the_run_met(simulate):
    faults = ["--fault", "rank 1 dies at 1s", "--fault", "link 0->1 slows 4x at 0s for 2us"]
    noise = ["--noise", "1us/2us", "--seed", "5"]
    done = simulate("--in-place", *noise, *faults, "--deadline", "3s", "--json")
    (data,) = json.loads(done.output)
    assert data["in_place"]
    assert data["noise"] == {"longest_ps": 1_000_000, "every_ps": 2_000_000, "seed": 5}
    always = {"rank": None, "link": None, "factor": 0, "dies": False}
    assert data["faults"] == [
        always | {"start_ps": 10**12, "end_ps": None, "rank": 1, "dies": True},
        always | {"start_ps": 0, "end_ps": 2_000_000, "link": [0, 1], "factor": 4},
    ]
    assert data["deadline_ps"] == 3 * 10**12


def test_json_of_a_sweep_is_a_list(simulate):
    data = json.loads(simulate("--size", "1K:8K", "--json").output)
    assert [trace["size"] for trace in data] == [1024, 2048, 4096, 8192]


def test_a_run_that_fails_is_1_and_an_answer_on_stdout(simulate):
    run = ["--size", "75000", "--segments", "1", "--fault", "rank 1 dies at 100ns"]
    done = simulate(*run)
    assert (done.code, done.problem) == (1, "")
    assert "75000  not finished  0 B/s  0 B/s         1" in done.output
    assert (
        "rank 2 gave up at 1.1 us because rank 1 had gone: transfer 1, 1.in1 -> 2.out1 + in1, "
        "segment 0 of 1, was waiting for its arrival from rank 1\n" in done.output
    )
    (data,) = json.loads(simulate(*run, "--json").output)
    assert (data["finished"], data["rank_ends_ps"]) == (False, [None] * 3)
    failure = data["failures"][0]
    assert failure.pop("text").startswith("rank 0 gave up")
    assert failure == {"time_ps": 1_100_000, "rank": 0, "transfer": 3, "segment": 0, "peer": 1}


def test_a_deadline_that_is_too_early_is_1(simulate):
    assert simulate("--size", "75000", "--deadline", "1us").code == 1
    assert simulate("--size", "75000", "--deadline", "1s").code == 0


def test_misfortunes_delay(simulate):
    def time_of(*arguments: str) -> int:
        done = simulate("--size", "75000", "--segments", "1", "--json", *arguments)
        return int(json.loads(done.output)[0]["time_ps"])

    slow = time_of("--fault", "link 0->1 slows 4x at 0s", "--fault", "rank 2 stops at 1us for 1us")
    assert slow > time_of()
    noisy = [time_of("--noise", "1us/2us", "--seed", seed) for seed in ("1", "2", "1")]
    assert noisy[0] == noisy[2] != noisy[1]


def test_gantt_is_drawn_as_wide_as_the_screen(simulate):
    output = simulate("--size", "75000", "--segments", "1", "--gantt").output
    row = next(line for line in output.splitlines() if line.startswith("rank 0"))
    assert row == "rank 0  " + (">" * 7 + "." * 6) * 4
    assert output.endswith("> sends   + applies   # both   . waits   x is gone\n")


def test_a_trace_is_written(simulate, folder):
    done = simulate("--size", "75000", "--trace", "run.json")
    assert done.code == 0
    assert done.output.endswith("wrote run.json: open it at ui.perfetto.dev\n")
    assert json.loads((folder / "run.json").read_text())["traceEvents"]


def test_a_failed_run_has_a_trace_too(simulate, folder):
    assert simulate("--fault", "rank 1 dies at 0s", "--trace", "run.json", "--json").code == 1
    assert "gave up" in (folder / "run.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--size", ""], "'' is not a size"),
        (["--size", "-1"], "'-1' is not a size"),
        (["--size", "1P"], "'1P' is not a size: write bytes, or a number with K, M, G or T"),
        (["--size", "2000T"], "the size is 2199023255552000: give 0 to 1125899906842624"),
        (["--size", "1K:"], "'1K:' is not a sweep: write FROM:TO or FROM:TO:FACTOR"),
        (["--size", "1K:1G:1"], "'1K:1G:1' is not a sweep"),
        (["--size", "1K:1G:4:4"], "is not a sweep"),
        (["--size", "0:1G"], "'0:1G' is an empty sweep: give sizes of 1 byte or more, the smaller"),
        (["--size", "1:0"], "'1:0' is an empty sweep: give sizes of 1 byte or more, the smaller"),
        (["--size", "2K:1K"], "'2K:1K' is an empty sweep"),
        (["--size", "1K,"], "'' is not a size"),
        (["--size", "1K,2K"], "2 sizes for 1 block: give one for each"),
        (["--size", "1K:1M", "--gantt"], "--size 1K:1M is a sweep: give one size"),
        (["--size", "1K:1M", "--trace", "x"], "--size 1K:1M is a sweep: give one size"),
        (["--segments", "0"], "0 segments of transfers that have 22369622 bytes at most: give 1"),
        (["--size", "1", "--segments", "2"], "transfers that have 1 byte at most: give 1\n"),
        (["--seed", "0"], "--seed is of the noise, and there is none: give --noise too"),
        (["--gantt", "--json"], "--gantt is for people and --json for programs: give one of them"),
        (["--segments", "x"], "Invalid value for '--segments'"),
        (["--window", "0"], "the window is 0: give 1 to"),
        (["--noise", "20ms"], "'20ms' is no noise: write LONGEST/EVERY"),
        (["--noise", "1ps/1ps"], "pauses: let them be rarer"),
        (["--fault", "rank 1"], "'rank 1' is not a fault"),
        (["--fault", "rank 9 dies at 1ms"], "the rank of a fault is 9: give 0 to 2"),
        (["--fault", "link 0->7 breaks at 1ms"], "ring:3 has no link 0->7 that could fail"),
        (["--deadline", "30"], "'30' is not a time: write it with s, ms"),
        (["--deadline", "9999999s"], "the deadline in picoseconds is"),
        (["--topology", "ring:4"], "ring is for 3 ranks, ring:4 has 4"),
        (["--topology", "blob"], "no topology 'blob'"),
        (["--trace", "/dev/null/x"], "/dev/null/x cannot be written: Not a directory"),
        (["--speed", "9"], "No such option: --speed"),
    ],
)
def test_a_request_that_cannot_be_carried_out_is_2_and_one_line_on_stderr(
    simulate, arguments, message
):
    done = simulate(*arguments)
    assert (done.code, done.output) == (2, "")
    assert message in done.problem
    assert done.problem.startswith("weft: ")
    assert done.problem.count("\n") == 1


def test_a_wrong_schedule_is_2_and_names_the_command_that_shows_why(simulate):
    done = simulate("--json", file="broken.txt")
    assert (done.code, done.output) == (2, "")
    assert done.problem == (
        "weft: broken.txt is a wrong schedule: `weft verify broken.txt` shows why\n"
    )


def test_a_route_that_is_missing_is_named(simulate, folder):
    doubling = weft.classic.recursive_doubling_allreduce(weft.allreduce(4))
    (folder / "doubling.txt").write_text(weft.format_text(doubling))
    done = simulate(file="doubling.txt", topology="ring:4")
    assert (done.code, done.output) == (2, "")
    assert "ring:4 has no route 0 from rank 0 to rank 2, which the schedule uses" in done.problem


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", f"{SAY_THE_MEMORY}\nmain({['simulate', *arguments]!r})"]


# The most that the process ever held, in kB.
SAY_THE_MEMORY = """
import atexit, pathlib, sys
from weft.cli import main
status = pathlib.Path("/proc/self/status")
most = lambda: status.read_text().partition("VmHWM:")[2].split()[0]
atexit.register(lambda: print(most(), file=sys.stderr))
print("ready", flush=True)
"""


@pytest.mark.slow
def test_ctrl_c_ends_a_long_run(tmp_path):
    path = tmp_path / "ring.json"
    weft.save(weft.classic.ring_allreduce(weft.allreduce(128)), path)
    long = command(str(path), "-t", "ring:128", "-s", "1G", "--segments", "4000")
    with subprocess.Popen(long, stdout=PIPE, stderr=PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert (process.returncode, output) == (130, "")


@pytest.mark.slow
@pytest.mark.memory
def test_a_ring_over_1024_ranks_fits_in_memory(tmp_path):
    path = Path(tmp_path) / "ring.json.gz"
    weft.save(weft.classic.ring_allreduce(weft.allreduce(1024)), path)
    whole = command(str(path), "-t", "ring:1024", "-s", "16M", "--json")
    done = subprocess.run(whole, capture_output=True, text=True, check=True, timeout=120)
    (data,) = json.loads(done.stdout.removeprefix("ready\n"))
    assert data["finished"]
    assert int(done.stderr) < 1_500_000
