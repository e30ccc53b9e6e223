"""What a schedule puts on the wires, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from weft.schedule.schedule import Schedule
from weft.schedule.verify import pieces_moved


def blocks_sent(schedule: Schedule) -> list[Fraction]:
    """How many blocks each rank sends to others, in all; the schedule must be correct."""
    transfers = schedule.transfers
    leaves = transfers["src"] != transfers["dst"]
    pieces = schedule.collective.pieces[pieces_moved(schedule)[leaves]]
    senders = transfers["src"][leaves]
    shares, which = np.unique(
        np.stack([pieces["high"] - pieces["low"], pieces["total"]]), axis=1, return_inverse=True
    )
    sent = [Fraction(0)] * schedule.collective.ranks
    for number, (weight, total) in enumerate(shares.T.tolist()):
        counts = np.bincount(senders[which == number], minlength=len(sent))
        sent = [s + Fraction(weight, total) * c for s, c in zip(sent, counts.tolist(), strict=True)]
    return sent
