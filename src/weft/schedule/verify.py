"""Prove that a schedule does what its collective promises, by replaying who holds what.

Rule 1: this module never imports a synthesizer, so no algorithm is judged by its own maker.
Rule 2: it counts contributions, so that adding a rank's data twice is as wrong as leaving it out.
Rule 3: the rules themselves are one table, in `native/verify/verify.cpp`; `RULES` lists them.
"""

from __future__ import annotations

import numpy as np

from weft.errors import WrongSchedule
from weft.schedule.explain import explain
from weft.schedule.replay import Rows, modes, replay, ways_of
from weft.schedule.schedule import Schedule
from weft.topology.topology import Topology


def verify(schedule: Schedule, topology: Topology | None = None) -> None:
    """Raise WrongSchedule at the first broken rule; with a topology, its routes count too."""
    _prove(schedule, ways_of(topology, schedule) if topology else None)


def pieces_moved(schedule: Schedule) -> Rows:
    """Prove a schedule, and return the piece that each transfer moves."""
    pieces = np.empty(len(schedule), np.int32)
    _prove(schedule, pieces=pieces)
    return pieces


def _prove(schedule: Schedule, ways: Rows | None = None, pieces: Rows | None = None) -> None:
    for mode in modes(schedule):
        found, _ = replay(schedule, mode, ways=ways, pieces=pieces)
        if found:
            raise WrongSchedule(explain(schedule, mode, found))
