"""An MSCCL++ execution plan as a schedule, where a list of transfers can say what it does.

A pipeline is done as for data that fits into one of its units.
"""

from __future__ import annotations

from dataclasses import replace

from weft.checks import require_name
from weft.collective import Collective, equal_weights
from weft.errors import BadInput
from weft.formats.listing import listed, table_of
from weft.formats.mscclpp.acts import Acts, limit
from weft.formats.mscclpp.knowledge import check_presence, knowledge
from weft.formats.mscclpp.meetings import Meetings, meetings_of
from weft.formats.mscclpp.memory import Buffers, buffers
from weft.formats.mscclpp.moving import landings_of, messages_of
from weft.formats.mscclpp.plan import Plan, decode_plan, name_suffix
from weft.formats.mscclpp.reading import read_acts
from weft.formats.mscclpp.slots import Slots
from weft.formats.threads import Message, Threads, events_of, in_order, needs_of, nowhere
from weft.kinds import Holds, Kind
from weft.schedule.schedule import MOST_SLOTS, Schedule, scratch_used


def schedule_from_mscclpp(content: bytes) -> Schedule:
    """Return what a plan does, not yet verified; a plan that hangs or races is refused."""
    plan = decode_plan(content)
    require_name("the plan", plan.name)
    kind, chunks, sizes = _collective(plan)
    acts = read_acts(plan)
    meetings = meetings_of(acts)
    threads = _threads(acts, meetings)
    order = in_order(threads)
    root = _root(kind, acts, order) if kind.rooted else None
    weights = (equal_weights(chunks * acts.shares),)
    collective = Collective(kind, len(plan.gpus), root, weights=weights)
    sizes = Buffers(*(size * acts.shares for size in sizes))
    scratch = max(gpu.scratch_chunks for gpu in plan.gpus) * acts.shares
    limit("scratch_chunks", scratch, MOST_SLOTS)
    slots = Slots(collective, sizes, scratch, in_place=plan.inplace)
    over = knowledge(acts, meetings)
    double_scratch = plan.use_double_scratch_buffer
    check_presence(acts, order, over, meetings.relaxed, double_scratch=double_scratch)
    at_once = replace(threads, messages=messages_of(acts, slots, {}), places=slots.memory)
    known = replace(at_once, thread=range(len(acts.steps)), after=over)
    needs_of(known, order, events_of(known, order))
    late = replace(at_once, messages=messages_of(acts, slots, landings_of(acts, meetings)))
    table = table_of(_listed(late, at_once, slots))
    return Schedule(
        plan.name.removesuffix(name_suffix(str(kind), len(plan.gpus), in_place=plan.inplace)),
        collective,
        table,
        scratch_used(collective, table),
        in_place=plan.inplace,
        out_of_place=not plan.inplace,
    )


def _threads(acts: Acts, meetings: Meetings) -> Threads:
    numbers: dict[object, int] = {}
    return Threads(
        [numbers.setdefault(act.thread, len(numbers)) for act in acts.steps],
        meetings.all,
        (),
        places=nowhere,
        where=lambda step: str(acts.steps[step]),
    )


def _listed(late: Threads, at_once: Threads, slots: Slots) -> list[Message]:
    """As if data landed only when it is waited for: that is the order in which plans are written.

    It does not hold where others may touch the data before, because they heard of it elsewhere.
    """
    try:
        return listed(late, slots.spare)
    except BadInput:
        return listed(at_once, slots.spare)


def _collective(plan: Plan) -> tuple[Kind, int, Buffers]:
    """The kind, how many chunks a block has, and how many a rank's input and output."""
    kinds = {str(kind): kind for kind in Kind if kind is not Kind.BARRIER}
    if plan.collective not in kinds:
        raise BadInput(
            f"collective is {plan.collective[:40]!r}: the plans we read are for {', '.join(kinds)}"
        )
    kind = kinds[plan.collective]
    if not plan.gpus:
        raise BadInput("the plan has no gpus: give one for each rank")
    found = {(gpu.input_chunks, gpu.output_chunks) for gpu in plan.gpus}
    inputs, outputs = min(found)
    factor = min(inputs, outputs)
    if kind is Kind.ALLTOALL:
        factor //= len(plan.gpus)
    if not factor or len(found) > 1:
        raise BadInput(
            f"input_chunks and output_chunks are {sorted(found)}: give all gpus the same, above 0"
        )
    sizes = buffers(Collective.named(str(kind), len(plan.gpus)), factor)
    if (inputs, outputs) != sizes:
        raise BadInput(
            f"input_chunks is {inputs} and output_chunks {outputs}: {kind} over {len(plan.gpus)} "
            f"gpus with {factor} chunks a block has {sizes.inputs} and {sizes.outputs}"
        )
    return kind, factor, sizes


def _root(kind: Kind, acts: Acts, order: list[int]) -> int:
    """The rank whose data is read first, or whose output is written."""
    effects = [effect for step in order for effect in acts.steps[step].effects]
    if kind.shape.gives is Holds.ROOT:
        read = (each for effect in effects for each in effect.sources)
        return next((each.rank for each in read if each.buffer in "io"), 0)
    found = {effect.target.rank for effect in effects if effect.target.buffer in "io"}
    if len(found) > 1:
        raise BadInput(
            f"the root of the {kind} cannot be told: gpus {', '.join(map(str, sorted(found)))} "
            "all behave like it; only one may"
        )
    return min(found, default=0)
