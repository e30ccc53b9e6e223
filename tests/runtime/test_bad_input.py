"""Each way of asking for what cannot be is one line of BadInput."""

from __future__ import annotations

import os
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest

import weft
from runtime import programs
from weft.runtime.group import SEGMENT_BYTES, share_memory

RING = weft.classic.ring_allreduce(weft.allreduce(1))
SWAP = weft.classic.pairwise_alltoall(weft.alltoall(1))


@pytest.fixture
def memory():
    descriptor = share_memory(1)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def group(memory):
    with weft.Group(memory, 0, 1) as group:
        yield group


def floats(count: int = 4) -> np.ndarray:
    return np.zeros(count, np.float32)


def refused(pattern: str):
    """One line that says this."""
    return pytest.raises(weft.BadInput, match=rf"\A[^\n]*(?:{pattern})[^\n]*\Z")


@pytest.mark.parametrize("ranks", [-1, 0, 65])
def test_memory_is_for_1_to_64_ranks(ranks):
    with refused("the number of ranks is"):
        share_memory(ranks)


@pytest.mark.parametrize(
    ("rank", "ranks", "why"),
    [
        (0, 0, "the number of ranks is 0"),
        (0, 65, "the number of ranks is 65"),
        (-1, 1, "the rank is -1"),
        (1, 1, "the rank is 1"),
        (0, 2, "not that of a shared memory of this shape"),
    ],
)
def test_a_place_must_be_one_of_the_memory(memory, rank, ranks, why):
    with refused(why):
        weft.Group(memory, rank, ranks)


@pytest.mark.parametrize("descriptor", [-1, 1 << 31, 1 << 70])
def test_a_descriptor_is_a_small_number(descriptor):
    with refused("the descriptor is"):
        weft.Group(descriptor, 0, 1)


def test_a_descriptor_must_be_of_shared_memory(memory, tmp_path):
    size = os.fstat(memory).st_size
    with Path(tmp_path, "plain").open("w+b") as plain:
        plain.truncate(size)
        with refused("not that of a shared memory"):
            weft.Group(plain.fileno(), 0, 1)
    unsealed = os.memfd_create("unsealed", os.MFD_ALLOW_SEALING)
    os.truncate(unsealed, size)
    with refused("not that of a shared memory"):
        weft.Group(unsealed, 0, 1)
    os.close(unsealed)
    with refused("cannot be opened: Bad file descriptor"):
        weft.Group(unsealed, 0, 1)
    for pipe in os.pipe():
        with refused("not that of a shared memory"):
            weft.Group(pipe, 0, 1)
        os.close(pipe)


def test_a_rank_is_taken_once(memory):
    with weft.Group(memory, 0, 1), refused("rank 0 has been taken"):
        weft.Group(memory, 0, 1)
    with refused("rank 0 has been taken"):
        weft.Group(memory, 0, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"WEFT_RANK": None},
        {"WEFT_RANKS": ""},
        {"WEFT_MEMORY": "-1"},
        {"WEFT_MEMORY": "3 "},
        {"WEFT_RANK": "٣"},
        {"WEFT_RANK": "1" * 10},
    ],
)
def test_the_environment_must_say_which_rank_it_is(change):
    right = {"WEFT_RANK": "0", "WEFT_RANKS": "1", "WEFT_MEMORY": "3"}
    told = {name: value for name, value in (right | change).items() if value is not None}
    with refused("start the program with weft.launch"):
        weft.Group.join(told)


@pytest.mark.parametrize(
    ("inputs", "outputs", "why"),
    [
        (
            [[1.0]],
            [[1.0]],
            "inputs are no list of arrays: give a list of arrays, one per block",
        ),
        (floats(), floats(), "the inputs are no list of arrays: give a list of arrays"),
        ([floats()], floats(1), "the outputs are no list of arrays: give a list of arrays"),
        (None, [floats()], "the inputs are no list of arrays: give a list of arrays"),
        ([], [floats()], "0 inputs given: this rank has 1"),
        ([floats()], [floats(), floats()], "2 outputs given: this rank has 1"),
        ([floats().astype(np.float64)], [floats()], "1 dimensions of float64"),
        ([floats().astype(">f4")], [floats()], "1 dimensions of >f4"),
        ([floats()], [floats().reshape(2, 2)], "2 dimensions of float32"),
        ([floats(8)[::2]], [floats()], "without gaps"),
        ([np.zeros(17, np.uint8)[1:].view(np.float32)], [floats()], "a multiple of 4 bytes"),
        ([floats()], [np.broadcast_to(floats(4), 4)], "cannot be written"),
        ([floats(3)], [floats(4)], "the input of block 0 has 3 elements, where the block has 4"),
    ],
)
def test_buffers_must_be_what_the_rank_has(group, inputs, outputs, why):
    with refused(why):
        group.prepare(RING, inputs, outputs)


def test_an_input_need_not_be_writable(group):
    given, wanted = floats(), floats()
    given[:] = range(4)
    given.flags.writeable = False
    group.prepare(RING, [given], [wanted])()
    np.testing.assert_array_equal(wanted, given)


def test_buffers_must_not_overlap_but_as_in_place(group):
    memory = floats(8)
    with refused("two buffers overlap"):
        group.prepare(RING, [memory[:4]], [memory[:4]])
    with refused("two buffers overlap"):
        group.prepare(RING, [memory[:4]], [memory[2:6]])
    with refused("out0 is not the memory of in0"):
        group.prepare(RING, [floats()], [floats()], in_place=True)
    group.prepare(RING, [memory[:4]], [memory[:4]], in_place=True)()


def test_two_inputs_are_never_one_memory():
    with weft.Group(memory := share_memory(2), 0, 2) as group, refused("two buffers overlap"):
        same = [floats(1)] * 2
        group.prepare(weft.classic.pairwise_alltoall(weft.alltoall(2)), same, same, in_place=True)
    os.close(memory)


@pytest.mark.parametrize("sizes", [None, [], [4, 4], [-1], [1 << 70]])
def test_an_uneven_collective_needs_possible_sizes(group, sizes):
    schedule = weft.classic.ring_allgather(weft.allgatherv(1))
    with refused("sizes"):
        group.prepare(schedule, [floats()], [floats()], sizes=sizes)


def test_sizes_must_be_those_of_the_arrays(group):
    with refused("the input of block 0 has 4 elements, where the block has 3"):
        group.prepare(RING, [floats()], [floats()], sizes=[3])


@pytest.mark.parametrize("deadline", [-1.0, nan, inf, 1e7])
def test_a_deadline_is_a_time(group, deadline):
    with refused("the deadline is"):
        group.prepare(RING, [floats()], [floats()], deadline=deadline)


@pytest.mark.parametrize("segments", [-1, 0, 5, 1 << 40])
def test_segments_have_elements(group, segments):
    with refused("the number of segments is .*: give 1 to 4"):
        group.prepare(SWAP, [floats()], [floats()], segments=segments)


@pytest.mark.parametrize("number", [1.5, "2"])
def test_segments_are_counted_in_whole_numbers(group, number):
    with refused("the number of segments is .*: give a whole number"):
        group.prepare(SWAP, [floats()], [floats()], segments=number)
    with refused("the bytes of a segment is .*: give a whole number"):
        group.prepare(SWAP, [floats()], [floats()], segment_bytes=number)


def test_a_segment_fits_a_place_of_a_link(group):
    most = SEGMENT_BYTES // 4
    with refused("the number of segments is 1: give 2 to"):
        group.prepare(SWAP, [floats(most + 1)], [floats(most + 1)], segments=1)


@pytest.mark.parametrize("segment_bytes", [-1, 0, 3, SEGMENT_BYTES + 1])
def test_a_segment_is_an_element_or_more(group, segment_bytes):
    with refused("the bytes of a segment is"):
        group.prepare(RING, [floats()], [floats()], segment_bytes=segment_bytes)
    assert group.prepare(RING, [floats()], [floats()], segment_bytes=4).segments == 4


def test_a_schedule_is_for_so_many_ranks(group):
    with refused("is for 2 ranks, this group has 1"):
        group.prepare(weft.classic.ring_allreduce(weft.allreduce(2)), [floats()], [floats()])


def test_a_wrong_schedule_is_never_run(group):
    nothing = weft.Schedule("nothing", weft.allreduce(1), RING.transfers[:0])
    with pytest.raises(weft.WrongSchedule):
        group.prepare(nothing, [floats()], [floats()])


def test_a_barrier_takes_no_buffers(group):
    schedule = programs.correct_barrier(1)
    with refused("a barrier moves no data"):
        group.prepare(schedule, [floats()])
    group.prepare(schedule)(3)


@pytest.mark.parametrize("times", [-1, 0, 1 << 63])
def test_a_call_is_run_at_least_once(group, times):
    with refused("the number of runs is"):
        group.prepare(RING, [floats()], [floats()])(times)


@pytest.mark.parametrize("times", [1.5, "2", None])
def test_runs_are_counted_in_whole_numbers(group, times):
    call = group.prepare(RING, [floats()], [floats()])
    with refused(f"the number of runs is {times!r}: give a whole number"):
        call(times)
    call(times=2)
    call(np.int32(2))
