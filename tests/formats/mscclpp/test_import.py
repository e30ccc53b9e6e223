from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from formats.mscclpp.plans import (
    NOP,
    Json,
    block,
    encoded,
    fetched,
    gpu,
    handed_over,
    heard_elsewhere,
    here,
    memory_exchange,
    op,
    packets,
    piped,
    plan,
    port_exchange,
    pulled,
    shared,
    tell,
    there,
    token,
)
from synthesis.promises import algorithms_for
from weft.formats.mscclpp import mscclpp_plan, schedule_from_mscclpp

READABLE: dict[str, Callable[[], Json]] = {
    "put over memory": memory_exchange,
    **{f"{name} over ports": partial(port_exchange, name) for name in ("put", "pws", "pwsf")},
    **{name: partial(pulled, name) for name in ("rre", "rres", "res")},
    **{name: partial(packets, name) for name in ("respkt", "repkt", "recpkt", "recspkt", "cpkt")},
    "barrier": lambda: handed_over(barrier=True),
    "semaphore": lambda: handed_over(barrier=False),
    "get": partial(fetched, ends_together=True),
    "heard elsewhere": heard_elsewhere,
    "group": shared,
    "pipeline": piped,
}


@pytest.mark.parametrize("make", READABLE.values(), ids=READABLE)
def test_a_plan_becomes_a_schedule_that_verifies_and_goes_out_again(make):
    content = make()
    schedule = schedule_from_mscclpp(encoded(content))
    weft.verify(schedule)
    assert schedule.name == "by hand"
    assert (schedule.in_place, schedule.out_of_place) == (
        content["inplace"],
        not content["inplace"],
    )
    again = schedule_from_mscclpp(mscclpp_plan(schedule, in_place=content["inplace"]))
    weft.verify(again)
    assert again.collective == schedule.collective


def test_a_group_of_threadblocks_cuts_chunks():
    assert schedule_from_mscclpp(encoded(shared())).collective == weft.allgather(2).cut(2)


@pytest.mark.parametrize("root", [0, 1, 2])
def test_the_root_is_who_gives_or_gets(root):
    for algorithm in algorithms_for(3):
        if algorithm.kind.rooted:
            schedule = algorithm.build(weft.Collective.named(algorithm.kind, 3, root))
            for in_place in (False, True):
                back = schedule_from_mscclpp(mscclpp_plan(schedule, in_place=in_place))
                assert back.collective.root == root


def test_two_roots_are_one_too_many():
    content = plan(
        "reduce",
        *[gpu((1, 1, 0), block(op("copy", [here("i", 0)], [here("o", 0)]))) for _ in range(2)],
    )
    with pytest.raises(weft.BadInput, match="root of the reduce cannot be told: gpus 0, 1 all"):
        schedule_from_mscclpp(encoded(content))


def test_an_unused_optional_field_changes_nothing():
    content = memory_exchange()
    schedule = schedule_from_mscclpp(encoded(content))
    for each in content["gpus"]:
        del each["semaphores"]
    content["buffer_alignment"] = 16
    assert schedule_from_mscclpp(encoded(content)) == schedule


def change(path: str, value: object, content: dict[str, Any] | None = None) -> dict[str, Any]:
    """A readable plan with one field replaced, or dropped."""
    content = content or memory_exchange()
    *way, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    place: Any = content
    for key in way:
        place = place[key]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return content


OPS = "gpus.0.threadblocks.0.ops"
PUT = f"{OPS}.4"
PIPE = "gpus.1.threadblocks.0.ops.0"
SUM = op("re", [here("o", 0), here("o", 1)], [here("o", 0)], reduce_op="max")
GLRES = {"name": "glres", "src_buff": [{"switch_channel_id": 0, "index": 0, "size": 1}]}
CIRCLE = plan(
    "broadcast",
    *[
        gpu(
            (1, 1, 0),
            block(tell("wait", 0), tell("signal", 0), channels={"memory": [0]}),
            peers={"memory": [1 - rank]},
        )
        for rank in range(2)
    ],
)
LONELY = plan(
    "broadcast", gpu((1, 1, 0), block(token("sem_acquire", 0)), semaphores=[0]), gpu((1, 1, 0))
)
STARVED = plan(
    "broadcast",
    gpu((1, 1, 1), block(op("upkt", [here("s", 0)], [here("o", 0)]))),
    gpu((1, 1, 1)),
    protocol="LL",
)
TWICE = plan(
    "broadcast",
    gpu(
        (1, 1, 1),
        block(
            op("cpkt", [here("i", 0)], [here("s", 0)]), op("cpkt", [here("i", 0)], [here("s", 0)])
        ),
    ),
    gpu((1, 1, 1)),
    protocol="LL",
)
MIXED = plan(
    "broadcast",
    gpu(
        (1, 1, 2),
        block(
            op("cpkt", [here("i", 0)], [here("s", 0)]),
            op("copy", [here("i", 0)], [here("s", 1)]),
        ),
    ),
    gpu((1, 1, 2)),
    protocol="LL",
)
RELEASE = token("sem_release", 0)
GENEROUS = [tell("signal", 0), tell("wait", 0), NOP, RELEASE, RELEASE]
WAIT = block(tell("wait", 0), channels={"memory": [0]})
CROWD = plan(
    "broadcast",
    gpu((1, 1, 0), WAIT, WAIT, peers={"memory": [1]}),
    gpu((1, 1, 0), peers={"memory": [0]}),
)
ONE_SIDED = plan(
    "broadcast",
    gpu((1, 1, 0), block(tell("signal", 0), channels={"memory": [0]}), peers={"memory": [1]}),
    gpu((1, 1, 0)),
)

UNREADABLE = [
    (
        fetched(ends_together=False),
        r"\(get\) touches input chunk 0 of gpu 0, and that gpu may leave the call before",
    ),
    (MIXED, "the packets of scratch chunk 0 of gpu 0 lie on its chunk 1, which holds other data"),
    (CROWD, r"is on memory channel 0 of gpu 0, as is gpus\[0\].threadblocks\[0\].*: give each"),
    (ONE_SIDED, r"\(signal\) is for gpu 1, which has no memory channel back: connect both"),
    (
        change("gpus.1.threadblocks.0.ops", GENEROUS, handed_over(barrier=False)),
        "semaphore 0 of gpu 1 is released 2 times, and is acquired 1 time: .* is alone, give it",
    ),
    (change("gpus.1.id", 5), r"gpus\[1\]\.id is 5: write 1"),
    (change("gpus.0.threadblocks.0.id", 2), r"gpus\[0\]\.threadblocks\[0\]\.id is 2"),
    (
        change("gpus.0.channels.0.connected_to", [7]),
        "connected_to is 7: write another gpu, below 2",
    ),
    (change("gpus.0.remote_buffers.0.rank", 0), r"remote_buffers\[0\]\.rank is 0: write another"),
    (change("gpus.0.threadblocks.0.channels.0.channel_ids", [3]), "is 3: write a number below 1"),
    (change("gpus.0.output_chunks", 3), r"\[\(1, 2\), \(1, 3\)\]: give all gpus the same"),
    (change("collective", "allreduce"), "allreduce over 2 gpus with 1 chunks a block has 1 and 1"),
    (change("collective", "sendrecv"), "collective is 'sendrecv'"),
    (change("collective", "barrier"), "collective is 'barrier'"),
    (change("gpus", []), "the plan has no gpus"),
    (
        change("gpus.0.scratch_chunks", (1 << 32) - 1),
        "the number of scratch_chunks is 4294967295: write at most 67108864",
    ),
    (change("name", "x" * 200), "the plan is named"),
    (change("extra", 1), "unknown field `extra`"),
    (change("protocol", "Tree"), r"Invalid enum value 'Tree' - at `\$\.protocol`"),
    (
        change(f"{OPS}.0.name", "teleport"),
        r"ops\[0\]: 'teleport' is no operation: there are barrier",
    ),
    (
        change(f"{OPS}.3", GLRES),
        r"gpus\[0\]\.threadblocks\[0\]\.ops\[3\]: glres lets a switch work",
    ),
    (change(f"{OPS}.0.channel_ids", [1]), r"ops\[0\]: channel_ids is 1: write a number below 1"),
    (change(f"{OPS}.0.channel_ids", []), r"channel_ids is \[\]: write one or more"),
    (change(f"{OPS}.0.channel_type", "switch"), "channel_type switch: write memory or port"),
    (change(f"{OPS}.3", tell("flush", 0)), "only ports are flushed"),
    (change(f"{PUT}.name", "pws"), "where it would not signal: write port"),
    (change(f"{PUT}.dst_buff.0.buffer_id", 1), r"ops\[4\]: buffer_id is 1: write a number below 1"),
    (change(f"{PUT}.dst_buff.0.index", 2), "chunks 2 to 3 of o on gpu 1: it has 2"),
    (change(f"{PUT}.src_buff.0.size", 0), "chunks 0 to 0 of i on gpu 0"),
    (change(f"{PUT}.src_buff.0", here("o", 0, 2)), "put moves 2 chunks into 1"),
    (change(f"{PUT}.src_buff", []), "src_buff of put has the buffers none: write L"),
    (change(f"{PUT}.src_buff.0.type", None), "needs either type or buffer_id"),
    (change(f"{OPS}.3", SUM), "reduce_op is 'max', but the executor adds"),
    (
        change(f"{OPS}.3", op("copy", [here("o", 0, 2)], [here("o", 1, 2)])),
        "chunks 1 to 3 of o on gpu 0",
    ),
    (change(f"{OPS}.3", op("get", [there(0, 1)], [here("o", 0)])), "from another index"),
    (change(f"{OPS}.3", op("upkt", [here("o", 1)], [here("o", 0)])), "write protocol LL"),
    (
        change(f"{OPS}.3", op("upkt", [here("o", 1)], [here("o", 0)]), change("protocol", "LL")),
        "packets are held by scratch only",
    ),
    (change(f"{OPS}.3", token("sem_acquire", 0)), "semaphore_ids is 0: write a number below 0"),
    (change(f"{OPS}.3", {"name": "barrier", "barrier_id": 99}), "barrier_id is 99"),
    (
        change(f"{OPS}.3", {"name": "barrier", "barrier_id": 0, "num_threadblocks": 2}),
        "num_threadblocks is 2: the gpu has 1",
    ),
    (change(f"{OPS}", [NOP] * 65), "the number of .*ops is 65: write at most 64"),
    (
        CIRCLE,
        r"steps wait for each other: gpus\[0\].*ops\[0\] \(wait\) waits for gpus\[1\].*ops\[1\]",
    ),
    (LONELY, "semaphore 0 of gpu 0 is released 0 times, and is acquired 1 time"),
    (STARVED, "waits for the packets of scratch chunk 0 of gpu 0: write them somewhere"),
    (TWICE, "writes the packets of scratch chunk 0 of gpu 0 a second time"),
    (
        change("gpus.1.threadblocks.0.ops.1", NOP, change(f"{OPS}.0", NOP)),
        "touches output chunk 1 of gpu 0 before gpu 0 is known to have entered",
    ),
    (
        change(f"{OPS}.7", NOP),
        "memory channel 0 of gpu 1 signals gpu 0 2 times, and is awaited there 1 time: ",
    ),
    (change(f"{OPS}.6.name", "rlxsignal"), "and that gpu may leave the call before"),
    (change(f"{OPS}.5", None), "and that gpu may leave the call before"),
    (
        change(f"{OPS}.5", NOP, port_exchange("pws")),
        r"\(pws\) touches input chunk 0 of gpu 0, and that gpu may leave the call before",
    ),
    (
        change(f"{OPS}.8", op("copy", [here("o", 1)], [here("o", 0)])),
        r"\(put\) and gpus\[0\].*ops\[8\] \(copy\) touch output chunk 1 .* nothing orders them",
    ),
    (
        change("gpus.1.threadblocks.0.ops.1", token("sem_acquire", 0), handed_over(barrier=True)),
        "memory channel 0 of gpu 0 signals gpu 1 1 time, and is awaited there 0 times",
    ),
    (
        change("gpus.1.threadblocks.0.ops.2", NOP, handed_over(barrier=True)),
        "barrier 0 of gpu 1 is for 2 threadblocks, and is met by 1, up to 1 time: let so many",
    ),
    (
        change("gpus.1.threadblocks.0.ops.3", NOP, handed_over(barrier=False)),
        "semaphore 0 of gpu 1 is released 0 times",
    ),
    (
        change("gpus.1.threadblocks.1.ops.1", None, handed_over(barrier=False)),
        "touch scratch chunk 0 of gpu 1, and nothing orders them",
    ),
    (change(f"{PIPE}.iter_context.unit_size", 0, piped()), r"ops\[0\] would be done zero times"),
    (change(f"{PIPE}.ops.0", {"name": "pipeline"}, piped()), "a pipeline in a pipeline"),
    (
        change(f"{PIPE}.ops.0", op("copy", [here("s", 0, 2)], [here("o", 0, 2)]), piped()),
        "dst_buff size is 2: write up to num_chunks",
    ),
    (change(f"{OPS}.0.ops", [NOP]), r"ops\[0\].ops is given: write none"),
    (
        change("gpus.0.semaphores", [{"init_value": 0}] * 17),
        r"the number of gpus\[0\].semaphores is 17: write at most 16",
    ),
    (
        change("gpus.1.semaphores.0.init_value", 1, handed_over(barrier=False)),
        "touch scratch chunk 0 of gpu 1, and nothing orders them",
    ),
]


@pytest.mark.parametrize(("content", "reason"), UNREADABLE, ids=range(len(UNREADABLE)))
def test_a_plan_that_cannot_be_read_is_refused_in_one_line(content, reason):
    with pytest.raises(weft.BadInput, match=reason) as caught:
        schedule_from_mscclpp(encoded(content))
    assert "\n" not in str(caught.value)


def test_a_plan_that_is_not_utf_8_is_refused():
    with pytest.raises(weft.BadInput, match="not a valid MSCCL"):
        schedule_from_mscclpp(b'{"gpus": [], "\xee": 1}')


def test_a_plan_of_an_old_version_is_told_so():
    with pytest.raises(weft.BadInput, match="of an old"):
        schedule_from_mscclpp(b'{"name": "x", "gpus": [{"inputChunks": 1}]}')


def test_a_sum_that_is_counted_twice_is_found_by_the_verifier():
    content = pulled("rre")
    ops = content["gpus"][0]["threadblocks"][0]["ops"]
    ops[5:5] = [ops[5], NOP]
    schedule = schedule_from_mscclpp(encoded(content))
    with pytest.raises(weft.WrongSchedule):
        weft.verify(schedule)


@given(st.binary(max_size=60) | st.recursive(st.none() | st.integers(), st.lists).map(encoded))
def test_no_content_does_more_than_be_refused(content):
    with pytest.raises(weft.BadInput):
        schedule_from_mscclpp(content)


@given(st.data())
def test_a_plan_with_any_field_replaced_is_read_or_refused(data):
    """Whatever a field holds, there is an answer, and it is one line."""
    content = data.draw(st.sampled_from(list(READABLE.values())))()
    place = content
    while isinstance(place, dict | list) and place:
        keys = sorted(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(keys))
        parent, place = place, place[key]
    parent[key] = data.draw(st.integers(-2, 5) | st.sampled_from([True, "", "o", "re", [], {}]))
    try:
        weft.verify(schedule_from_mscclpp(json.dumps(content).encode()))
    except weft.BadInput as problem:
        assert "\n" not in str(problem)
    except weft.WrongSchedule:
        pass
