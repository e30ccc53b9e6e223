from __future__ import annotations

import numpy as np
import pytest

import weft
from weft.errors import BadInput
from weft.schedule.schedule import COLUMNS, TRANSFER, Schedule, ScheduleDraft


def test_a_draft_takes_numbers_and_arrays_alike():
    collective = weft.broadcast(3)
    one_by_one, at_once = ScheduleDraft(collective), ScheduleDraft(collective)
    for rank in range(3):
        one_by_one.move(0, rank, collective.input(0), collective.output(0))
    at_once.move(0, np.arange(3), collective.input(0), collective.output(0))
    assert one_by_one.schedule("flat") == at_once.schedule("flat")
    weft.verify(at_once.schedule("flat"))


def test_a_draft_numbers_messages_on_from_call_to_call():
    draft = ScheduleDraft(weft.allreduce(2))
    draft.move(0, 1, [0, 0], [1, 2], message=0)
    draft.move(1, 0, 0, 1)
    draft.move([0, 0, 1], [1, 1, 0], 0, 1, message=[0, 0, 1])
    assert draft.schedule("x").transfers["message"].tolist() == [0, 0, -1, 1, 1, 2]
    assert draft.schedule("x").messages == 4


def test_a_draft_has_the_scratch_that_it_uses():
    collective = weft.allreduce(2)
    draft = ScheduleDraft(collective)
    assert draft.schedule("x").scratch == 0
    draft.move(0, 1, collective.scratch(1), 1)
    assert draft.schedule("x").scratch == 2
    draft.move(0, 1, 0, 1, add=collective.scratch(4))
    assert draft.schedule("x").scratch == 5


def test_columns_stand_in_the_order_of_the_format():
    draft = ScheduleDraft(weft.allreduce(8))
    draft.move(1, 2, 3, 4, add=5, route=6)
    assert draft.schedule("x").transfers.tolist() == [(1, 2, 3, 4, 5, -1, 6)]
    assert COLUMNS == ("src", "dst", "src_slot", "dst_slot", "addend", "message", "route")


def test_what_stays_on_a_rank_is_no_message():
    assert weft.classic.ring_allgather(weft.allgather(3)).messages == 6
    assert len(weft.classic.ring_allgather(weft.allgather(3))) == 9


def test_schedules_are_equal_by_content():
    one, other = (weft.classic.ring_allreduce(weft.allreduce(3)) for _ in range(2))
    assert one == other
    assert one != weft.classic.ring_allreduce(weft.allreduce(4))
    assert one != Schedule("ring", one.collective, one.transfers, in_place=False)
    assert one != "ring"


def test_a_schedule_cannot_be_changed():
    schedule = weft.classic.ring_allreduce(weft.allreduce(3))
    with pytest.raises(ValueError, match="read-only"):
        schedule.transfers["src"] = 0


def test_a_schedule_does_not_freeze_or_follow_the_array_it_was_made_of():
    transfers = weft.classic.ring_allreduce(weft.allreduce(3)).transfers.copy()
    schedule = Schedule("x", weft.allreduce(3).cut(3), transfers)
    transfers["dst"] = 9
    weft.verify(schedule)


@pytest.mark.parametrize(
    ("move", "message"),
    [
        ({"src": 2**32}, "src reaches from 4294967296"),
        ({"dst": 0.9}, "dst has the type float64: give whole numbers"),
        ({"dst": True}, "dst has the type bool"),
        ({"message": -1}, "message reaches from -1"),
        ({"message": "a"}, "message has the type"),
    ],
)
def test_a_draft_refuses_what_does_not_fit_a_column(move, message):
    draft = ScheduleDraft(weft.allreduce(2))
    usual = {"src": 0, "dst": 1, "src_slot": 0, "dst_slot": 1}
    with pytest.raises(BadInput, match=message):
        draft.move(**(usual | move))


def test_a_move_of_nothing_is_nothing():
    draft = ScheduleDraft(weft.allreduce(2))
    draft.move([], [], [], [], message=[])
    assert len(draft.schedule("x")) == 0


def test_repr_says_what_it_is():
    assert repr(weft.classic.bruck_allgather(weft.allgather(4))) == (
        "<Schedule Bruck: allgather over 4 ranks, 16 transfers in 8 messages>"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "is named ''"),
        ({"name": "[red]x"}, "letters, digits"),
        ({"name": "x\n"}, "letters, digits"),
        ({"name": "x" * 81}, "1 to 80"),
        ({"scratch": -1}, "scratch is -1"),
        ({"scratch": 2**40}, "slots"),
        ({"transfers": np.zeros((0, 7), np.int32)}, "give TRANSFER rows"),
        ({"in_place": False, "out_of_place": False}, "claim at least one"),
    ],
)
def test_nonsense_is_refused(change, message):
    usual = {"name": "x", "collective": weft.allreduce(2), "transfers": np.empty(0, TRANSFER)}
    with pytest.raises(BadInput, match=message):
        Schedule(**(usual | change))
