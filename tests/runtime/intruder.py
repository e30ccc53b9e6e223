"""A peer that keeps to no protocol: it writes into the shared memory what it likes."""

from __future__ import annotations

import mmap
import os
import struct
import threading
from random import Random

import numpy as np

import weft
from weft.runtime.group import SEGMENT_BYTES, WINDOW, share_memory

LINE = 64
PLACE = LINE + SEGMENT_BYTES
LINK = LINE + WINDOW * PLACE
RANKS = 2
SEGMENTS = 16
DEADLINE = 0.02  # seconds
ATTACKS = ("noise", "announcements", "returns", "plausible", "meanwhile")


class Intruder:
    """Rank 1 of two, in the view of rank 0, of whose memory it has a mapping of its own."""

    def __init__(self, descriptor: int, draw: Random) -> None:
        self.memory = mmap.mmap(descriptor, 0)
        self.draw = draw

    def announce(self, turn: int, call: int, plan: int, operation: int) -> None:
        place = self._link(1, 0) + LINE + (turn - 1) % WINDOW * PLACE
        self.memory[place + 64 : place + 128] = self.draw.randbytes(64)
        self.memory[place + 8 : place + 64] = struct.pack("<IIi44x", call, plan, operation)
        self.memory[place : place + 8] = struct.pack("<Q", turn)

    def give_back(self, count: int, places: list[int]) -> None:
        returns = self._link(0, 1)
        self.memory[returns + 8 : returns + 8 + len(places)] = bytes(places)
        self.memory[returns : returns + 8] = struct.pack("<Q", count)

    def plan(self) -> int:
        """What rank 0 has announced to run."""
        place = self._link(0, 1) + LINE
        plan: int = struct.unpack_from("<8xII", self.memory, place)[1]
        return plan

    def attack(self, how: str, plan: int) -> None:
        draw = self.draw
        match how:
            case "noise":
                for link in (self._link(0, 1), self._link(1, 0)):
                    for line in (link, *(link + LINE + n * PLACE for n in range(WINDOW))):
                        self.memory[line : line + LINE] = draw.randbytes(LINE)
            case "announcements":
                for turn in range(1, WINDOW + 1):
                    operation = draw.choice([-1, 7, draw.randint(-(2**31), 2**31 - 1)])
                    self.announce(turn, draw.choice([0, 1, 2**32 - 1]), plan, operation)
            case "returns":
                count = draw.choice([1, 2, WINDOW, WINDOW + 1, 2**64 - 1])
                self.give_back(count, [draw.choice([0, 1, 255]) for _ in range(32)])
            case "plausible":
                operations = [draw.randrange(8) for _ in range(WINDOW)]
                for turn, operation in enumerate(operations, 1):
                    self.announce(turn, 1, plan ^ (draw.random() < 0.05), operation)
            case "meanwhile":
                self._scribble(plan)

    def _scribble(self, plan: int) -> None:
        """Attack while rank 0 runs, and change what it may just be looking at."""
        for turn in range(1, 200):
            self.announce(turn % 20, self.draw.choice([1, 1, 2]), plan, self.draw.randrange(5))
            if self.draw.random() < 0.1:
                self.give_back(self.draw.randrange(WINDOW), [*range(32)])

    def _link(self, src: int, dst: int) -> int:
        return RANKS * LINE + (src * RANKS + dst) * LINK


def attacked(_: weft.Group, rounds: int) -> list[list[str]]:
    """What rank 0 says in so many rounds of each attack."""
    plan = _round("nothing", 0, 0)[1]
    return [[_round(how, seed, plan)[0] for seed in range(rounds)] for how in ATTACKS]


def _round(how: str, seed: int, plan: int) -> tuple[str, int]:
    """Return what rank 0 says, and the plan that it ran."""
    memory = share_memory(RANKS)
    intruder = Intruder(memory, Random(f"{how}, {seed}"))
    ring = weft.classic.ring_allreduce(weft.allreduce(RANKS))
    given, wanted = np.zeros(16 * SEGMENTS, np.float32), np.zeros(16 * SEGMENTS, np.float32)
    attack = threading.Thread(target=intruder.attack, args=(how, plan))
    with weft.Group(memory, 0, RANKS) as group:
        call = group.prepare(ring, [given], [wanted], segments=SEGMENTS, deadline=DEADLINE)
        attack.start()
        if how != "meanwhile":
            attack.join()
        try:
            call()
            words = "finished"
        except weft.WeftError as error:
            words = f"{type(error).__name__}: {error}"
        attack.join()
    os.close(memory)
    return words, intruder.plan()
