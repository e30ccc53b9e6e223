"""A trace for Perfetto and chrome://tracing: a process for each rank, a track for each of its ways.

Slices of one track never overlap, as the format demands: a way carries one segment at a time, and a
processor applies one.  Perfetto takes tracks of the same number in different processes for one, and
those of number 0 for idle time: so they are numbered apart, what ranks apply behind the processes,
ways behind that.  Arrows lead from where a segment leaves to where it is applied.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import numpy as np

from weft.errors import BadInput
from weft.schedule.schedule import NONE
from weft.simulate.trace import Trace

MOST_RECORDS = 1 << 20
MICROSECOND = 10**6  # in picoseconds; the format counts in microseconds

Event = dict[str, Any]


def chrome_trace(trace: Trace) -> bytes:
    """Return the trace as JSON that Perfetto opens."""
    if len(trace.records) > MOST_RECORDS:
        raise BadInput(
            f"{len(trace.records)} segments are more than the {MOST_RECORDS} that viewers bear: "
            "simulate fewer ranks or segments"
        )
    events = [*_names(trace), *_slices(trace), *_failures(trace)]
    return msgspec.json.encode({"displayTimeUnit": "ns", "traceEvents": events})


def _names(trace: Trace) -> Iterator[Event]:
    for rank in range(trace.topology.ranks):
        track = _applies(trace, rank)
        yield _about("process_name", rank, track, {"name": f"rank {rank}"})
        yield _about("process_sort_index", rank, track, {"sort_index": rank})
        yield _about("thread_name", rank, track, {"name": "applies"})
    for number, (src, dst, route, *_) in enumerate(trace.connections.tolist()):
        via = f" via {route}" if route else ""
        yield _about("thread_name", src, _way(trace, number), {"name": f"to rank {dst}{via}"})


def _applies(trace: Trace, rank: int) -> int:
    return trace.topology.ranks + rank


def _way(trace: Trace, connection: int) -> int:
    return 2 * trace.topology.ranks + connection


def _about(what: str, rank: int, track: int, details: dict[str, Any]) -> Event:
    return {"name": what, "ph": "M", "pid": rank, "tid": track, "args": details}


def _slices(trace: Trace) -> Iterator[Event]:
    name, wait_text = cache(trace.message_name), cache(trace.wait_text)
    crosses = cache(trace.crosses)
    applied = _applied(trace)
    for record in trace.records.tolist():
        ready, start, end, rank, receives, message, segment, follower, cause, resource = record
        waited = wait_text(cause, message)
        if resource != NONE:
            waited += f", then {trace.uses[int(resource)].name}"
        details: dict[str, Any] = {
            "transfer": trace.transfer_of(message),
            "segment": segment,
            "bytes": trace.bytes_of(message, segment),
            "ready (us)": ready / MICROSECOND,
            "waited last for": waited,
        }
        if follower != NONE:
            details["and at once"] = name(follower)
        place = {
            "ts": start / MICROSECOND,
            "pid": rank,
            "tid": _applies(trace, rank)
            if receives
            else _way(trace, int(trace.messages["connection"][message])),
        }
        yield place | {
            "name": name(message),
            "cat": "apply" if receives else "send",
            "ph": "X",
            "dur": (end - start) / MICROSECOND,
            "args": details,
        }
        for each in (message, follower):
            number = each * trace.segments + segment
            if each != NONE and crosses(each) and number in applied:
                yield place | _arrow(trace, each, number, rank)


def _applied(trace: Trace) -> set[int]:
    """The segments that have been applied, numbered by message; others get no arrow."""
    done = trace.records[trace.records["receives"] == 1]
    numbers = done["message"].astype(np.int64) * trace.segments + done["segment"]
    return set(numbers.tolist())


def _arrow(trace: Trace, message: int, number: int, rank: int) -> Event:
    """The beginning of an arrow where the message is sent, its end where it is applied."""
    leaves = int(trace.messages["src"][message]) == rank
    side: Event = {"ph": "s"} if leaves else {"ph": "f", "bp": "e"}
    return {"name": "message", "cat": "message", "id": number} | side


def _failures(trace: Trace) -> Iterator[Event]:
    for failure in trace.failures:
        yield {
            "name": "gave up",
            "ph": "i",
            "s": "p",
            "ts": failure.time / MICROSECOND,
            "pid": failure.rank,
            "tid": _applies(trace, failure.rank),
            "args": {"why": failure.text},
        }
