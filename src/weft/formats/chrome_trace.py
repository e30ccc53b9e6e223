"""A trace for Perfetto and chrome://tracing: a process for each rank, a track for each of its ways.

Slices of one track never overlap, as the format demands: a way carries one segment at a time, and a
processor applies one.  Arrows lead from where a segment leaves to where it is applied.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from weft.errors import BadInput
from weft.schedule.schedule import NONE
from weft.simulate.trace import Trace

MOST_RECORDS = 1 << 20
MICROSECOND = 10**6  # in picoseconds; the format counts in microseconds
APPLY = 0  # the track of what a rank applies

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
        yield _name("process_name", rank, APPLY, f"rank {rank}")
        yield _name("thread_name", rank, APPLY, "applies")
    for src, dst, route, outgoing, _ in trace.connections.tolist():
        via = f" via {route}" if route else ""
        yield _name("thread_name", src, 1 + outgoing, f"to rank {dst}{via}")


def _name(what: str, rank: int, track: int, label: str) -> Event:
    return {"name": what, "ph": "M", "pid": rank, "tid": track, "args": {"name": label}}


def _slices(trace: Trace) -> Iterator[Event]:
    texts: dict[int, str] = {}
    for record in trace.records.tolist():
        ready, start, end, rank, receives, message, segment, follower, cause, resource = record
        for each in (message, follower):
            texts.setdefault(each, trace.message_text(each) if each != NONE else "")
        track = APPLY if receives else 1 + trace.way_of(message)
        waited = trace.wait_text(cause, message)
        details = {
            "segment": segment,
            "bytes": trace.bytes_of(message, segment),
            "ready (us)": ready / MICROSECOND,
            "waited last for": f"{waited}, then {trace.uses[int(resource)].name}"
            if resource != NONE
            else waited,
        }
        if follower != NONE:
            details["and at once"] = texts[follower]
        yield {
            "name": texts[message],
            "cat": "apply" if receives else "send",
            "ph": "X",
            "ts": start / MICROSECOND,
            "dur": (end - start) / MICROSECOND,
            "pid": rank,
            "tid": track,
            "args": details,
        }
        place = {"pid": rank, "tid": track, "ts": start / MICROSECOND}
        for each in (message, follower):
            if each != NONE and trace.crosses(each):
                yield _arrow(trace, each, segment, rank) | place


def _arrow(trace: Trace, message: int, segment: int, rank: int) -> Event:
    """The beginning of an arrow where the message is sent, its end where it is applied."""
    leaves = int(trace.messages["src"][message]) == rank
    side: Event = {"ph": "s"} if leaves else {"ph": "f", "bp": "e"}
    return {"name": "message", "cat": "message", "id": message * trace.segments + segment} | side


def _failures(trace: Trace) -> Iterator[Event]:
    for failure in trace.failures:
        yield {
            "name": "gave up",
            "ph": "i",
            "s": "p",
            "ts": failure.time / MICROSECOND,
            "pid": failure.rank,
            "tid": APPLY,
            "args": {"why": failure.text},
        }
