from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import weft
from formats.mscclpp.executor import Machine, draw_blocks, expected
from formats.mscclpp.mutants import mutants
from synthesis.promises import algorithms_for, promise
from twins.correct import correct_schedule
from weft.formats.mscclpp import mscclpp_plan, schedule_from_mscclpp
from weft.formats.mscclpp.plan import MOST_CHANNELS, MOST_OPERATIONS, MOST_THREADBLOCKS
from weft.synthesis.classic.algorithms import Algorithm


@st.composite
def classic(draw: st.DrawFn, most: int) -> tuple[weft.Schedule, bool]:
    """An algorithm from any root, and whether in place."""
    n = draw(st.integers(1, most))
    algorithm = draw(st.sampled_from(planned_for(n)))
    root = draw(st.integers(0, n - 1)) if algorithm.kind.rooted else None
    schedule = algorithm.build(weft.Collective(algorithm.kind, n, root))
    return schedule, draw(st.sampled_from(ways(schedule)))


def planned_for(n: int) -> list[Algorithm]:
    """There are no plans for barriers."""
    return [each for each in algorithms_for(n) if each.kind is not weft.Kind.BARRIER]


def ways(schedule: weft.Schedule) -> list[bool]:
    """In place, or not."""
    return [False] * schedule.out_of_place + [True] * schedule.in_place


def plan_if_it_fits(schedule: weft.Schedule, *, in_place: bool) -> bytes | None:
    """Up to 8 ranks all algorithms do."""
    try:
        return mscclpp_plan(schedule, in_place=in_place)
    except weft.BadInput as problem:
        assert "MSCCL++ takes at most" in str(problem)
        assert schedule.collective.ranks > 8
        return None


def exportable(seed: int) -> weft.Schedule:
    draw = Random(seed)
    while True:
        schedule = correct_schedule(draw, draw.randint(1, 5))
        if not schedule.collective.uneven and schedule.collective.kind is not weft.Kind.BARRIER:
            return schedule


def run(schedule: weft.Schedule, seed: int, *, in_place: bool) -> None:
    plan = json.loads(mscclpp_plan(schedule, in_place=in_place))
    run_plan(plan, schedule.collective, seed)


def run_plan(plan: dict[str, Any], collective: weft.Collective, seed: int) -> None:
    """Three calls in a row, in random order, end in the right numbers."""
    draw, gpu = Random(seed), plan["gpus"][0]
    pieces = collective.pieces
    rows = collective.final[collective.final["rank"] == collective.final["rank"][0]]
    blocks = len(set(pieces[rows["piece"]]["block"].tolist()))
    chunks = gpu["output_chunks"] // blocks
    calls = [draw_blocks(collective, chunks, draw) for _ in range(3)]
    found = Machine(plan, collective, draw).run(calls)
    for rank, outputs in enumerate(found):
        for blocks_given, output in zip(calls, outputs, strict=True):
            wanted = expected(collective, chunks, blocks_given, rank)
            assert output[: len(wanted)].tolist() == wanted.tolist()


@given(classic(5), st.integers(0, 2**32))
def test_an_exported_algorithm_computes_what_it_should_in_any_order(given_, seed):
    schedule, in_place = given_
    run(schedule, seed, in_place=in_place)


@given(st.integers(0, 2**32))
def test_any_correct_schedule_can_be_exported_and_run(seed):
    schedule = exportable(seed)
    for in_place in ways(schedule):
        run(schedule, seed, in_place=in_place)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 8, 16])
def test_an_exported_algorithm_comes_back_correct_and_goes_out_the_same(n):
    fit = 0
    for algorithm in planned_for(n):
        schedule = algorithm.build(weft.Collective.named(algorithm.kind, n))
        for in_place in ways(schedule):
            plan = plan_if_it_fits(schedule, in_place=in_place)
            if plan:
                fit += 1
                back = schedule_from_mscclpp(plan)
                weft.verify(back)
                assert (back.name, back.collective.kind) == (schedule.name, algorithm.kind)
                assert (back.in_place, back.out_of_place) == (in_place, not in_place)
                assert mscclpp_plan(back, in_place=in_place) == plan
    assert fit > len(planned_for(n))


@given(st.integers(0, 2**32))
def test_any_correct_schedule_comes_back_correct_and_goes_out_the_same(seed):
    schedule = exportable(seed)
    for in_place in ways(schedule):
        plan = mscclpp_plan(schedule, in_place=in_place)
        back = schedule_from_mscclpp(plan)
        weft.verify(back)
        assert back.collective.kind is schedule.collective.kind
        assert mscclpp_plan(back, in_place=in_place) == plan


@given(classic(12))
def test_what_is_exported_keeps_to_the_limits_of_the_executor(given_):
    schedule, in_place = given_
    content = plan_if_it_fits(schedule, in_place=in_place)
    assume(content)
    plan = json.loads(content or b"")
    for gpu in plan["gpus"]:
        assert 1 <= len(gpu["threadblocks"]) <= MOST_THREADBLOCKS
        assert min(gpu["input_chunks"], gpu["output_chunks"]) > 0
        for block in gpu["threadblocks"]:
            assert len(block["ops"]) <= MOST_OPERATIONS
            assert sum(len(each["channel_ids"]) for each in block["channels"]) <= MOST_CHANNELS
    chunks = max(gpu[f"{side}_chunks"] for gpu in plan["gpus"] for side in ("input", "scratch"))
    per_chunk = plan["max_message_size"] // plan["gpus"][0]["input_chunks"]
    assert plan["collective"] == "allgather" or per_chunk * chunks < 2**32


def test_plans_have_names_of_their_own_however_long_those_of_the_schedules_are():
    """Plans of one name would be taken for one by the executor."""
    schedule = replace(weft.classic.ring_allreduce(weft.allreduce(2)), name="x" * 80)
    names = {
        json.loads(mscclpp_plan(schedule, in_place=in_place))["name"] for in_place in (False, True)
    }
    assert names == {"x" * 68 + " allreduce 2", "x" * 59 + " allreduce 2 in place"}


def test_transfers_of_one_message_become_one_put_and_one_signal():
    draft = weft.ScheduleDraft(weft.broadcast(2).cut(4))
    collective = draft.collective
    draft.move(0, 1, range(4), collective.output(np.arange(4)), message=0)
    draft.move(0, 0, range(4), collective.output(np.arange(4)), message=0)
    plan = json.loads(mscclpp_plan(draft.schedule("whole", in_place=False)))
    names = Counter(name_of(plan, 0))
    assert (names["put"], names["signal"], names["copy"]) == (1, 1, 1)
    assert all(size == 4 for size in sizes_of(plan, 0))


def test_a_put_goes_straight_to_a_slot_that_the_sender_knows_to_be_free():
    """In the second lap of a ring, signals that went round have told so: nothing is staged."""
    plan = json.loads(mscclpp_plan(weft.classic.ring_allreduce(weft.allreduce(4))))
    assert all(name != "copy" for rank in range(4) for name in name_of(plan, rank))
    assert [gpu["scratch_chunks"] for gpu in plan["gpus"]] == [3] * 4


def test_a_put_is_staged_where_the_receiver_may_still_read_the_slot():
    """Rank 1 saves what it is to send before rank 0, which has not heard of it, overwrites it."""
    collective = weft.alltoall(2)
    draft = weft.ScheduleDraft(collective)
    draft.copy(1, 0, collective.scratch(0))
    draft.move(0, 1, 1, collective.output(0))
    draft.move(1, 0, collective.scratch(0), collective.output(1))
    schedule = draft.schedule("swap", out_of_place=False)
    run(schedule, 1, in_place=True)
    plan = json.loads(mscclpp_plan(schedule, in_place=True))
    assert plan["gpus"][1]["scratch_chunks"] == 2
    assert plan["gpus"][0]["scratch_chunks"] == 0


def name_of(plan: dict[str, Any], rank: int) -> list[str]:
    return [op["name"] for block in plan["gpus"][rank]["threadblocks"] for op in block["ops"]]


def sizes_of(plan: dict[str, Any], rank: int) -> list[int]:
    return [
        chunks["size"]
        for block in plan["gpus"][rank]["threadblocks"]
        for op in block["ops"]
        for chunks in op.get("src_buff", ())
    ]


def hub(n: int) -> weft.Schedule:
    """One message brings all pieces to the root's neighbour, who sends them to one rank each."""
    draft = weft.ScheduleDraft(weft.scatter(n))
    collective, ranks = draft.collective, np.arange(2, n)
    draft.move(0, 1, ranks, collective.scratch(ranks), message=0)
    draft.move(1, ranks, collective.scratch(ranks), collective.output(0))
    draft.move(0, 1, 1, collective.output(0))
    draft.copy(0, 0, collective.output(0))
    return draft.schedule("hub", in_place=False)


def chatter(times: int) -> weft.Schedule:
    """Rank 0 tells rank 1 the same again and again."""
    draft = weft.ScheduleDraft(weft.broadcast(2))
    collective = draft.collective
    for _ in range(times):
        draft.move(0, 1, 0, collective.output(0))
    draft.copy(0, 0, collective.output(0))
    return draft.schedule("chatter", in_place=False)


def one_way(**claims: bool) -> weft.Schedule:
    draft = weft.ScheduleDraft(weft.broadcast(2))
    draft.move(0, 1, 0, draft.collective.output(0))
    if claims.get("out_of_place", True):
        draft.copy(0, 0, draft.collective.output(0))
    return draft.schedule("one way", **claims)


def odd() -> weft.Schedule:
    draft = weft.ScheduleDraft(weft.broadcast(1).cut([1, 131073]))
    draft.copy(0, range(2), draft.collective.output(np.arange(2)))
    return draft.schedule("odd")


def uneven() -> weft.Schedule:
    draft = weft.ScheduleDraft(weft.allgatherv(2))
    draft.move([0, 1], [1, 0], 0, draft.collective.output(np.arange(2)))
    draft.copy([0, 1], 0, draft.collective.output(np.arange(2)))
    return draft.schedule("uneven")


@pytest.mark.parametrize(
    ("schedule", "in_place", "reason"),
    [
        (lambda: hub(20), False, r"channels, and MSCCL\+\+ takes at most 16"),
        (lambda: chatter(40), False, r"operations, and MSCCL\+\+ takes at most 64"),
        (lambda: one_way(in_place=False), True, "does not work in place: .* in_place=False"),
        (lambda: one_way(out_of_place=False), False, "out of place: .* in_place=True"),
        (odd, False, "needs 131074 chunks in a buffer, more than 65536: cut blocks less"),
        (uneven, False, "allgatherv over 2 ranks cannot be"),
        (
            lambda: weft.classic.dissemination_barrier(weft.barrier(2)),
            False,
            "barrier over 2 ranks cannot be an MSCCL",
        ),
    ],
)
def test_what_cannot_be_exported_is_refused_in_one_line(schedule, in_place, reason):
    with pytest.raises(weft.BadInput, match=reason) as caught:
        mscclpp_plan(schedule(), in_place=in_place)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_every_mutant_of_a_plan_is_noticed_or_harmless():
    """Harmless are a nop too many, and neighbours that may change places; and they run right.

    Where an algorithm sends ranks what they have, much can be left out: such are not tried.
    """
    tried, alive = Counter[str](), Counter[str]()
    for algorithm in (each for each in planned_for(3) if promise(each).thrifty):
        schedule = algorithm.build(weft.Collective.named(algorithm.kind, 3))
        for in_place in ways(schedule):
            plan = json.loads(mscclpp_plan(schedule, in_place=in_place))
            for name, mutant in mutants(plan):
                tried[name] += 1
                try:
                    weft.verify(schedule_from_mscclpp(json.dumps(mutant).encode()))
                except (weft.BadInput, weft.WrongSchedule):
                    continue
                alive[name] += 1
                run_plan(mutant, schedule.collective, sum(alive.values()))
    assert sum(tried.values()) > 3000
    assert tried["drop wait"] > 50
    assert set(alive) == {"repeat nop", "swap"}
    assert sum(alive.values()) < sum(tried.values()) // 10
