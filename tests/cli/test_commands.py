"""The commands as a user meets them: a process, its output, its exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import weft

RING = weft.format_text(weft.classic.ring_allreduce(weft.allreduce(3)))
BROKEN = RING.replace("2.in2 -> 0.out2 + in2\n", "")


def run(*arguments: str, width: int = 80) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": str(width), "TERM": "dumb"}
    command = [sys.executable, "-m", "weft", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=60, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ring.txt").write_text(RING)
    (tmp_path / "broken.txt").write_text(BROKEN)
    eight = weft.classic.ring_allreduce(weft.allreduce(8))
    (tmp_path / "eight.txt").write_text(weft.format_text(eight))
    (tmp_path / "truncated.json").write_text('{"format": "weft-schedule", "ver')
    return tmp_path


def test_yes_is_0(folder):
    done = run("verify", str(folder / "ring.txt"), "--topology", "ring:3")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "ok     ring, allreduce over 3 ranks, 3 pieces a block: "
        "12 transfers in 12 messages, out of place and in place\n"
    )


def test_no_is_1_and_an_answer_on_stdout(folder):
    path = str(folder / "broken.txt")
    done = run("verify", path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("WRONG  transfer 2 is wrong: 0.out2 -> 1.out2 + in2")
    assert f"see it: weft verify {path} --at 0.out2" in done.stdout


def test_the_command_that_an_error_names_works(folder):
    path = str(folder / "broken.txt")
    first = run("verify", path).stdout.splitlines()
    command = next(line for line in first if "see it:" in line).split("weft ")[1].split()
    done = run(*command)
    assert done.returncode == 1
    assert "What is written to 0.out2, out of place" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verify", "nowhere.json"], "nowhere.json: cannot be read: No such file or directory"),
        (["verify", "truncated.json"], "truncated.json: not a valid weft-schedule file"),
        (["verify", "eight.txt", "--topology", "full:4"], "ring is for 8 ranks, full:4 has 4"),
        (["verify", "ring.txt", "--topology", "blob"], "no topology 'blob'"),
        (["verify", "ring.txt", "--topology", ""], "no topology ''"),
        (["verify", "ring.txt", "--at", ""], "'' is not a place"),
        (["algorithms", "--topology", ""], "no topology ''"),
        (["verify", "ring.txt", "--at", "9.out0"], "9.out0 is not a place of"),
        (["verify"], "Missing argument"),
        (["verify", "ring.txt", "--fast"], "No such option: --fast"),
        (["algorithms", "allsum"], "allsum"),
        (["algorithms", "--ranks", "0"], "0 ranks"),
        (["algorithms", "--ranks", "4", "--topology", "ring:8"], "--ranks is 4, ring:8 has 8"),
        (["algorithms", "--root", "9"], "give a root below 8"),
        (
            ["algorithms", "--ranks", "2", "--write", "/dev/null/x"],
            "/dev/null/x cannot be made: Not a directory",
        ),
        (["weave"], "No such command 'weave'"),
    ],
)
def test_a_request_that_cannot_be_carried_out_is_2_and_one_line_on_stderr(
    folder, arguments, message
):
    paths = [str(folder / a) if a.endswith((".txt", ".json")) else a for a in arguments]
    done = run(*paths)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.startswith("weft: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_verify_for_machines(folder):
    good = json.loads(run("verify", str(folder / "ring.txt"), "--json").stdout)
    assert (good["correct"], good["ranks"], good["finding"]) == (True, 3, None)
    bad = json.loads(run("verify", str(folder / "broken.txt"), "--json", "--at", "1.out1").stdout)
    assert bad["correct"] is False
    assert bad["finding"]["place"] == "0.out2"
    assert bad["finding"]["rule"] == "source is written"
    assert bad["writes"]["out of place"] == []


def test_algorithms_as_a_table():
    table = run("algorithms", "--topology", "ring:8").stdout
    assert table.splitlines()[0].split()[:2] == ["collective", "algorithm"]
    rows = [line.split() for line in table.splitlines()]
    assert ["allreduce", "ring", "112", "112", "7/4", "S", "14", "S", "fits"] in rows
    assert ["reducescatter", "ring", "56", "56", "7/8", "S", "7", "S", "fits"] in rows


def test_algorithms_for_machines(tmp_path):
    done = run("algorithms", "allreduce", "-n", "8", "--json", "--write", str(tmp_path))
    rows = {row["algorithm"]: row for row in json.loads(done.stdout)}
    path = str(tmp_path / "ring-allreduce-8.json")
    assert rows["ring"] == {
        "collective": "allreduce",
        "algorithm": "ring",
        "error": None,
        "ranks": 8,
        "transfers": 112,
        "messages": 112,
        "most_sent": "7/4",
        "all_sent": "14",
        "lacks_route": None,
        "file": path,
    }
    assert len(weft.load(path)) == 112
    rows = json.loads(run("algorithms", "-t", "ring:8", "--json").stdout)
    lacks = {(row["algorithm"], row["collective"]): row["lacks_route"] for row in rows}
    assert lacks["recursive doubling", "allreduce"] == "0.tmp1 -> 2.tmp2 + tmp1"
    assert lacks["ring", "allreduce"] is None


@pytest.mark.slow
def test_what_is_too_large_is_left_out_and_the_rest_shown():
    done = run("algorithms", "--ranks", "60000")
    assert done.returncode == 0
    assert "broadcast   binomial" in done.stdout
    assert "left out: ring allreduce: allreduce over 60000 ranks" in done.stdout
    alone = run("algorithms", "alltoall", "--ranks", "60000")
    assert (alone.returncode, alone.stdout) == (2, "")
    assert "take fewer ranks" in alone.stderr


def test_nothing_is_cut_off_on_a_narrow_terminal():
    wide, narrow = (run("algorithms", width=width).stdout for width in (200, 40))
    assert wide == narrow


def test_algorithms_of_every_collective_are_listed():
    listed = {line.split(" ")[0] for line in run("algorithms").stdout.splitlines()}
    assert set(weft.Kind) <= listed


def test_algorithms_write_files_that_verify(tmp_path):
    done = run("algorithms", "--ranks", "4", "--write", str(tmp_path / "new"))
    paths = sorted((tmp_path / "new").iterdir())
    assert len(paths) == len(weft.ALGORITHMS)
    assert done.stdout.count("wrote") == len(paths)
    for path in paths:
        weft.load(path)


def test_odd_names_cannot_write_on_the_terminal_or_crash(tmp_path):
    path = tmp_path / "\x1b[31m\n\udcff.txt"
    path.write_text(BROKEN)
    done = run("verify", os.fsdecode(path))
    assert done.returncode == 1
    assert "\x1b" not in done.stdout
    assert "\n\udcff" not in done.stdout


def test_a_file_name_cannot_write_on_the_terminal(tmp_path):
    done = run("verify", str(tmp_path / "\x1b[31mred\n"))
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_full_disk_is_one_line(folder):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "weft", "verify", str(folder / "ring.txt")],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "weft: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize(
    ("closed", "code", "output", "problem"),
    [
        ("1>&-", 2, "", "weft: the output cannot be written: it is closed\n"),
        ("2>&-", 0, "ok     ring", ""),
        ("1>&- 2>&-", 2, "", ""),
    ],
)
def test_a_closed_stream_is_no_accident(folder, closed, code, output, problem):
    done = in_shell(f'"$0" -m weft verify "$1" {closed}', folder)
    assert (done.returncode, done.stderr) == (code, problem)
    assert done.stdout.startswith(output)


@pytest.mark.parametrize("stderr", ["&-", "/dev/full"])
def test_a_problem_that_cannot_be_told_is_still_2(folder, stderr):
    assert in_shell(f'"$0" -m weft verify "$1.json" 2>{stderr}', folder).returncode == 2


@pytest.mark.parametrize(
    "arguments",
    ['verify "$1"', 'simulate "$1" -t ring:3', "algorithms", "algorithms --json", "--help"],
)
def test_when_a_pipe_closes_it_ends_as_unix_tools_do(folder, arguments):
    """It is neither the 1 that means no, nor a traceback."""
    done = in_shell(f'"$0" -m weft {arguments} | true; exit ${{PIPESTATUS[0]}}', folder)
    assert done.returncode == 128 + signal.SIGPIPE
    assert (done.stdout, done.stderr) == ("", "")


def in_shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The line, where `$0` is this Python and `$1` a schedule."""
    command = ["bash", "-c", line, sys.executable, str(folder / "ring.txt")]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_markup_in_a_path_is_text(tmp_path):
    path = tmp_path / "[bold]x[nonsense.txt"
    path.write_text(BROKEN)
    assert str(path) in run("verify", str(path)).stdout


@pytest.mark.slow
def test_demo_runs_and_shows_the_break():
    done = run("demo")
    assert (done.returncode, done.stderr) == (0, "")
    assert "counted too often: rank 0" in done.stdout
    assert "2,095,104 transfers" in done.stdout


def test_help_version_and_completion():
    assert run("--version").stdout.startswith("weft 0.")
    assert "Prove that a schedule does what it says" in run("-h").stdout
    assert "--install-completion" in run("--help").stdout
    assert run().returncode == 2
    assert "Usage: weft" in run().stdout
