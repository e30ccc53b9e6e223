"""The native verifier and its slow twin agree; what is proved is also true of real arrays."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from synthesis.promises import promise
from twins import replay as twin
from twins.draw import DAMAGES, any_schedule, damaged, good_schedule
from twins.execute import execute, expected
from weft.errors import WrongSchedule
from weft.schedule.replay import RULES, Mode, modes, replay, ways_of
from weft.schedule.schedule import Schedule
from weft.topology.topology import Topology

seeds = st.integers(0, 2**48)


def native(schedule: Schedule, mode: Mode, topology: Topology | None) -> twin.Found | None:
    ways = ways_of(topology, schedule) if topology else None
    found, _ = replay(schedule, mode, ways=ways)
    if found is None:
        return None
    return twin.Found(RULES[found.rule][0], found.transfer, found.rank, found.slot)


def draw_schedule(draw: Random) -> Schedule:
    schedule = any_schedule(draw) if draw.random() < 0.5 else good_schedule(draw)
    for _ in range(draw.choice([0, 0, 1, 1, 2])):
        schedule = damaged(schedule, draw)
    return schedule


@given(seeds)
@settings(max_examples=6000)
@pytest.mark.slow
def test_twins_agree_on_any_schedule_right_or_wrong(seed):
    draw = Random(seed)
    schedule = draw_schedule(draw)
    shape = draw.choice([None, "ring", "star", "full", "mesh"])
    topology = weft.find_topology(f"{shape}:{schedule.collective.ranks}") if shape else None
    for mode in modes(schedule):
        assert native(schedule, mode, topology) == twin.replay(schedule, mode.aliases, topology)


def test_every_rule_is_met_by_random_schedules():
    """Else the agreement of the twins would say nothing about it."""
    met = set()
    for seed in range(3000):
        schedule = draw_schedule(Random(seed))
        topology = weft.find_topology(f"ring:{schedule.collective.ranks}")
        met |= {
            found.rule for mode in modes(schedule) if (found := native(schedule, mode, topology))
        }
    assert met == {name for name, _ in RULES}


@given(seeds, st.sampled_from([0, 1, 7, 30]))
@settings(max_examples=2000)
@pytest.mark.slow
def test_what_is_proved_is_true_of_arrays(seed, size):
    schedule = draw_schedule(Random(seed))
    try:
        weft.verify(schedule)
    except WrongSchedule:
        return
    c = schedule.collective
    for mode in modes(schedule):
        got = execute(schedule, lambda _: size, in_place=mode.name == "in place")
        want = expected(c.kind, c.ranks, c.root or 0, lambda _: size)
        for at, block in want.items():
            if not c.heard_is_enough:
                np.testing.assert_array_equal(got[at], block)


@pytest.mark.parametrize("damage", DAMAGES)
@given(seeds)
@settings(max_examples=150)
def test_damage_is_found_or_does_none(damage, seed):
    """If the verifier lets a changed schedule pass, arrays must still end right."""
    draw = Random(seed)
    schedule = damaged(good_schedule(draw), draw, damage)
    try:
        weft.verify(schedule)
    except WrongSchedule:
        return
    c = schedule.collective
    size = 0 if c.heard_is_enough else 40
    for in_place in (False, True):
        got = execute(schedule, lambda _: size, in_place=in_place)
        want = expected(c.kind, c.ranks, c.root or 0, lambda _: size)
        assert all(np.array_equal(got[at], block) for at, block in want.items())


@given(seeds)
@settings(max_examples=300)
def test_no_transfer_of_a_thrifty_algorithm_can_be_dropped(seed):
    """But for copies within a rank, which in place do nothing."""
    draw = Random(seed)
    schedule = good_schedule(draw)
    leaves = np.flatnonzero(schedule.transfers["src"] != schedule.transfers["dst"])
    if not len(leaves) or not promise(schedule).thrifty:
        return
    rest = np.delete(schedule.transfers, draw.choice(leaves.tolist()))
    with pytest.raises(WrongSchedule):
        weft.verify(Schedule("cut short", schedule.collective, rest, schedule.scratch))
