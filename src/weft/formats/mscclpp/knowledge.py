"""What is over, for all threads of a threadblock, when one of its acts begins.

An act of its own is over after the next `nop`.  A wait, and the `nop` behind it, tell what its
signal told: all that was over for the sender at the `nop` before the signal.  What a port does is
over for who hears of it through the same port, and after a flush.  A relaxed signal, or wait, says
that its gpu has entered the call, and that reads are over, but nothing of what was written.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.errors import BadInput
from weft.formats.mscclpp.acts import Act, Acts, End
from weft.formats.mscclpp.meetings import Meetings
from weft.formats.mscclpp.operations import SIGNALS

Needs = list[list[int]]


def knowledge(acts: Acts, meetings: Meetings) -> Needs:
    """For each step, those that are over when it begins, but for what these in turn come after."""
    over = [list(told) for told in meetings.tells]
    for thread in acts.threads():
        ports: dict[End, int] = {}
        last: list[int] = []  # the nop
        since: list[int] = []
        for step in thread:
            act = acts.steps[step]
            over[step] += last
            for end in act.ends if act.by_port else ():
                over[step] += [ports[end]] if end in ports else []
                ports[end] = step
            if act.name in {"nop", "barrier", "go on"}:
                over[step] += since
                last, since = [step], []
            elif act.name == "flush" or not (act.by_port or act.name in SIGNALS):
                since.append(step)
    return over


def check_presence(
    acts: Acts, order: Sequence[int], over: Needs, relaxed: Needs, *, double_scratch: bool
) -> None:
    """Nobody may touch the memory of a gpu that may not have entered the call, or have left it."""
    entered = [1 << act.rank for act in acts.steps]
    for step in order:
        for other in over[step]:
            entered[step] |= entered[other]
        for other in relaxed[step]:
            entered[step] |= 1 << acts.steps[other].rank
    written = _outlived_by(acts, order, over)
    everything = [[*one, *two] for one, two in zip(over, relaxed, strict=True)]
    read = _outlived_by(acts, order, everything)
    for step, act in enumerate(acts.steps):
        touched = {(each, read[step]) for effect in act.effects for each in effect.sources}
        touched |= {(effect.target, written[step]) for effect in act.effects}
        for where, ranks in sorted(touched):
            if where.packets or (double_scratch and where.buffer == "s"):
                continue  # each call has its own
            _require(act, where.rank, str(where), entered=entered[step], outlived=ranks)


def _require(act: Act, rank: int, where: str, *, entered: int, outlived: int) -> None:
    if not entered >> rank & 1:
        raise BadInput(
            f"{act} touches {where} before gpu {rank} is known to have entered the call: let that "
            "gpu signal first"
        )
    if not outlived >> rank & 1:
        raise BadInput(
            f"{act} touches {where}, and that gpu may leave the call before: let it wait"
        )


def _outlived_by(acts: Acts, order: Sequence[int], over: Needs) -> list[int]:
    """For each step the gpus at whose end it is over, as bits."""
    ranks = [0 if act.by_port and act.name != "flush" else 1 << act.rank for act in acts.steps]
    for step in reversed(order):
        for other in over[step]:
            ranks[other] |= ranks[step]
    return ranks
