"""Plans written by hand, a gpu at a time, to be read."""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]

NOP: Json = {"name": "nop"}


def here(letter: str, index: int, size: int = 1) -> Json:
    return {"type": letter, "index": index, "size": size}


def there(buffer: int, index: int, size: int = 1) -> Json:
    return {"buffer_id": buffer, "index": index, "size": size}


def op(
    name: str, sources: list[Json], targets: list[Json], by: str = "memory", **more: object
) -> Json:
    return {"name": name, "src_buff": sources, "dst_buff": targets, "channel_type": by, **more}


def tell(name: str, *ids: int, by: str = "memory") -> Json:
    return {"name": name, "channel_ids": list(ids), "channel_type": by}


def token(name: str, *ids: int) -> Json:
    return {"name": name, "semaphore_ids": list(ids)}


def block(
    *ops: Json,
    channels: dict[str, list[int]] | None = None,
    remote: dict[str, list[int]] | None = None,
) -> Json:
    return {
        "ops": list(ops),
        "channels": [
            {"channel_type": kind, "channel_ids": ids} for kind, ids in (channels or {}).items()
        ],
        "remote_buffer_refs": [
            {"access_channel_type": kind, "remote_buffer_ids": ids}
            for kind, ids in (remote or {}).items()
        ],
    }


def gpu(
    chunks: tuple[int, int, int],
    *blocks: Json,
    peers: dict[str, list[int]] | None = None,
    remote: list[tuple[int, str]] | None = None,
    semaphores: list[int] | None = None,
) -> Json:
    kinds = list(peers or {"memory": []})
    return {
        "input_chunks": chunks[0],
        "output_chunks": chunks[1],
        "scratch_chunks": chunks[2],
        "threadblocks": [{"id": number, **each} for number, each in enumerate(blocks)],
        "channels": [
            {"channel_type": kind, "connected_to": ids} for kind, ids in (peers or {}).items()
        ],
        "remote_buffers": [
            {"rank": rank, "type": letter, "access_channel_types": kinds}
            for rank, letter in remote or []
        ],
        "semaphores": [{"init_value": value} for value in semaphores or []],
    }


def plan(collective: str, *gpus: Json, in_place: bool = False, **more: object) -> Json:
    return {
        "name": "by hand",
        "collective": collective,
        "protocol": "Simple",
        "inplace": in_place,
        "gpus": [{"id": number, **each} for number, each in enumerate(gpus)],
        **more,
    }


def encoded(content: object) -> bytes:
    return json.dumps(content).encode()


def exchange(by: str, put: list[Json]) -> Json:
    """An allgather of two: each copies its own chunk and brings it to the other by `put`."""

    def one(rank: int) -> Json:
        moved = json.loads(json.dumps(put).replace('"RANK"', str(rank)))
        return gpu(
            (1, 2, 0),
            block(
                tell("rlxsignal", 0, by=by),
                tell("rlxwait", 0, by=by),
                NOP,
                op("copy", [here("i", 0)], [here("o", rank)]),
                *moved,
                tell("wait", 0, by=by),
                NOP,
                channels={by: [0]},
                remote={by: [0]},
            ),
            peers={by: [1 - rank]},
            remote=[(1 - rank, "o")],
        )

    return plan("allgather", one(0), one(1))


def put_of(name: str, by: str) -> Json:
    target = {"buffer_id": 0, "index": "RANK", "size": 1}
    return op(name, [here("i", 0)], [target], by, channel_ids=[0])


def memory_exchange() -> Json:
    return exchange("memory", [put_of("put", "memory"), NOP, tell("signal", 0)])


def port_exchange(name: str = "put") -> Json:
    signals = {
        "put": [tell("signal", 0, by="port"), tell("flush", 0, by="port")],
        "pws": [tell("flush", 0, by="port")],
        "pwsf": [],
    }
    return exchange("port", [put_of(name, "port"), *signals[name]])


def pulled(name: str) -> Json:
    """An allreduce of two in place, in which each reads what the other has put into scratch."""

    def one(rank: int) -> Json:
        mine, theirs = rank, 1 - rank
        reduce = {
            "rre": [
                op("rre", [here("i", mine), there(0, mine)], [here("i", mine)], reduce_op="sum"),
                NOP,
                op("put", [here("i", mine)], [there(1, mine)]),
            ],
            "rres": [
                op("rres", [here("i", mine), there(0, mine)], [here("i", mine), there(1, mine)])
            ],
            "res": [
                op("get", [there(0, mine)], [here("s", mine)]),
                NOP,
                op("res", [here("i", mine), here("s", mine)], [here("i", mine), there(1, mine)]),
            ],
        }[name]
        return gpu(
            (2, 2, 2),
            block(
                op("copy", [here("i", theirs)], [here("s", theirs)]),
                NOP,
                tell("signal", 0),
                tell("wait", 0),
                NOP,
                *reduce,
                NOP,
                tell("signal", 0),
                tell("wait", 0),
                channels={"memory": [0]},
                remote={"memory": [0, 1]},
            ),
            peers={"memory": [1 - rank]},
            remote=[(1 - rank, "s"), (1 - rank, "i")],
        )

    return plan("allreduce", one(0), one(1), in_place=True)


def packets(name: str) -> Json:
    """An allreduce of two by packets: each sums half and brings it to the other."""

    def one(rank: int) -> Json:
        mine, theirs = rank, 1 - rank
        hand_on = {
            "respkt": [
                op("respkt", [here("i", mine), here("s", 0)], [here("o", mine), there(0, 1)])
            ],
            "repkt": [
                op("repkt", [here("i", mine), here("s", 0)], [here("o", mine)]),
                NOP,
                op("ppkt", [here("o", mine)], [there(0, 1)]),
            ],
            "recpkt": [
                op("recpkt", [here("i", mine), here("s", 0)], [here("o", mine), here("s", 2)]),
                op("rppkt", [here("s", 2)], [there(0, 1)]),
            ],
            "recspkt": [
                op(
                    "recspkt",
                    [here("i", mine), here("s", 0)],
                    [here("o", mine), here("s", 2), there(0, 1)],
                )
            ],
            "cpkt": [
                op("repkt", [here("i", mine), here("s", 0)], [here("o", mine)]),
                NOP,
                op("cpkt", [here("o", mine)], [here("s", 2)]),
                op("rppkt", [here("s", 2)], [there(0, 1)]),
            ],
        }[name]
        return gpu(
            (2, 2, 3),
            block(op("ppkt", [here("i", theirs)], [there(0, 0)]), *hand_on, remote={"memory": [0]}),
            block(op("upkt", [here("s", 1)], [here("o", theirs)])),
            peers={"memory": [1 - rank]},
            remote=[(1 - rank, "s")],
        )

    return plan("allreduce", one(0), one(1), protocol="LL", use_double_scratch_buffer=True)


def handed_over(*, barrier: bool) -> Json:
    """A broadcast of two, whose receiver has two threadblocks: one waits, one copies."""
    meet = {"name": "barrier", "barrier_id": 0, "num_threadblocks": 2}
    after = [meet] if barrier else [NOP, token("sem_release", 0)]
    before = [meet] if barrier else [token("sem_acquire", 0), NOP]
    put = op("put", [here("i", 0)], [there(0, 0)])
    sender = block(
        tell("wait", 0),
        NOP,
        put,
        op("copy", [here("i", 0)], [here("o", 0)]),
        NOP,
        tell("signal", 0),
        channels={"memory": [0]},
        remote={"memory": [0]},
    )
    waiter = block(tell("signal", 0), tell("wait", 0), *after, channels={"memory": [0]})
    copier = block(*before, op("copy", [here("s", 0)], [here("o", 0)]))
    return plan(
        "broadcast",
        gpu((1, 1, 0), sender, peers={"memory": [1]}, remote=[(1, "s")]),
        gpu((1, 1, 1), waiter, copier, peers={"memory": [0]}, semaphores=[0]),
    )


def heard_elsewhere() -> Json:
    """A broadcast of two: one threadblock is told first, another one copies."""
    sender = block(
        tell("rlxwait", 0),
        NOP,
        op("put", [here("i", 0)], [there(0, 0)]),
        op("copy", [here("i", 0)], [here("o", 0)]),
        NOP,
        tell("signal", 0),
        tell("signal", 1),
        channels={"memory": [0, 1]},
        remote={"memory": [0]},
    )
    told = block(tell("rlxsignal", 0), tell("wait", 0), channels={"memory": [0]})
    copier = block(
        tell("wait", 0), NOP, op("copy", [here("s", 0)], [here("o", 0)]), channels={"memory": [1]}
    )
    return plan(
        "broadcast",
        gpu((1, 1, 0), sender, peers={"memory": [1, 1]}, remote=[(1, "s")]),
        gpu((1, 1, 1), told, copier, peers={"memory": [0, 0]}),
    )


def fetched(*, ends_together: bool) -> Json:
    """A broadcast of two, whose receiver gets the data; the root may stay until that is over."""
    last = [NOP, tell("rlxsignal", 0)], [tell("rlxwait", 0)]
    get = op("get", [there(0, 0)], [here("o", 0)])
    return plan(
        "broadcast",
        gpu(
            (1, 1, 0),
            block(
                op("copy", [here("i", 0)], [here("o", 0)]),
                tell("signal", 0),
                *last[1] * ends_together,
                channels={"memory": [0]},
            ),
            peers={"memory": [1]},
        ),
        gpu(
            (1, 1, 0),
            block(
                tell("wait", 0),
                NOP,
                get,
                *last[0] * ends_together,
                channels={"memory": [0]},
                remote={"memory": [0]},
            ),
            peers={"memory": [0]},
            remote=[(0, "i")],
        ),
    )


def shared() -> Json:
    """The exchange over memory, with each put and copy done by a group of two threadblocks."""
    content = memory_exchange()
    for each in content["gpus"]:
        (only,) = each["threadblocks"]
        each["channels"][0]["connected_to"] *= 2
        each["threadblocks"] = []
        for number in range(2):
            mine = json.loads(json.dumps({**only, "id": number}))
            mine["channels"][0]["channel_ids"] = [number]
            for each_op in mine["ops"]:
                if "src_buff" in each_op:
                    each_op["tbg_info"] = {"tb_id": number, "tbg_size": 2}
            each["threadblocks"].append(mine)
    return content


def piped() -> Json:
    """The broadcast with a semaphore, with all that the receiver does inside pipelines."""
    content = handed_over(barrier=False)
    for each in content["gpus"][1]["threadblocks"]:
        context = {"unit_size": 1 << 20, "num_chunks": 1}
        each["ops"] = [{"name": "pipeline", "iter_context": context, "ops": each["ops"]}]
    return content
