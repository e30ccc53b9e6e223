"""A trace as lines of text: a row for each rank, time from left to right."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weft.simulate.conditions import NEVER
from weft.simulate.trace import Trace
from weft.units import counted, time_text

Cells = npt.NDArray[np.bool_]

MOST_RANKS = 32
IDLE, SENDS, APPLIES, BOTH, GONE = ".>+#x"
LEGEND = f"{SENDS} sends   {APPLIES} applies   {BOTH} both   {IDLE} waits   {GONE} is gone"
LEAST_WIDTH = 24  # for the largest rank's name and any time


def gantt_text(trace: Trace, width: int = 72) -> str:
    """What each rank does when, in lines of `width`, 24 at least; only what takes time is seen."""
    width = max(width, LEAST_WIDTH)
    label = len(f"rank {trace.topology.ranks - 1}  ")
    columns = width - label
    ends = [failure.time for failure in trace.failures]
    end = max([trace.time, *ends])
    span = max(end, 1)
    lines = [
        (f"rank {rank}".ljust(label) + _row(trace, rank, span, columns)).rstrip()
        for rank in range(min(trace.topology.ranks, MOST_RANKS))
    ]
    if trace.topology.ranks > MOST_RANKS:
        lines.append(f"and {counted(trace.topology.ranks - MOST_RANKS, 'more rank')}")
    axis = " " * label + "0" + time_text(end).rjust(columns - 1)
    legend = LEGEND if len(LEGEND) <= width else LEGEND.replace("   ", "\n")
    return "\n".join([*lines, axis, legend])


def _row(trace: Trace, rank: int, span: int, columns: int) -> str:
    records = trace.records[trace.records["rank"] == rank]
    sends = (records["receives"] == 0) | _passes_on(trace, records, rank)
    sending = _cells(records[sends], span, columns)
    applying = _cells(records[records["receives"] == 1], span, columns)
    row = np.full(columns, IDLE)
    row[sending], row[applying], row[sending & applying] = SENDS, APPLIES, BOTH
    if trace.rank_ends[rank] != NEVER:
        row[-(-int(trace.rank_ends[rank]) * columns // span) :] = " "
    gone = [failure.time for failure in trace.failures if failure.rank == rank]
    gone += [fault.start for fault in trace.conditions.faults if fault.dies and fault.rank == rank]
    for time in gone:
        if time <= span:
            row[min(time * columns // span, columns - 1) :] = GONE
    return "".join(row.tolist())


def _passes_on(trace: Trace, records: npt.NDArray[np.void], rank: int) -> Cells:
    """Which of them also send, as what follows."""
    if len(records) == 0:  # There may be no messages then.
        return np.zeros(0, np.bool_)
    followers = trace.messages[records["follower"]]
    leaves: Cells = (followers["src"] == rank) & (followers["dst"] != rank)
    return leaves & (records["follower"] >= 0)


def _cells(records: npt.NDArray[np.void], span: int, columns: int) -> Cells:
    """The columns in which one of them is under way."""
    lasting = records[records["end"] > records["start"]]
    scale = columns / span
    changes = np.zeros(columns + 1, np.int64)
    first = np.minimum((lasting["start"] * scale).astype(np.int64), columns - 1)
    last = np.clip(np.ceil(lasting["end"] * scale).astype(np.int64), first + 1, columns)
    np.add.at(changes, first, 1)
    np.add.at(changes, last, -1)
    return np.cumsum(changes)[:-1] > 0
