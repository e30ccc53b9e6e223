"""The verifier on schedules small enough to judge by eye; the twins judge the rest."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest

import weft
from weft import _native
from weft.errors import BadInput, WeftError, WrongSchedule
from weft.schedule.finding import Finding, ranks_in_words
from weft.schedule.replay import RULES, modes, replay
from weft.schedule.schedule import TRANSFER, Schedule
from weft.schedule.verify import pieces_moved

GOOD = """
two: allreduce ranks=2
0.in0 -> 1.out0 + in0
1.out0 -> 0.out0
"""


def finding(text: str, topology: str | None = None) -> Finding:
    schedule = weft.parse_text(text)
    machine = weft.find_topology(topology) if topology else None
    with pytest.raises(WrongSchedule) as caught:
        weft.verify(schedule, machine)
    return caught.value.finding


def explained(found: Finding) -> str:
    return found.explain("weft verify FILE")


def test_a_correct_schedule_passes_in_silence():
    weft.verify(weft.parse_text(GOOD))


def test_a_dropped_reduction_is_missing():
    found = finding("x: allreduce ranks=2\n0.in0 -> 1.out0\n1.out0 -> 0.out0")
    assert (found.rule, found.place, found.number) == ("result is right", "0.out0", None)
    assert (found.missing, found.surplus) == (Counter([1]), Counter())
    assert found.history[0].number == 1
    assert found.history[0].held.ranks == Counter([0])
    assert [write.number for write in found.origin] == [0]


def test_a_doubled_reduction_is_counted_not_merged():
    """Adding the same data again changes the sum, though the set of contributors stays the same."""
    found = finding(GOOD + "0.in0 -> 1.out0 + out0")
    assert (found.place, found.surplus, found.missing) == ("1.out0", Counter([0]), Counter())


def test_the_origin_of_a_double_count_ends_at_the_transfer_that_made_it():
    found = finding(
        """
        x: allreduce ranks=3
        0.in0 -> 1.out0 + in0
        0.in0 -> 1.out0 + out0
        1.out0 -> 2.out0 + in0
        2.out0 -> 0.out0
        2.out0 -> 1.out0
        """
    )
    assert found.place == "0.out0"
    assert [write.number for write in found.origin] == [1, 2]


def test_the_origin_follows_the_addend_where_only_that_counts_twice():
    found = finding(
        """
        x: allreduce ranks=3
        1.in0 -> 2.tmp0
        1.in0 -> 2.tmp0 + tmp0
        0.in0 -> 2.tmp1 + tmp0
        2.tmp1 -> 0.out0
        """
    )
    assert [write.number for write in found.origin] == [1, 2]


def test_the_origin_of_a_long_way_is_cut_short():
    there_and_back = "0.out0 -> 1.out0\n1.out0 -> 0.out0\n" * 20
    found = finding(f"x: allreduce ranks=2\n0.in0 -> 0.out0\n{there_and_back}")
    assert len(found.origin) == 12


def test_where_nothing_exists_there_is_nothing_to_see():
    """A command that shows a slot is only named where it would work."""
    assert "see it" not in explained(finding("x: allreduce ranks=2\n2.in0 -> 1.out0"))
    assert "see it" in explained(finding("x: allreduce ranks=2\n0.out0 -> 1.out0"))


def test_the_error_of_a_loaded_file_names_it(tmp_path):
    path = tmp_path / "my file.txt"
    path.write_text("x: allreduce ranks=2")
    with pytest.raises(WrongSchedule) as caught:
        weft.load(path)
    assert f"see it: weft verify '{path}' --at 0.out0" in str(caught.value)
    with pytest.raises(WrongSchedule, match=r"see it: weft verify FILE --at 0\.out0"):
        weft.verify(weft.parse_text("x: allreduce ranks=2"))


def test_errors_travel_between_processes():
    with pytest.raises(WrongSchedule) as caught:
        weft.verify(weft.parse_text("x: allreduce ranks=2"))
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own
    assert (again.finding, str(again)) == (caught.value.finding, str(caught.value))


def test_a_schedule_with_too_many_sums_is_refused(monkeypatch):
    def too_many(**_: object) -> None:
        raise _native.TooManySums("more than 7 different partial sums")

    monkeypatch.setattr(_native, "verify", too_many)
    with pytest.raises(BadInput, match="two cannot be checked: more than 7"):
        weft.verify(weft.parse_text(GOOD))


def test_a_barrier_may_hear_twice_from_a_rank():
    text = "0.in0 -> 1.out0 + in0\n1.out0 -> 0.out0 + in0"
    weft.verify(weft.parse_text(f"x: barrier ranks=2\n{text}"))
    assert finding(f"x: allreduce ranks=2\n{text}").surplus == Counter([0])


@pytest.mark.parametrize(
    ("rule", "lines"),
    [
        ("source exists", "0.tmp1 -> 1.out0"),
        ("target exists", "0.in0 -> 1.tmp1"),
        ("addend exists", "0.in0 -> 1.out0 + tmp1"),
        ("sender exists", "2.in0 -> 1.out0"),
        ("receiver exists", "0.in0 -> 2.out0"),
        ("input is kept", "0.in0 -> 1.in0"),
        ("source is written", "0.tmp0 -> 1.out0"),
        ("source is written", "0.out0 -> 1.out0"),
        ("addend is written", "0.in0 -> 1.out0 + tmp0"),
        ("route exists", "0.in0 -> 0.out0 via 1"),
        ("message is whole", "0.in0 -> 1.out0, 1.in0 -> 0.out0"),
        ("message is sent at once", "0.in0 -> 0.tmp0, 0.tmp0 -> 0.out0"),
    ],
)
def test_each_rule_has_its_breach(rule, lines):
    found = finding(f"x: allreduce ranks=2 scratch=1 modes=out\n{lines}")
    assert (found.rule, found.number) == (rule, lines.count(",") if "message" in rule else 0)


def test_adding_different_pieces_is_refused():
    found = finding("x: allreduce ranks=2 cut=2\n0.in0 -> 1.out0 + in1")
    assert found.rule == "addend matches"
    assert "got: block 0 [1:2 of 2]\n  wanted: block 0 [0:1 of 2]\n" in explained(found)
    assert (
        "what wrote 1.in1:\n    at the start it holds block 0 [1:2 of 2] from rank 1"
        in explained(found)
    )


def test_an_output_never_holds_another_piece():
    """It is as large as its own piece, and another may be longer."""
    found = finding("x: broadcast ranks=2 cut=1,2\n0.in0 -> 0.out0\n0.in1 -> 1.out0")
    assert (found.rule, found.place, found.number) == ("output fits", "1.out0", 1)
    in_place = finding("x: broadcast ranks=2 cut=1,2 modes=in\n0.in1 -> 0.in0")
    assert (in_place.rule, in_place.place) == ("output fits", "0.in0")
    assert "got: block 0 [1:3 of 3]\n  wanted: block 0 [0:1 of 3]\n" in explained(in_place)
    assert "at the start it holds block 0 [0:1 of 3] from rank 0" in explained(in_place)


def test_an_output_that_nothing_wrote_holds_nothing():
    text = finding("x: broadcast ranks=2\n0.in0 -> 0.out0").explain("weft verify x")
    assert "1.out0 ends wrong" in text
    assert "holds: nothing" in text
    assert "what wrote 1.out0:\n    nothing" in text


def test_an_alias_that_breaks_a_schedule_is_found_in_place_only():
    """Both swap their inputs; in place the first arrival overwrites what is still to be sent."""
    swap = "0.in0 -> 1.out0 + in0\n1.in0 -> 0.out0 + in0"
    weft.verify(weft.parse_text(f"x: allreduce ranks=2 modes=out\n{swap}"))
    found = finding(f"x: allreduce ranks=2\n{swap}")
    assert (found.mode, found.place, found.surplus) == ("in place", "0.out0", Counter([0]))


def test_in_place_an_input_may_be_written_where_it_is_an_output():
    weft.verify(weft.parse_text("x: broadcast ranks=2 modes=in\n0.in0 -> 1.out0"))
    found = finding("x: broadcast ranks=2 modes=out\n0.in0 -> 1.out0")
    assert found.place == "0.out0"


@pytest.mark.parametrize(
    ("topology", "route", "exists"),
    [
        ("ring:4", 0, True),
        ("ring:4", 1, False),
        ("mesh:4", 0, False),
        ("star:4", 0, True),
        ("full:4", 1, False),
    ],
)
def test_routes_count_where_there_is_a_topology(topology, route, exists):
    text = f"x: broadcast ranks=4\n0.in0 -> 0.out0\n0.in0 -> 3.out0 via {route}\n"
    found = finding(text, topology)
    assert found.rule == ("result is right" if exists else "route exists")
    assert finding(text).rule == "result is right"


def test_a_topology_of_another_size_does_not_fit():
    schedule = weft.classic.ring_allreduce(weft.allreduce(8))
    with pytest.raises(
        BadInput, match="ring is for 8 ranks, ring:4 has 4: take a topology of that size"
    ):
        weft.verify(schedule, weft.find_topology("ring:4"))


def test_message_numbers_rise():
    schedule = weft.classic.bruck_allgather(weft.allgather(5))
    transfers = schedule.transfers.copy()
    transfers["message"][transfers["message"] >= 0] = 7
    with pytest.raises(WrongSchedule) as caught:
        weft.verify(Schedule("x", schedule.collective, transfers))
    assert caught.value.finding.rule == "message is whole"


def test_the_finding_reads_as_a_person_would_say_it():
    found = finding(GOOD + "0.in0 -> 1.out0 + out0")
    assert found.explain("weft verify two.txt") == (
        "1.out0 ends wrong   (two, allreduce over 2 ranks, out of place)\n"
        "  rule: result is right: each output holds its piece, to which just the right ranks "
        "contributed, once each\n"
        "  holds: block 0 from ranks 0 (2 times), 1\n"
        "  should hold: block 0 from ranks 0-1\n"
        "  missing: nobody\n"
        "  counted too often: rank 0\n"
        "  what wrote 1.out0:\n"
        "    transfer 0: 0.in0 -> 1.out0 + in0   then it holds block 0 from ranks 0-1\n"
        "    transfer 2: 0.in0 -> 1.out0 + out0   then it holds block 0 from ranks 0 (2 times), 1\n"
        "  see it: weft verify two.txt --at 1.out0"
    )


def test_long_findings_are_shortened():
    lines = "0.in0 -> 1.out0 + in0\n" * 40
    text = explained(
        finding(
            f"x: allreduce ranks=2\n0.in0 -> 0.out0\n1.in0 -> 0.out0 + out0\n{lines}0.in0 -> 1.out0"
        )
    )
    assert "... 20 more ..." in text
    assert len(text.splitlines()) < 24


def test_counted_sets_in_words():
    assert ranks_in_words(Counter()) == "nobody"
    assert ranks_in_words(Counter([3])) == "rank 3"
    assert ranks_in_words(Counter([0, 1, 2, 5, 7, 7])) == "ranks 0-2, 5, 7 (2 times)"


def test_counting_stops_before_it_overflows():
    """Thirty-five doublings would be 2 ** 35 times."""
    doubled = "1.out0 -> 1.out0 + out0\n" * 35
    found = finding(
        f"x: allreduce ranks=2\n0.in0 -> 0.out0\n1.in0 -> 0.out0 + out0\n1.in0 -> 1.out0\n{doubled}"
    )
    assert found.got
    assert found.got.ranks[1] == 2**31 - 1


def test_pieces_moved():
    schedule = weft.classic.ring_allgather(weft.allgather(3))
    assert pieces_moved(schedule).tolist() == [0, 1, 2, 0, 1, 2, 2, 0, 1]
    with pytest.raises(WrongSchedule):
        pieces_moved(Schedule("x", schedule.collective, schedule.transfers[:-1]))


def test_every_error_is_one_of_ours():
    assert issubclass(BadInput, WeftError)
    assert issubclass(WrongSchedule, WeftError)


def test_rules_have_names_and_promises():
    names = [name for name, _ in RULES]
    assert len(set(names)) == len(names) == 14
    assert all(promise for _, promise in RULES)


def test_a_schedule_without_transfers():
    empty = Schedule("x", weft.allreduce(1), np.empty(0, TRANSFER), out_of_place=False)
    weft.verify(empty)
    with pytest.raises(WrongSchedule):
        weft.verify(Schedule("x", weft.allreduce(1), np.empty(0, TRANSFER)))


def test_the_native_core_refuses_tables_that_point_outside():
    """Our own code never passes such; if it did, that must be an error and not a crash."""
    collective = weft.allreduce(2)
    schedule = weft.classic.ring_allreduce(collective)
    mode = modes(schedule)[0]
    with pytest.raises(ValueError, match="outside"):
        replay(schedule, mode, watched=(2, 0))
    rows = np.zeros((1, 5), np.int32)
    rows[0, 1] = 9
    none = {"transfers": np.zeros((0, 7), np.int32), "aliases": np.zeros((0, 3), np.int32)}
    with pytest.raises(ValueError, match="outside"):
        _native.verify(
            ranks=2, slots=2, first_scratch=2, heard_is_enough=False, initial=rows, final=rows,
            ways=None, pieces=None, watched=None, **none,
        )  # fmt: skip


def test_the_native_core_converts_nothing_in_silence():
    with pytest.raises(TypeError):
        _native.verify(
            ranks=1, slots=2, first_scratch=2, heard_is_enough=False,
            transfers=np.zeros((0, 7), np.int64), initial=np.zeros((0, 5), np.int32),
            final=np.zeros((0, 5), np.int32), aliases=np.zeros((0, 3), np.int32),
            ways=None, pieces=None, watched=None,
        )  # fmt: skip
