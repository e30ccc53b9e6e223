"""weft demo      a two-minute tour that needs nothing but this package"""

from __future__ import annotations

import time
from shutil import get_terminal_size

import numpy as np

from weft.cli.algorithms import algorithms
from weft.cli.printing import print_plain, screen, working
from weft.collective import allreduce, broadcast
from weft.errors import WrongSchedule
from weft.schedule.replay import RULES
from weft.schedule.schedule import Schedule
from weft.schedule.text import format_text
from weft.schedule.verify import verify
from weft.simulate.gantt import gantt_text
from weft.simulate.simulate import simulate
from weft.synthesis.classic.binomial import binomial_broadcast
from weft.synthesis.classic.ring import ring_allreduce
from weft.topology.zoo import find_topology
from weft.units import size_text, time_text

SMALL, LARGE, TREE = 3, 1024, 8  # ranks
SIZE = 1 << 20  # bytes
WIDTH = 80


def demo() -> int:
    """Take a two-minute tour that needs nothing but this package."""
    schedule = ring_allreduce(allreduce(SMALL))
    _show_schedule(schedule)
    _show_proof(schedule)
    _show_damage(schedule)
    _show_size()
    _show_time()
    _title("6. What there is")
    algorithms()
    print_plain(
        "\nNext:\n"
        "  weft algorithms --write schedules          write these schedules as files\n"
        "  weft verify schedules/ring-allreduce-8.json\n"
        "  weft simulate schedules/ring-allreduce-8.json --topology ring:8 --size 1K:1G:4\n"
        "  weft algorithms --topology torus:2x4       which of them fit another machine\n"
        "  weft algorithms allreduce --topology cluster:16           which is fastest when\n"
        "  weft --help"
    )
    return 0


def _title(text: str) -> None:
    screen.print(f"\n[bold]{text}[/bold]\n")


def _show_schedule(schedule: Schedule) -> None:
    _title("1. A schedule is one list of transfers")
    print_plain(
        f"This is a ring allreduce over {SMALL} ranks. Each rank has a buffer in {SMALL} pieces,\n"
        "in0 to in2, and wants the sums in out0 to out2. Sums go round first, then results:\n"
    )
    print_plain("  " + format_text(schedule).replace("\n", "\n  ").rstrip())
    print_plain(
        "\nRead it top down and it is correct one transfer at a time. Nothing but the slots that\n"
        "both touch orders two transfers: an engine may do as many at once as these allow."
    )


def _show_proof(schedule: Schedule) -> None:
    _title("2. Nothing runs before it is proved")
    verify(schedule)
    print_plain(
        f"The verifier replays who holds what and counts every contribution. Its {len(RULES)}\n"
        "rules hold here, with results in memory of their own and in the memory of the inputs."
    )


def _show_damage(schedule: Schedule) -> None:
    _title("3. Now we break it: the first transfer is done twice")
    twice = np.insert(schedule.transfers, 0, schedule.transfers[0])
    twice["src_slot"][1] = schedule.collective.input(0)
    twice["addend"][1] = schedule.collective.output(0)
    try:
        verify(Schedule("broken ring", schedule.collective, twice))
    except WrongSchedule as wrong:
        print_plain(str(wrong))


def _show_size() -> None:
    _title(f"4. The same over {LARGE} ranks")
    with working("building and verifying"):
        start = time.perf_counter()
        schedule = ring_allreduce(allreduce(LARGE))
        built = time.perf_counter()
        verify(schedule)
        verified = time.perf_counter()
    print_plain(
        f"{len(schedule):,} transfers: built in {built - start:.2f} s, "
        f"verified in {verified - built:.2f} s."
    )


def _show_time() -> None:
    _title("5. How long it takes on a machine, and what each rank does when")
    schedule = binomial_broadcast(broadcast(TREE))
    trace = simulate(schedule, find_topology(f"host:{TREE}"), SIZE)
    print_plain(
        f"A {trace.schedule.name} broadcast of {size_text(SIZE)}, in {trace.segments} segments: "
        f"{time_text(trace.time)}, by the engine that also runs it.\n\n"
        + gantt_text(trace, min(get_terminal_size().columns, WIDTH))
    )
