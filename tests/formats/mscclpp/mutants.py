"""Plans with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

Change = Callable[[list[dict[str, Any]]], object]  # to the operations of a threadblock


def mutants(plan: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every plan that comes from one change to one operation, with the name of the change."""
    for rank, gpu in enumerate(plan["gpus"]):
        for number, block in enumerate(gpu["threadblocks"]):
            for at, op in enumerate(block["ops"]):
                for name, change in changes(at, op, block["ops"]):
                    mutant = deepcopy(plan)
                    change(mutant["gpus"][rank]["threadblocks"][number]["ops"])
                    yield name, mutant


def changes(at: int, op: dict[str, Any], ops: list[dict[str, Any]]) -> Iterator[tuple[str, Change]]:
    name = op["name"]
    yield f"drop {name}", lambda all_: all_.pop(at)
    yield f"repeat {name}", lambda all_: all_.insert(at, deepcopy(all_[at]))
    if at + 1 < len(ops):
        yield "swap", lambda all_: all_.insert(at, all_.pop(at + 1))
    if name in {"signal", "wait"}:
        yield f"relax {name}", lambda all_: all_[at].update(name=f"rlx{name}")
    for side in ("src_buff", "dst_buff"):
        for each, chunks in enumerate(op.get(side, ())):
            for field in ("index", "size", "buffer_id"):
                for step in (-1, 1) if chunks.get(field) else (1,) if field in chunks else ():
                    yield f"{field} of {name}", shifted(at, side, each, field, step)
    for each, channel in enumerate(op.get("channel_ids", ())):
        for step in (-1, 1) if channel else (1,):
            yield f"channel of {name}", rewired(at, each, step)


def shifted(at: int, side: str, each: int, field: str, step: int) -> Change:
    def change(ops: list[dict[str, Any]]) -> None:
        ops[at][side][each][field] += step

    return change


def rewired(at: int, each: int, step: int) -> Change:
    def change(ops: list[dict[str, Any]]) -> None:
        ops[at]["channel_ids"][each] += step

    return change
