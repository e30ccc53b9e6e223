"""weft simulate FILE      exit 0: it finishes, 1: it does not (see stdout), 2: bad input"""

from __future__ import annotations

import shlex
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated, Any

import typer

from weft.cli.printing import print_json, print_plain, print_table, shown, working
from weft.errors import BadInput, WrongSchedule
from weft.formats.chrome_trace import MOST_RECORDS, chrome_trace
from weft.formats.files import read_schedule, write_bytes
from weft.schedule.schedule import Schedule
from weft.simulate.conditions import NEVER, WINDOW, Conditions, Fault, Noise
from weft.simulate.gantt import gantt_text
from weft.simulate.simulate import MOST_RECORDED, sweep
from weft.simulate.trace import Trace
from weft.topology.zoo import find_topology
from weft.units import parse_size, parse_sweep, parse_time, rate_text, size_text, time_text

MOST_SHOWN = 5  # resources
BUSY = 0.5  # of the time, for a resource to be worth a word

File = Annotated[
    Path, typer.Argument(help="A schedule in any format that weft reads.", show_default=False)
]
Machine = Annotated[
    str, typer.Option("--topology", "-t", help="ring:8, torus:4x4, host:2, a file, ...")
]
Size = Annotated[
    str,
    typer.Option(
        "--size",
        "-s",
        help="What a rank gives or gets, as nccl-tests counts it: 64M, 1KiB; a sweep: 1K:1G "
        "by doubling, 1K:1G:4 by fours; or that of every block: 1K,2K,0.",
    ),
]
Segments = Annotated[
    int | None, typer.Option(help="How often every slot is cut; if not said, as is fastest.")
]
Window = Annotated[int, typer.Option(help="Segments that a sender may be ahead of a receiver.")]
InPlace = Annotated[bool, typer.Option("--in-place", help="Outputs are the memory of inputs.")]
NoiseText = Annotated[
    str | None,
    typer.Option("--noise", help="20ms/100ms: ranks pause for up to 20 ms, about every 100 ms."),
]
Seed = Annotated[int | None, typer.Option(help="Of the noise; 0 if not said.")]
Faults = Annotated[
    list[str] | None,
    typer.Option("--fault", help="'rank 3 dies at 1ms', 'link 0->1 slows 4x at 0s for 2ms', ..."),
]
Deadline = Annotated[
    str | None,
    typer.Option(
        help="When ranks give up, from the start; if they would wait for ever, 30s later."
    ),
]
Gantt = Annotated[bool, typer.Option("--gantt", help="Draw what each rank does when.")]
TraceFile = Annotated[
    Path | None, typer.Option("--trace", help="Write a trace that Perfetto opens.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def simulate(
    file: File,
    topology: Machine,
    size: Size = "64M",
    segments: Segments = None,
    window: Window = WINDOW,
    in_place: InPlace = False,
    noise: NoiseText = None,
    seed: Seed = None,
    fault: Faults = None,
    deadline: Deadline = None,
    gantt: Gantt = False,
    trace: TraceFile = None,
    json: Json = False,
) -> int:
    """Predict how long a schedule takes on a machine, and what it waits for.

    weft simulate ring.json --topology ring:8 --size 1K:1G
    """
    sizes = _sizes(size)
    if len(sizes) > 1 and (gantt or trace):
        raise BadInput(f"--gantt and --trace show one run, --size {size} is a sweep: give one size")
    if gantt and json:
        raise BadInput("--gantt is for people and --json for programs: give one of them")
    if seed is not None and noise is None:
        raise BadInput("--seed is of the noise, and there is none: give --noise too")
    conditions = Conditions(
        window,
        Noise.written(noise, seed or 0) if noise is not None else None,
        [Fault.written(text) for text in fault or ()],
        parse_time(deadline) if deadline is not None else None,
    )
    with working(f"simulating {shown(file)}") as say:
        machine = find_topology(topology)
        schedule = read_schedule(file)
        in_place = in_place or not schedule.out_of_place
        record = MOST_RECORDS if trace else MOST_RECORDED if gantt else 0
        traces: list[Trace] = []
        try:
            for simulation in sweep(schedule, machine, sizes, in_place=in_place):
                say(f"simulating {shown(file)} at {size_text(simulation.size)}")
                traces.append(simulation.run(segments, conditions, record=record))
        except WrongSchedule:
            command = shlex.join(["weft", "verify", str(file)])
            raise BadInput(f"{file} is a wrong schedule: `{command}` shows why") from None
        if trace:
            write_bytes(chrome_trace(traces[0]), trace)
    if json:
        print_json([_data(each, in_place=in_place) for each in traces])
    else:
        _print(schedule, traces, gantt=gantt)
        if trace:
            print_plain(f"\nwrote {shown(trace)}: open it at ui.perfetto.dev")
    return 0 if all(each.finished for each in traces) else 1


def _sizes(text: str) -> list[int | list[int]]:
    """Read one size, the bounds of a sweep, or a list for every block."""
    if "," in text:
        return [[parse_size(part) for part in text.split(",")]]
    return [*parse_sweep(text)]


def _print(schedule: Schedule, traces: list[Trace], *, gantt: bool) -> None:
    print_plain(f"{schedule.name}, {schedule.collective!r}, on {traces[0].topology.name}\n")
    rows = [
        {
            "size": size_text(trace.size),
            "time": time_text(trace.time) if trace.finished else "not finished",
            "algbw": rate_text(round(trace.algbw)),
            "busbw": rate_text(round(trace.busbw)),
            "segments": trace.segments,
        }
        for trace in traces
    ]
    print_table(rows, numbers=frozenset(rows[0]))
    if len(traces) > 1:
        return
    print_plain(f"\n{_busiest(traces[0])}")
    for failure in traces[0].failures:
        print_plain(failure.text)
    if gantt:
        print_plain(f"\n{gantt_text(traces[0], get_terminal_size().columns)}")


def _busiest(trace: Trace) -> str:
    """Name what was busy for most of the time."""
    busy = sorted(trace.uses, key=lambda use: -use.busy)
    most = [use for use in busy if trace.time and use.busy / trace.time >= BUSY]
    if not most:
        told = trace.conditions.noise or trace.conditions.faults or not trace.time
        why = "" if told else ": it is latency that counts"
        return f"nothing is busy for even half of the time{why}"
    names = ", ".join(f"{use.name} {use.busy / trace.time:.1%}" for use in most[:MOST_SHOWN])
    more = f", and {len(most) - MOST_SHOWN} more" if len(most) > MOST_SHOWN else ""
    return f"busy: {names}{more}"


def _data(trace: Trace, *, in_place: bool) -> dict[str, Any]:
    """Say all but the single segments, which the trace file has."""
    return {
        "schedule": trace.schedule.name,
        "topology": trace.topology.name,
        "size": trace.size,
        "segments": trace.segments,
        "in_place": in_place,
        **_conditions_data(trace.conditions),
        "finished": trace.finished,
        "time_ps": trace.time,
        "algbw_bytes_per_s": trace.algbw,
        "busbw_bytes_per_s": trace.busbw,
        "events": trace.events,
        "rank_ends_ps": [_or_never(end) for end in trace.rank_ends.tolist()],
        "resources": [{"name": use.name, "busy_ps": use.busy} for use in trace.uses],
        "failures": [
            {
                "time_ps": failure.time,
                "rank": failure.rank,
                "transfer": failure.transfer,
                "segment": failure.segment,
                "peer": failure.peer,
                "text": failure.text,
            }
            for failure in trace.failures
        ],
    }


def _conditions_data(conditions: Conditions) -> dict[str, Any]:
    noise = conditions.noise
    return {
        "window": conditions.window,
        "noise": noise
        and {"longest_ps": noise.longest, "every_ps": noise.every, "seed": noise.seed},
        "faults": [
            {
                "start_ps": fault.start,
                "end_ps": _or_never(fault.end),
                "rank": fault.rank,
                "link": fault.link,
                "factor": fault.factor,
                "dies": fault.dies,
            }
            for fault in conditions.faults
        ],
        "deadline_ps": conditions.deadline,
    }


def _or_never(time: int) -> int | None:
    return None if time == NEVER else time
