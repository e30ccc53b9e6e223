from __future__ import annotations

import json
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from twins.draw import any_schedule, damaged, good_schedule
from weft.errors import BadInput, WeftError
from weft.formats import weft_json
from weft.formats.weft_json import (
    schedule_from_json,
    schedule_to_json,
    topology_from_json,
    topology_to_json,
)
from weft.topology.topology import Link, Overheads, Topology, both_ways

MINIMAL_TOPOLOGY = {"format": "weft-topology", "version": 1, "name": "x", "ranks": 2}


def minimal() -> dict[str, Any]:
    return {
        "format": "weft-schedule",
        "version": 1,
        "name": "two",
        "collective": {"kind": "allreduce", "ranks": 2},
        "transfers": {
            "src": [0, 1],
            "dst": [1, 0],
            "src_slot": [0, 1],
            "dst_slot": [1, 1],
            "addend": [0, -1],
        },
    }


def parse(data: dict[str, Any]) -> weft.Schedule:
    return schedule_from_json(json.dumps(data).encode())


def test_the_smallest_file_has_no_field_to_spare():
    schedule = parse(minimal())
    assert schedule == weft.parse_text(
        "two: allreduce ranks=2\n0.in0 -> 1.out0 + in0\n1.out0 -> 0.out0"
    )
    assert json.loads(schedule_to_json(schedule)) == minimal()


@given(st.integers(0, 2**48), st.integers(0, 2))
def test_any_schedule_comes_back_as_it_was(seed, damages):
    """Wrong ones too: a file is judged by the verifier, not by the reader."""
    draw = Random(seed)
    schedule = good_schedule(draw) if draw.random() < 0.5 else any_schedule(draw)
    for _ in range(damages):
        schedule = damaged(schedule, draw)
    lowest = min(
        int(schedule.transfers[name].min(initial=0))
        for name in schedule.transfers.dtype.names or ()
    )
    content = schedule_to_json(schedule)
    if lowest >= -1:
        assert schedule_from_json(content) == schedule
    else:
        with pytest.raises(BadInput, match="Expected `int` >= -1"):
            schedule_from_json(content)


def test_all_that_a_topology_can_say_comes_back():
    links = both_ways([Link(0, 2, 10, 5, "pcie", 4, ("bus",)), Link(1, 2, 20)])
    topology = Topology(
        "box", 2, links, ("s",), {"bus": 7}, {(0, 1): ((0, 3),)}, Overheads(1, 2, 3, None)
    )
    assert topology_from_json(topology_to_json(topology)) == topology


def change(path: str, value: object) -> dict[str, Any]:
    """The smallest file with one thing changed, or removed where the value is `...`."""
    data = minimal()
    *parents, last = path.split(".")
    place = data
    for parent in parents:
        place = place[parent]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("format", "weft-topology", "format 'weft-topology': a weft-schedule file is needed here"),
        ("format", ..., "missing required field `format`"),
        ("version", 2, "version 2: this weft reads version 1"),
        ("version", "one", r"Expected `int`, got `str` - at `\$\.version`"),
        ("version", ..., "missing required field `version`"),
        ("colour", "red", "unknown field `colour`"),
        ("col\nour\x1b[31m", "red", r"unknown field `col\\nour\\x1b\[31m`"),
        ("name", "\x1b[31m", "is named"),
        ("name", 7, r"at `\$\.name`"),
        ("collective.kind", "bcast", "'bcast' is not a collective"),
        ("collective.ranks", 0, "0 ranks"),
        ("collective.ranks", -4, r"at `\$\.collective\.ranks`"),
        ("collective.ranks", 2.5, r"got `float` - at `\$\.collective\.ranks`"),
        ("collective.ranks", 10**9, "give 1 to 65536"),
        ("collective.ranks", 10**30, r"at `\$\.collective\.ranks`"),
        ("collective.root", 1, "allreduce has no root"),
        ("collective.weights", [], "0 cuts"),
        ("collective.weights", [[]], "give 1 to"),
        ("collective.weights", [[0]], "all above 0"),
        ("collective.weights", [[-1]], r"at `\$\.collective\.weights\[.*\]\[.*\]`"),
        ("collective.weights", [[1], [1]], "1 block, but 2 cuts"),
        ("scratch", 10**18, "slots"),
        ("scratch", True, r"at `\$\.scratch`"),
        ("in_place", "yes", r"at `\$\.in_place`"),
        ("transfers.src", [0], r"transfers\.dst has 2 numbers, transfers\.src has 1"),
        ("transfers.src", [0, -2], r"Expected `int` >= -1 - at `\$\.transfers\.src\[.*\]`"),
        ("transfers.src", [0, 2**31], r"at `\$\.transfers\.src\[.*\]`"),
        ("transfers.src", ..., "missing required field `src`"),
        ("transfers.src", "0,1", r"at `\$\.transfers\.src`"),
        ("transfers.addend", [0], r"transfers\.addend has 1 numbers"),
        ("transfers", None, r"at `\$\.transfers`"),
    ],
)  # fmt: skip
def test_a_bad_field_is_refused_with_its_place(path, value, message):
    with pytest.raises(BadInput, match=message) as caught:
        parse(change(path, value))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("old", [b"weft", b"name"])
def test_text_that_is_not_utf8_is_refused(old):
    for read, data in (
        (schedule_from_json, minimal()),
        (topology_from_json, MINIMAL_TOPOLOGY),
    ):
        with pytest.raises(BadInput, match="not a valid weft-"):
            read(json.dumps(data).encode().replace(old, b"\xff", 1))


def test_an_alltoall_that_cannot_work_in_place_does_not_claim_it():
    """Else its file would be read, and refused later without its name."""
    cut = {"kind": "alltoall", "ranks": 2, "weights": [[1], [1, 2], [1], [1]]}
    nothing: dict[str, list[int]] = {name: [] for name in ("src", "dst", "src_slot", "dst_slot")}
    data = minimal() | {"collective": cut, "transfers": nothing}
    with pytest.raises(BadInput, match="cannot work in place"):
        parse(data)
    assert not parse(data | {"in_place": False}).in_place


def test_claims_must_be_claims():
    data = minimal() | {"in_place": False, "out_of_place": False}
    with pytest.raises(BadInput, match="claim at least one"):
        parse(data)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("ranks", 0, "ranks is 0"),
        ("links", [{"source": 0, "target": 5, "bandwidth": 1}], "link 0 goes from 0 to 5"),
        ("links", [{"source": 0, "target": 1}], "missing required field `bandwidth`"),
        (
            "links",
            [{"source": 0, "target": 1, "bandwidth": -1}],
            r"at `\$\.links\[.*\]\.bandwidth`",
        ),
        (
            "links",
            [{"source": 0, "target": 1, "bandwidth": 1, "speed": 1}],
            "unknown field `speed`",
        ),
        ("routes", [{"source": 0, "target": 1, "ways": [[0]]}], "link is 0"),
        ("routes", 2 * [{"source": 0, "target": 1, "ways": []}], "two entries of routes"),
        ("overheads", {"sent": 1}, "unknown field `sent`"),
    ],
)
def test_a_bad_topology_is_refused(field, value, message):
    with pytest.raises(BadInput, match=message):
        topology_from_json(json.dumps(MINIMAL_TOPOLOGY | {field: value}).encode())


@given(st.integers(0, 400))
def test_a_truncated_file_is_refused(length):
    content = json.dumps(minimal()).encode()
    with pytest.raises(BadInput, match="not a valid weft-schedule file"):
        schedule_from_json(content[: min(length, len(content) - 1)])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


PLACES = ["version", "name", "collective", "collective.weights", "collective.root", "scratch"]


@given(st.sampled_from([*PLACES, "transfers", "transfers.src", "transfers.message"]), json_values)
def test_any_value_anywhere_is_read_or_refused(path, value):
    try:
        weft.verify(parse(change(path, value)))
    except WeftError as problem:
        assert str(problem)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content):
    for read in (schedule_from_json, topology_from_json):
        with pytest.raises(BadInput):
            read(content)


@pytest.mark.parametrize("opening", ["[", '{"name":'])
def test_deep_nesting_does_not_overflow_the_stack(opening):
    for content in (opening * 200_000, '{"format": "weft-schedule", "name": ' + opening * 200_000):
        with pytest.raises(BadInput):
            schedule_from_json(content.encode())


def test_more_values_than_memory_is_meant_for_are_refused(monkeypatch):
    monkeypatch.setattr(weft_json, "MOST_VALUES", 20)
    assert parse(minimal())
    with pytest.raises(BadInput, match=r"the number of values is \d+: give 0 to 20"):
        parse(change("transfers.src", [0] * 20))


def test_numbers_keep_their_32_bits():
    data = change("transfers.src_slot", [2**31 - 1, 1])
    assert parse(data).transfers["src_slot"].tolist() == [2**31 - 1, 1]
    assert parse(data).transfers.dtype["src_slot"] == np.int32
