from __future__ import annotations

import pytest

import weft
from weft.errors import BadInput
from weft.topology.topology import Topology
from weft.topology.zoo import find_topology
from weft.topology.zoo.generators import ring


def neighbours(topology: Topology, rank: int) -> list[int]:
    return sorted(link.target for link in topology.links if link.source == rank)


@pytest.mark.parametrize(
    ("name", "ranks", "links"),
    [
        ("full:5", 5, 20),
        ("full:1", 1, 0),
        ("ring:8", 8, 16),
        ("ring:2", 2, 2),
        ("ring:1", 1, 0),
        ("star:6", 6, 12),
        ("cluster:6", 6, 12),
        ("cluster:1", 1, 2),
        ("mesh:3x4", 12, 34),
        ("mesh:4", 4, 6),
        ("torus:3x4", 12, 48),
        ("torus:2x4", 8, 24),
        ("torus:3x3x3", 27, 162),
        ("torus:1x4", 4, 8),
        ("hypercube:3", 8, 24),
        ("hypercube:0", 1, 0),
    ],
)
def test_sizes(name, ranks, links):
    topology = find_topology(name)
    assert (topology.ranks, len(topology.links), topology.name) == (ranks, links, name)


@pytest.mark.parametrize(
    "name", ["full:4", "ring:5", "star:4", "cluster:4", "mesh:2x3", "torus:2x4", "hypercube:3"]
)
def test_every_link_has_its_like_in_the_other_direction_and_is_there_once(name):
    ends = [(link.source, link.target) for link in find_topology(name).links]
    assert len(set(ends)) == len(ends)
    assert {(b, a) for a, b in ends} == set(ends)


def test_neighbours():
    assert neighbours(find_topology("torus:3x4"), 0) == [1, 3, 4, 8]
    assert neighbours(find_topology("mesh:3x4"), 0) == [1, 4]
    assert neighbours(find_topology("hypercube:3"), 5) == [1, 4, 7]
    assert neighbours(find_topology("star:3"), 1) == [3]


def test_speeds_are_as_said():
    link = ring(4, bandwidth=7, latency=9).links[0]
    assert (link.bandwidth, link.latency) == (7, 9)
    star = find_topology("star:4")
    assert (
        sum(star.links[n].latency for n in star.routes(0, 3)[0])
        == find_topology("full:4").links[0].latency
    )


def test_a_message_in_a_cluster_costs_what_its_docstring_says():
    """1 us, also for 12,500 bytes at 12.5 GB/s; 1 us; 1 us, and as many bytes at 20 GB/s."""
    collective = weft.gather(2)
    draft = weft.ScheduleDraft(collective)
    draft.move(1, 0, collective.input(0), collective.output(1))
    draft.copy(0, collective.input(0), collective.output(0))
    trace = weft.simulate(draft.schedule("one"), find_topology("cluster:2"), 25_000, segments=1)
    assert trace.time == 10**6 + 10**6 + 10**6 + 625_000


def test_a_path_is_a_file(tmp_path):
    path = tmp_path / "box.json"
    weft.save(find_topology("torus:2x3"), path)
    assert find_topology(str(path)) == find_topology("torus:2x3")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "no topology ''"),
        ("moebius:4", "no topology 'moebius:4': write full:N"),
        ("ring", "no topology"),
        ("ring:4x4", "no topology"),
        ("ring:-1", "no topology"),
        ("ring:0", "ranks is 0"),
        ("ring:999999999", "links is"),
        ("full:100000", "links is"),
        ("cluster:0", "ranks is 0"),
        ("cluster:9999999", "links is"),
        ("torus:0x4", "a side is 0"),
        ("mesh:" + "x".join("1" * 70), "sides is 70: give 1 to 16"),
        ("torus:99999x99999x99999", "ranks is|links is"),
        ("hypercube:64", "dimension is 64: give 0 to 16"),
        ("./nowhere.json", "nowhere.json: cannot be read: No such file"),
    ],
)
def test_nonsense_is_refused_in_one_line(name, message):
    with pytest.raises(BadInput, match=message) as caught:
        find_topology(name)
    assert "\n" not in str(caught.value)
