from __future__ import annotations

import pytest

import weft
from weft.errors import BadInput
from weft.simulate.machine import link_name, machine_of
from weft.topology.topology import Link, Topology
from weft.topology.zoo.generators import HOST_LATENCY, full, host, ring, star


def test_only_what_routes_take_is_a_resource():
    machine = machine_of(ring(4), [(0, 1, 0), (2, 1, 0)])
    assert machine.names == ["rank 0", "rank 1", "rank 2", "rank 3", "wire 0->1", "wire 2->1"]
    assert machine.resources.tolist() == [4, 5]
    assert machine.paths.tolist() == [[10**6, 0, 1], [10**6, 0, 2]]


def test_a_route_takes_all_its_links_and_adds_their_latencies():
    machine = machine_of(star(3), [(0, 2, 0), (1, 2, 0)])
    assert machine.names[3:] == ["wire 0->switch", "wire 1->switch", "wire switch->2"]
    assert machine.resources.tolist() == [3, 5, 4, 5]
    assert machine.paths[:, 0].tolist() == [10**6, 10**6]


def test_what_links_share_is_taken_once_however_often_a_route_crosses_it():
    links = (Link(0, 2, 10, shares=("bus",)), Link(2, 1, 10, shares=("bus", "card")))
    topology = Topology("shared", 2, links, ("switch",), {"bus": 7, "card": 9, "unused": 1})
    machine = machine_of(topology, [(0, 1, 0)])
    assert machine.names[4:] == ["bus", "card"]
    assert machine.rates.tolist() == [10, 10, 7, 9]
    assert machine.resources.tolist() == [2, 3, 4, 5]


def test_the_processor_moves_the_bytes_where_any_link_says_so():
    assert machine_of(host(2), [(0, 1, 0)]).paths.tolist() == [[HOST_LATENCY, 1, 1]]


def test_links_between_the_same_nodes_are_counted():
    topology = Topology("double", 2, (Link(0, 1, 10), Link(0, 1, 20, kind="pcie")))
    assert [link_name(topology, number) for number in (0, 1)] == ["wire 0->1", "pcie 0->1 #2"]
    machine = machine_of(topology, [(0, 1, 1)])
    assert (machine.names[2:], machine.rates.tolist()) == (["pcie 0->1 #2"], [20])


def test_a_topology_without_links_does_for_one_rank():
    machine = machine_of(full(1), [])
    assert (machine.names, machine.paths.shape, len(machine.resources)) == (["rank 0"], (0, 3), 0)


def test_a_route_that_is_not_there_is_named():
    schedule = weft.parse_text("mine: broadcast ranks=2\n0.in0 -> 0.out0\n0.in0 -> 1.out0 via 1\n")
    with pytest.raises(BadInput, match=r"full:2 has no route 1 from rank 0 to rank 1, .* has 1"):
        weft.simulate(schedule, full(2), 10)
