"""A schedule at one size after another, against each size by itself."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from twins.draw import good_schedule
from twins.machines import any_machine
from weft.errors import BadInput, WrongSchedule
from weft.schedule.schedule import Schedule
from weft.simulate.conditions import Conditions
from weft.simulate.simulate import Simulation, prepare, sweep
from weft.topology.zoo import find_topology

sizes_of_sweeps = st.lists(st.sampled_from([0, 1, 2, 3, 7, 64, 1000, 100_000]), max_size=5)


def run_of(simulation: Simulation) -> tuple[object, ...]:
    trace = simulation.run(None, Conditions())
    tables = (trace.records, trace.messages, trace.parts, trace.connections)
    return trace.size, trace.segments, trace.time, [table.tolist() for table in tables]


@given(seed=st.integers(0, 2**48), sizes=sizes_of_sweeps, in_place=st.booleans())
def test_a_sweep_is_each_size_by_itself(seed, sizes, in_place):
    """Small sizes among them, where pieces have nothing and their transfers are left out."""
    draw = Random(seed)
    schedule = good_schedule(draw)
    machine = any_machine(draw, schedule.collective.ranks)
    swept = [run_of(each) for each in sweep(schedule, machine, sizes, in_place=in_place)]
    alone = [run_of(prepare(schedule, machine, size, in_place=in_place)) for size in sizes]
    assert swept == alone


def test_sizes_of_all_blocks_can_leave_out_other_transfers():
    """The same number of them is not the same transfers."""
    collective = weft.allgatherv(2)
    draft = weft.ScheduleDraft(collective)
    for rank in range(2):
        draft.move(rank, 1 - rank, collective.input(0), collective.output(rank))
        draft.copy(rank, collective.input(0), collective.output(rank))
    machine = find_topology("full:2")
    sizes = [[9, 0], [0, 9], [9, 9], [0, 9]]
    runs = [each.run(1, Conditions()) for each in sweep(draft.schedule("direct"), machine, sizes)]
    moved = [[r.transfer_of(m) for m in range(len(r.messages))] for r in runs]
    assert moved == [[0, 1], [2, 3], [0, 1, 2, 3], [2, 3]]


def test_a_later_size_changes_nothing_of_an_earlier_run():
    schedule = weft.classic.ring_allreduce(weft.allreduce(4))
    runs = [
        each.run(1, Conditions()) for each in sweep(schedule, find_topology("ring:4"), [40, 4000])
    ]
    assert [np.unique(run.parts["elements"]).tolist() for run in runs] == [[10], [1000]]


def test_a_sweep_refuses_what_a_single_run_refuses():
    ring = weft.classic.ring_allreduce(weft.allreduce(4))
    broken = Schedule("broken", ring.collective, ring.transfers[:-1])
    with pytest.raises(WrongSchedule):
        next(sweep(broken, find_topology("ring:4"), [8]))
    with pytest.raises(BadInput, match="take a topology of that size"):
        next(sweep(ring, find_topology("ring:5"), [8]))
    with pytest.raises(BadInput, match="the size is -1"):
        list(sweep(ring, find_topology("ring:4"), [8, -1]))
