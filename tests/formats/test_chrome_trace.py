"""Traces as Perfetto reads them."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from twins.machines import any_run, noisy_run
from weft import classic
from weft.errors import BadInput
from weft.formats.chrome_trace import MOST_RECORDS, chrome_trace
from weft.simulate.trace import Trace
from weft.topology.zoo.generators import full, ring

Event = dict[str, Any]
Track = tuple[int, int]
seeds = st.integers(0, 2**48)

FIELDS = {
    "M": {"name", "ph", "pid", "tid", "args"},
    "X": {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"},
    "s": {"name", "cat", "ph", "id", "ts", "pid", "tid"},
    "f": {"name", "cat", "ph", "id", "ts", "pid", "tid", "bp"},
    "i": {"name", "ph", "s", "ts", "pid", "tid", "args"},
}


def events_of(trace: Trace) -> list[Event]:
    content = msgspec.json.decode(chrome_trace(trace))
    assert content["displayTimeUnit"] == "ns"
    events: list[Event] = content["traceEvents"]
    return events


def picoseconds(microseconds: float) -> int:
    return round(microseconds * 10**6)


def slices(events: list[Event]) -> dict[Track, list[tuple[int, int]]]:
    """When each slice of a track begins and ends, in order."""
    tracks: dict[Track, list[tuple[int, int]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            start = picoseconds(event["ts"])
            span = (start, start + picoseconds(event["dur"]))
            tracks[event["pid"], event["tid"]].append(span)
    return {track: sorted(spans) for track, spans in tracks.items()}


@given(seeds)
@settings(max_examples=100)
def test_every_event_has_the_fields_of_its_phase(seed):
    trace = any_run(Random(seed))
    for event in events_of(trace):
        assert set(event) == FIELDS[event["ph"]]
        assert 0 <= event["pid"] < trace.topology.ranks
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 0) >= 0


@given(seeds)
@settings(max_examples=150)
def test_slices_of_one_track_never_overlap(seed):
    for spans in slices(events_of(any_run(Random(seed)))).values():
        assert all(before[1] <= after[0] for before, after in pairwise(spans))


@given(seeds)
@settings(max_examples=100)
def test_every_track_has_one_name(seed):
    events = events_of(any_run(Random(seed)))
    names = [(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"]
    assert set(slices(events)) <= set(names)


@given(seeds)
@settings(max_examples=100)
def test_no_two_tracks_have_a_number_and_none_has_that_of_a_process(seed):
    """Perfetto takes a thread of a process's number for its main one, and of two for one."""
    events = events_of(any_run(Random(seed)))
    numbers = [event["tid"] for event in events if event["name"] == "thread_name"]
    assert len(set(numbers)) == len(numbers)
    assert not set(numbers) & {event["pid"] for event in events}


@given(seeds)
@settings(max_examples=150)
def test_every_arrow_leads_from_a_send_to_where_it_is_applied(seed):
    trace = any_run(Random(seed))
    events = events_of(trace)
    begins = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert len(begins) + len(ends) == sum(event["ph"] in "sf" for event in events)
    assert begins.keys() == ends.keys()
    starts = {track: {start for start, _ in spans} for track, spans in slices(events).items()}
    for number, begin in begins.items():
        end = ends[number]
        assert begin["ts"] <= end["ts"]
        assert end["tid"] == trace.topology.ranks + end["pid"]
        for event in (begin, end):
            assert picoseconds(event["ts"]) in starts[event["pid"], event["tid"]]


@given(seeds)
@settings(max_examples=50)
def test_all_that_crosses_has_an_arrow_and_all_that_is_done_a_slice(seed):
    trace = noisy_run(Random(seed))
    phases = Counter(event["ph"] for event in events_of(trace))
    crossing = sum(trace.crosses(message) for message in range(len(trace.messages)))
    assert phases["s"] == phases["f"] == crossing * trace.segments
    assert phases["X"] == len(trace.records)


def test_what_is_said_of_a_segment():
    trace = weft.simulate(classic.ring_allreduce(weft.allreduce(2)), full(2), 50_000, segments=1)
    first, arrow = [event for event in events_of(trace) if event["pid"] == 0][4:6]
    assert first == {
        "name": "0.in0 -> 1.out0 + in0",
        "cat": "send",
        "ph": "X",
        "ts": 0.0,
        "dur": 1.0,
        "pid": 0,
        "tid": 4,
        "args": {
            "transfer": 0,
            "segment": 0,
            "bytes": 25_000,
            "ready (us)": 0.0,
            "waited last for": "nothing",
        },
    }
    assert (arrow["ph"], arrow["ts"], arrow["tid"]) == ("s", 0.0, 4)


def test_tracks_are_named_after_whom_they_lead_to():
    names = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in events_of(
            weft.simulate(classic.ring_allreduce(weft.allreduce(3)), ring(3), 30)
        )
        if event["name"] == "thread_name"
    }
    ways = {(rank, 6 + rank): f"to rank {(rank + 1) % 3}" for rank in range(3)}
    assert names == ways | {(rank, 3 + rank): "applies" for rank in range(3)}


def test_those_that_gave_up_say_why():
    trace = weft.simulate(
        classic.ring_allreduce(weft.allreduce(3)),
        ring(3),
        75_000,
        faults=[weft.Fault(10**6, rank=1, dies=True)],
    )
    shown = [event for event in events_of(trace) if event["ph"] == "i"]
    assert [(e["pid"], e["args"]["why"]) for e in shown] == [
        (failure.rank, failure.text) for failure in trace.failures
    ]
    assert len(shown) == 2


def test_more_than_viewers_bear_is_refused():
    schedule = classic.binomial_broadcast(weft.broadcast(2))
    trace = weft.simulate(schedule, full(2), 1 << 20, segments=MOST_RECORDS // 2)
    with pytest.raises(BadInput, match=r"are more than the 1048576 .*: simulate fewer ranks or se"):
        chrome_trace(trace)
