"""All algorithms for a collective on a machine: what each sends and takes, and where it wins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import groupby

from weft.checks import require_range
from weft.collective import Collective
from weft.errors import BadInput, WrongSchedule
from weft.schedule.schedule import Schedule
from weft.schedule.traffic import blocks_sent
from weft.schedule.verify import verify
from weft.simulate.conditions import Conditions
from weft.simulate.simulate import sweep
from weft.simulate.sizes import MOST_SIZE, most_blocks
from weft.synthesis.classic.algorithms import ALGORITHMS, Algorithm
from weft.topology.topology import Topology
from weft.units import counted, parse_sweep, size_text

MOST_TRIED = (
    1 << 18
)  # segments of all messages, to find the best number of them: a fifth of a second
SIZES = tuple(parse_sweep("4:4G:4"))  # from one float32 up


@dataclass(frozen=True)
class Contender:
    """An algorithm that runs on the machine; at each size with as many segments as are fastest."""

    name: str
    schedule: Schedule
    most_sent: Fraction  # by one rank, in units of the size
    all_sent: Fraction  # by all ranks
    times: tuple[int, ...]  # picoseconds
    segments: tuple[int, ...]


@dataclass(frozen=True)
class LeftOut:
    """An algorithm that does not run on the machine."""

    name: str
    why: str


@dataclass(frozen=True)
class Win:
    """Sizes in a row at which one algorithm is the fastest."""

    name: str
    first: int
    last: int


@dataclass(frozen=True)
class Comparison:
    """What became of each algorithm, in the order of the table of all."""

    collective: Collective
    topology: Topology
    sizes: tuple[int, ...]  # bytes that a rank gives or gets, whichever is more
    contenders: tuple[Contender, ...]
    left_out: tuple[LeftOut, ...]

    @cached_property
    def winners(self) -> tuple[str, ...]:
        """The fastest at each size; within 1 % the one of fewest messages, and then the first.

        The number of segments is chosen no finer than that.
        """
        ranked = sorted(self.contenders, key=lambda each: each.schedule.messages)
        winners: list[str] = []
        for place in range(len(self.sizes) if ranked else 0):
            most = min(each.times[place] for each in ranked) * 101 // 100
            winners.append(next(each.name for each in ranked if each.times[place] <= most))
        return tuple(winners)

    @property
    def wins(self) -> tuple[Win, ...]:
        """The same as ranges of sizes, from the smallest."""
        runs = groupby(zip(self.winners, self.sizes, strict=False), key=lambda pair: pair[0])
        ranges = [(name, [size for _, size in run]) for name, run in runs]
        return tuple(Win(name, sizes[0], sizes[-1]) for name, sizes in ranges)


def compare(
    collective: Collective,
    topology: Topology,
    sizes: Sequence[int] | None = None,
    *,
    report: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Prove and simulate each algorithm; `report` hears what is being done.

    Without `sizes` they are 4 B to 4 GiB by fours, as far as every block has a byte.
    """
    chosen = _sizes(collective, sizes)
    fitting = [algorithm for algorithm in ALGORITHMS if algorithm.kind is collective.kind]
    found = [_contend(each, collective, topology, chosen, report) for each in fitting]
    return Comparison(
        collective,
        topology,
        chosen,
        tuple(each for each in found if isinstance(each, Contender)),
        tuple(each for each in found if isinstance(each, LeftOut)),
    )


def sent(schedule: Schedule) -> tuple[Fraction, Fraction]:
    """What one rank sends at most, and all do, in units of what a rank gives or gets."""
    if schedule.collective.heard_is_enough:
        return Fraction(0), Fraction(0)
    blocks, unit = blocks_sent(schedule), most_blocks(schedule.collective)
    return max(blocks) / unit, sum(blocks, Fraction(0)) / unit


def lacking_route(schedule: Schedule, topology: Topology) -> str | None:
    """The first transfer for which the topology has no route, if that is all that is wrong."""
    try:
        verify(schedule, topology)
    except WrongSchedule as wrong:
        if wrong.finding.rule != "route exists":
            raise
        return wrong.finding.transfer
    return None


def _sizes(collective: Collective, sizes: Sequence[int] | None) -> tuple[int, ...]:
    if collective.heard_is_enough:
        if sizes is not None:
            raise BadInput("a barrier moves no data: give no sizes")
        return (0,)
    least = most_blocks(collective)
    if sizes is None:
        return tuple(size for size in SIZES if size >= least)
    for size in sizes:
        blocks = f", with {counted(least, 'block')} on a rank," if least > 1 else ""
        require_range(f"the size{blocks}", size, least, MOST_SIZE)
    return tuple(sorted(set(sizes)))


def _contend(
    algorithm: Algorithm,
    collective: Collective,
    topology: Topology,
    sizes: tuple[int, ...],
    report: Callable[[str], None],
) -> Contender | LeftOut:
    report(f"building and verifying {algorithm.name}")
    try:
        schedule = algorithm.build(collective)
        if transfer := lacking_route(schedule, topology):
            return LeftOut(algorithm.name, f"no route for {transfer}")
        runs = list(_runs(algorithm.name, schedule, topology, sizes, report))
    except BadInput as problem:
        return LeftOut(algorithm.name, str(problem).removeprefix(f"{algorithm.name} "))
    times, segments = zip(*runs, strict=True)
    return Contender(algorithm.name, schedule, *sent(schedule), times, segments)


def _runs(
    name: str,
    schedule: Schedule,
    topology: Topology,
    sizes: tuple[int, ...],
    report: Callable[[str], None],
) -> Iterator[tuple[int, int]]:
    """(time, segments) at each size."""
    for size, simulation in zip(sizes, sweep(schedule, topology, sizes), strict=True):
        report(f"simulating {name} at {size_text(size)}")
        segments = simulation.best_segments(most_tried=MOST_TRIED)
        trace = simulation.run(segments, Conditions(), record=0)
        yield trace.time, trace.segments
