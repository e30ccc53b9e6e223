from __future__ import annotations

import pytest

from weft.errors import BadInput
from weft.topology.topology import Link, Overheads, Topology, both_ways

WIRES = both_ways([Link(0, 1, 10), Link(1, 2, 10), Link(0, 1, 99, kind="fast")])


def test_parallel_links_are_routes_of_their_own():
    topology = Topology("line", 3, WIRES)
    assert topology.routes(0, 1) == ((0,), (4,))
    assert topology.routes(1, 0) == ((1,), (5,))


def test_ranks_do_not_forward():
    assert Topology("line", 3, WIRES).routes(0, 2) == ()


def test_switches_forward_along_the_fewest_links():
    """Ranks 0 and 1 share switch 2; rank 0 also has a long way round over 3 and 4."""
    links = both_ways([Link(0, 3, 1), Link(3, 4, 1), Link(4, 1, 1), Link(0, 2, 1), Link(2, 1, 1)])
    topology = Topology("two ways", 2, links, switches=("a", "b", "c"))
    assert topology.routes(0, 1) == ((6, 8),)
    assert topology.routes(0, 0) == ()


def test_a_direct_link_comes_before_the_way_over_switches():
    links = both_ways([Link(0, 2, 1), Link(1, 2, 1), Link(0, 1, 1)])
    topology = Topology("both", 2, links, switches=("s",))
    assert topology.routes(0, 1) == ((4,), (0, 3))


def test_a_path_goes_round_a_rank_not_through_it():
    """Switch 3 leads to rank 1, and only rank 1 to rank 2."""
    links = both_ways([Link(0, 3, 1), Link(3, 1, 1), Link(1, 2, 1)])
    topology = Topology("no way", 3, links, switches=("s",))
    assert topology.routes(0, 1) == ((0, 2),)
    assert topology.routes(0, 2) == ()


def test_links_have_directions():
    topology = Topology("one way", 2, (Link(0, 1, 10),))
    assert topology.routes(0, 1) == ((0,),)
    assert topology.routes(1, 0) == ()


def test_listed_routes_replace_the_default_ones():
    links = both_ways([Link(0, 2, 1), Link(1, 2, 1), Link(0, 1, 1)])
    topology = Topology("listed", 2, links, ("s",), listed_routes={(0, 1): ((0, 3),)})
    assert topology.routes(0, 1) == ((0, 3),)
    assert topology.routes(1, 0) == ((5,), (2, 1))


def test_reprs_say_what_there_is():
    link = Link(0, 1, 25 * 10**9, 1_500_000, "nvlink", 2, ("bus",))
    assert repr(link) == "<Link 0 -> 1: nvlink, 25 GB/s, 1.5 us, 2 lanes, shares bus>"
    topology = Topology("box", 2, (link,), ("s",), {"bus": 10})
    assert repr(topology) == "<Topology box: 2 ranks, 1 switch, 1 link>"


def test_a_topology_knows_shared_resources_and_overheads():
    overheads = Overheads(send=5, reduce=10**9)
    topology = Topology("box", 1, resources={"bus": 7}, overheads=overheads)
    assert topology.resources["bus"] == 7
    assert (topology.overheads.send, topology.overheads.copy) == (5, None)


def two_switches(route: tuple[int, ...]) -> Topology:
    """Rank 0 -> switch 2 <-> switch 3 -> rank 1."""
    links = (Link(0, 2, 1), Link(2, 3, 1), Link(3, 2, 1), Link(3, 1, 1))
    return Topology("chain", 2, links, ("a", "b"), listed_routes={(0, 1): (route,)})


def test_a_listed_route_may_take_several_switches():
    assert two_switches((0, 1, 3)).routes(0, 1) == ((0, 1, 3),)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Topology("", 1), "is named ''"),
        (lambda: Topology("x", 0), "ranks is 0: give 1 to"),
        (lambda: Topology("x", 10**9), "ranks is 1000000000"),
        (lambda: Topology("x", 1, switches=("a", "a")), "same name"),
        (lambda: Topology("x", 1, switches=("\x1b[2J",)), "letters, digits"),
        (lambda: Topology("x", 2, (Link(0, 2, 1),)), "from 0 to 2: join two of the nodes 0 to 1"),
        (lambda: Topology("x", 2, (Link(1, 1, 1),)), "link 0 goes from 1 to 1"),
        (lambda: Topology("x", 2, (Link(0, 1, 0),)), "bandwidth is 0: give 1 to"),
        (lambda: Topology("x", 2, (Link(0, 1, 2**63),)), "bandwidth is"),
        (lambda: Topology("x", 2, (Link(0, 1, 1, -1),)), "latency is -1"),
        (lambda: Topology("x", 2, (Link(0, 1, 1, lanes=0),)), "lanes is 0"),
        (lambda: Topology("x", 2, (Link(0, 1, 1, kind=""),)), "kind is named ''"),
        (lambda: Topology("x", 2, (Link(0, 1, 1, shares=("bus",)),)), "shares 'bus'"),
        (lambda: Topology("x", 1, resources={"bus": 0}), "bandwidth of bus is 0"),
        (lambda: Topology("x", 1, overheads=Overheads(send=-1)), "overhead send is -1"),
        (lambda: Topology("x", 1, overheads=Overheads(copy=0)), "overhead copy is 0"),
        (lambda: Topology("x", 2, WIRES[:2], listed_routes={(0, 1): ((2,),)}), "link is 2"),
        (lambda: Topology("x", 2, WIRES[:2], listed_routes={(0, 1): ((1,),)}), "do not lead there"),
        (lambda: Topology("x", 2, WIRES[:2], listed_routes={(0, 1): ((),)}), "do not lead there"),
        (lambda: Topology("x", 2, listed_routes={(5, -7): ()}), "listed for rank is 5"),
        (lambda: Topology("x", 3, WIRES, listed_routes={(0, 2): ((0, 2),)}), "switches only"),
        (lambda: Topology("x", 3, WIRES, listed_routes={(0, 2): ((0,),)}), "do not lead there"),
        (lambda: two_switches((0, 1, 2, 1, 3)), "from 0 to 1 passes through a switch twice"),
        (lambda: two_switches((0, 1, 2, 3)), "do not lead there"),
    ],
)  # fmt: skip
def test_nonsense_is_refused_in_one_line(make, message):
    with pytest.raises(BadInput, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
