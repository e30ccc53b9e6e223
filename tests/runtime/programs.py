"""What ranks do in the tests, each function as every rank of a job."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import weft
from runtime.blocks import Case
from synthesis.promises import algorithms_for
from twins.correct import correct_schedule
from twins.execute import expected
from weft import classic
from weft.collective import Collective
from weft.runtime.call import Call
from weft.runtime.group import SEGMENT_BYTES, share_memory
from weft.runtime.tuning import tune
from weft.schedule.replay import modes
from weft.schedule.schedule import Schedule

LARGE = SEGMENT_BYTES // 2  # floats: two segments and more
SOON = 0.2  # seconds


def outcome_of(work: Callable[[], object]) -> str:
    """What becomes of it, in a line."""
    try:
        work()
    except (weft.WeftError, KeyboardInterrupt) as error:
        return f"{type(error).__name__}: {error}"
    return "finished"


def schedules(ranks: int, randoms: int) -> Iterator[Schedule]:
    for algorithm in algorithms_for(ranks):
        root = ranks - 1 if algorithm.kind.rooted else None
        for uneven in {False, algorithm.kind.shape.blocks > 0}:
            yield algorithm.build(Collective(algorithm.kind, ranks, root, uneven))
    for seed in range(randoms):
        yield correct_schedule(Random(f"{ranks}, {seed}"), ranks)


def sizes_of(schedule: Schedule, size: int) -> list[int]:
    """For each block: alike, or in an uneven collective from nothing to twice the size."""
    c = schedule.collective
    if c.heard_is_enough:
        return [0] * c.blocks
    if not c.uneven:
        return [size] * c.blocks
    return [size * (block * 5 % 7) // 3 for block in range(c.blocks)]


def run_case(group: weft.Group, case: Case, segments: int | None, times: int = 2) -> None:
    c = case.schedule.collective
    want = expected(c.kind, c.ranks, c.root or 0, case.sizes.__getitem__)
    sizes = case.sizes if c.uneven else None
    call = group.prepare(
        case.schedule,
        case.inputs,
        case.outputs,
        in_place=case.in_place,
        sizes=sizes,
        segments=segments,
    )
    for _ in range(times):
        case.fill()
        call()
        if not c.heard_is_enough:
            case.check(want)


def every_schedule(group: weft.Group, sizes: list[int], randoms: int) -> int:
    """Run all of them in every mode, each size cut in several ways; return how many there were."""
    runs = 0
    for schedule in schedules(group.ranks, randoms):
        for mode in modes(schedule):
            in_place = mode.name == "in place"
            exchange = schedule.collective.kind is weft.Kind.ALLTOALL
            if in_place and exchange and schedule.collective.uneven:
                continue  # It works where the sizes are equal both ways.
            for size in sizes:
                case = Case(schedule, group.rank, sizes_of(schedule, size), in_place=in_place)
                many = [5] if min(case.sizes) > 100 and size < LARGE else []
                for segments in [None, *many]:
                    run_case(group, case, segments)
                    runs += 1
    return runs


def interleaved(group: weft.Group) -> list[list[float]]:
    """Two calls and a barrier in turns, whose messages must not be taken for each other's."""
    sums, gathered = np.zeros(3, np.float32), np.zeros((group.ranks, 2), np.float32)
    given, own = np.zeros(3, np.float32), np.zeros(2, np.float32)
    add = group.prepare(classic.ring_allreduce(weft.allreduce(group.ranks)), [given], [sums])
    gather = group.prepare(classic.ring_allgather(weft.allgather(group.ranks)), [own], [*gathered])
    wait = group.prepare(correct_barrier(group.ranks))
    seen = []
    for turn in range(300):
        given[:], own[:] = turn + group.rank, 1000 * group.rank + turn
        if turn % 3 != 1:
            add()
        if turn % 5 == 0:
            wait(2)
        if turn % 3 != 0:
            gather()
        if turn % 100 < 3:
            seen.append([*sums.tolist(), *gathered[:, 0].tolist()])
    return seen


def correct_barrier(ranks: int) -> Schedule:
    return next(
        schedule
        for seed in range(1000)
        if (schedule := correct_schedule(Random(seed), ranks)).collective.heard_is_enough
    )


def bits(group: weft.Group) -> list[list[str]]:
    """The sums of numbers that are not whole, cut in several ways, on this rank."""
    rows = []
    for schedule in schedules(group.ranks, 0):
        if schedule.collective.kind is not weft.Kind.ALLREDUCE:
            continue
        given = np.random.default_rng(group.rank).standard_normal(1003).astype(np.float32)
        result = np.zeros_like(given)
        row = []
        for segments in (None, 2, 7, 100):
            group.prepare(schedule, [given], [result], segments=segments)()
            row.append(result.tobytes().hex())
        rows.append(row)
    return rows


def reduction(group: weft.Group, size: int = 8, **options: Any) -> Call:
    ring = classic.ring_allreduce(weft.allreduce(group.ranks))
    return group.prepare(ring, [np.ones(size, np.float32)], [np.zeros(size, np.float32)], **options)


def one_ends(group: weft.Group, how: str) -> list[str]:
    """Rank 1 ends in the midst of many runs; the others say what they find, and may do."""
    call = reduction(group)
    call(100)
    if group.rank == 1:
        if how == "leaves":
            group.leave()
            return [outcome_of(call)]
        signal_soon(os.getpid(), signal.SIGKILL)
    return [outcome_of(lambda: call(1 << 40)), outcome_of(call)]


def one_stops(group: weft.Group) -> list[str]:
    """Rank 1 stops, and rank 0 ends it when it has seen that."""
    call = reduction(group, deadline=SOON)
    numbers = np.zeros((2, 1), np.float32)
    own = np.array([os.getpid()], np.float32)
    group.prepare(classic.ring_allgather(weft.allgather(2)), [own], [*numbers])()
    if group.rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    words = [outcome_of(call), outcome_of(call)]
    os.kill(int(numbers[1, 0]), signal.SIGKILL)
    return words


def signal_soon(process: int, number: int) -> None:
    threading.Thread(target=_later, args=[lambda: os.kill(process, number)]).start()


def _later(work: Callable[[], object]) -> None:
    time.sleep(SOON)
    work()


def never_comes(_: weft.Group) -> str:
    """A group has a rank more than there are processes."""
    group = weft.Group(share_memory(2), 0, 2)
    return outcome_of(reduction(group, deadline=SOON))


def unlike(group: weft.Group, what: str) -> str:
    """Rank 1 prepares something else."""
    mine = group.rank == 1
    ranks = group.ranks
    match what:
        case "size":
            return outcome_of(reduction(group, 8 + mine))
        case "segments":
            return outcome_of(reduction(group, 8, segments=1 + mine))
        case "times":
            return outcome_of(lambda: reduction(group)(1 + mine))
    build = classic.recursive_doubling_allreduce if mine else classic.ring_allreduce
    given, wanted = np.ones(8, np.float32), np.zeros(8, np.float32)
    return outcome_of(group.prepare(build(weft.allreduce(ranks)), [given], [wanted]))


def interrupted(group: weft.Group, folder: str) -> list[str]:
    """Rank 0 waits for one that does not call, and is interrupted."""
    call = reduction(group)
    if group.rank == 1:
        wait_for_word(folder)
        return [outcome_of(call)]
    signal_soon(os.getpid(), signal.SIGINT)
    words = [outcome_of(call), outcome_of(call)]
    give_word(folder)
    return words


def give_word(folder: str) -> None:
    Path(folder, "word").touch()


def wait_for_word(folder: str) -> None:
    while not Path(folder, "word").exists():
        time.sleep(0.01)


def interrupted_at_work(group: weft.Group) -> str:
    """All have news all of the time; with one rank, nothing is ever waited for."""
    call = reduction(group, LARGE)
    if group.rank == 0:
        signal_soon(os.getpid(), signal.SIGINT)
    return outcome_of(lambda: call(1 << 50))


def two_threads(group: weft.Group, folder: str) -> list[str]:
    """A thread waits in a call while another tries one."""
    call, other = reduction(group), reduction(group, 3)
    if group.rank == 1:
        wait_for_word(folder)
        return [outcome_of(call), outcome_of(other)]
    first: list[str] = []
    thread = threading.Thread(target=lambda: first.append(outcome_of(call)))
    thread.start()
    time.sleep(SOON)
    refused = [outcome_of(call), outcome_of(other)]
    give_word(folder)
    thread.join()
    return [*first, *refused, outcome_of(other)]


def still_there(group: weft.Group) -> str:
    """Rank 1 does what must not make it seem dead, while rank 0 waits for it."""
    call = reduction(group)
    if group.rank == 1:
        memory = int(os.environ["WEFT_MEMORY"])
        assert "has been taken" in outcome_of(weft.Group.join)
        child = os.fork()
        if child == 0:
            words = outcome_of(call)
            group.leave()
            os._exit("failed, or" not in words)
        assert os.waitpid(child, 0)[1] == 0
        os.close(memory)
        time.sleep(SOON)
    return outcome_of(call)


def tuned(group: weft.Group) -> list[int]:
    """The segments that are found for one collective, which then ends right."""
    schedule = classic.ring_allgather(weft.allgather(group.ranks))
    case = Case(schedule, group.rank, [LARGE // 4] * group.ranks, in_place=False)
    call = tune(group, schedule, case.inputs, case.outputs)
    case.fill()
    call()
    case.check(expected(weft.Kind.ALLGATHER, group.ranks, 0, case.sizes.__getitem__))
    return [call.segments]
