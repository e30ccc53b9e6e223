"""The simulator's slow twin: one engine per rank, and what the machine has free at each moment.

It shares nothing with the core: list, engine and costs are read anew, in plain Python.  Whatever is
free is offered to all that wait, the lowest (segment, message) first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush

from twins.engine import Engine, Job
from twins.lowering import NONE, Case, messages_of

NEVER, SECOND = 2**63 - 1, 10**12
ENDED, ARRIVED, CREDITED, DEADLINE, PEER_GONE = range(5)  # told in this order in one moment


@dataclass
class Trace:
    rank_ends: list[int]
    end: int = 0
    events: int = 0
    busy: list[int] = field(default_factory=list)
    # Each: time, rank, reason, message, segment, peer, cause.
    failures: list[tuple[int, ...]] = field(default_factory=list)
    # Each: ready, start, end, rank, receives, message, segment, follower, cause, resource.
    records: list[tuple[int, ...]] = field(default_factory=list)


class Resource:
    """What serves one job at a time, at a pace that changes."""

    def __init__(self, slowdowns: list[tuple[int, int, int]]) -> None:
        steps = [((start, 1), (until, factor)) for start, until, factor in slowdowns]
        self.paces = [pace for step in steps for pace in step] + [(NEVER, 1)]  # until when, factor
        self.busy_until = self.busy = 0

    def resumes(self, now: int) -> int:
        for until, factor in self.paces:
            if until > now and factor:
                return now
            now = max(now, until)
        return NEVER

    def next_free(self, now: int) -> int:
        return self.resumes(max(now, self.busy_until))

    def finish(self, now: int, work: int) -> int:
        for until, factor in self.paces:
            if until <= now:
                continue
            able = (until - now) // factor if factor else 0
            if work <= able:
                return now + work * factor
            now, work = until, work - able
        return NEVER

    def take(self, now: int, until: int) -> None:
        self.busy_until = until
        self.busy += until - now if until != NEVER else 0


class Simulator:
    """The ranks on one machine, moment by moment."""

    def __init__(self, case: Case) -> None:
        self.case, self.messages, self.now = case, messages_of(case), 0
        ways = dict.fromkeys(message.way for message in self.messages)
        self.ways = [way for way in ways if way[0] != way[1]]
        self.engines = [Engine(rank, self.messages, case) for rank in range(case.ranks)]
        count = case.ranks + len(case.rates)
        self.resources = [Resource(case.slowdowns.get(n, [])) for n in range(count)]
        self.touched = list(range(case.ranks))
        self.trace = Trace([NEVER] * case.ranks)
        self.events: list[tuple[int, int, int, int]] = []  # time, what, rank, number
        self.jobs: dict[tuple[int, int], Job] = {}  # under way, by rank and number
        self.waiting: list[Job] = []
        for time, rank in case.deaths:
            self.spread(time, rank)
        for rank in range(case.ranks):
            self.tell(case.deadline, DEADLINE, rank, NONE)

    def run(self) -> Trace:
        while self.now != NEVER:
            while self.events and self.events[0][0] == self.now:
                self.happen(*heappop(self.events)[1:])
            self.poll()
            self.start_what_may()
            freed = [self.resources[job.resource].next_free(self.now) for job in self.waiting]
            self.now = min([*freed, *(event[0] for event in self.events[:1])], default=NEVER)
        self.trace.busy = [resource.busy for resource in self.resources]
        return self.trace

    def tell(self, time: int, what: int, rank: int, number: int) -> None:
        if time != NEVER:
            heappush(self.events, (time, what, rank, number))

    def happen(self, what: int, rank: int, number: int) -> None:
        if what in {PEER_GONE, DEADLINE}:
            return self.hear(what, rank, number)
        self.trace.events += 1
        if rank not in self.touched:
            self.touched.append(rank)
        if what == ENDED:
            self.end(self.jobs.pop((rank, number)))
        elif what == ARRIVED:
            self.engines[rank].arrive(number)
        else:
            self.engines[rank].credit(self.ways[number])
        return None

    def end(self, job: Job) -> None:
        engine, message = self.engines[job.rank], self.messages[job.message]
        if message.comes(job.rank) and not engine.failed:
            heard = self.now + self.case.paths[message.way][0]
            self.tell(heard, CREDITED, message.way[0], self.ways.index(message.way))
        engine.end(job.message, job.segment)
        if job.follower != NONE:
            engine.end(job.follower, job.segment)
            self.trace.events += 1
        self.trace.end = self.now
        receives, times = not message.leaves(job.rank), (job.ready, job.start, self.now)
        what = (job.rank, receives, job.message, job.segment, job.follower)
        self.trace.records.append((*times, *what, job.cause, job.resource))

    def hear(self, what: int, rank: int, peer: int) -> None:
        """Bad news reaches a rank when it next does anything."""
        heard, engine = self.resources[rank].resumes(self.now), self.engines[rank]
        if heard > self.now:
            return self.tell(heard, what, rank, peer)
        blame = None if engine.failed or engine.finished() else engine.blame(peer)
        if blame:
            engine.failed = True
            self.trace.failures.append((self.now, rank, what == DEADLINE, *blame))
            self.resources[rank].busy_until = NEVER
            self.spread(self.now, rank)
        return None

    def spread(self, time: int, gone: int) -> None:
        for way in self.ways:
            if gone in way[:2]:
                heard = time + self.case.paths[way][0]
                self.tell(heard, PEER_GONE, way[0] + way[1] - gone, gone)

    def poll(self) -> None:
        for rank in self.touched:
            engine = self.engines[rank]
            if engine.failed:
                continue
            for job in engine.poll():
                job.ready = self.now
                self.waiting.append(job)
            if engine.finished():
                self.trace.rank_ends[rank] = min(self.trace.rank_ends[rank], self.now)
        self.touched = []

    def start_what_may(self) -> None:
        """What is free calls those that wait for it, one by one as long as it is free."""
        calling = {NONE} | {n for n in range(len(self.resources)) if self.is_free(n)}
        for job in sorted(self.waiting, key=lambda job: (job.segment, job.message)):
            caller = job.resource
            if caller not in calling:
                continue
            taken = [number for number in self.needed(job) if not self.is_free(number)]
            if taken:
                job.resource = taken[0]
            else:
                self.waiting.remove(job)
                self.begin(job)
            if caller != NONE and not self.is_free(caller):
                calling.remove(caller)

    def is_free(self, number: int) -> bool:
        return self.resources[number].next_free(self.now) == self.now

    def needed(self, job: Job) -> list[int]:
        sent = job.sent(self.messages)
        path = self.case.paths[self.messages[sent[0]].way][2] if sent else []
        return [job.rank, *path]

    def begin(self, job: Job) -> None:
        job.start = self.now
        processor, sent = self.resources[job.rank], job.sent(self.messages)
        done = left = processor.finish(self.now, self.work(job))
        for number in sent:
            way = self.messages[number].way
            latency, by_processor, path = self.case.paths[way]
            left = max([done, *(self.cross(r, number, job.segment) for r in path)])
            done = left if by_processor else done
            if left != NEVER:
                self.tell(left + latency, ARRIVED, way[1], number)
        processor.take(self.now, done)
        number = job.segment * len(self.messages) + job.message
        self.jobs[job.rank, number] = job
        self.tell(left, ENDED, job.rank, number)

    def cross(self, number: int, message: int, segment: int) -> int:
        """When the bytes of a message are through one resource of its path."""
        resource, rate = self.resources[number], self.case.rates[number - self.case.ranks]
        copied, added = self.bytes_of(message, segment)
        until = resource.finish(self.now, time_of(copied + added, rate))
        resource.take(self.now, until)
        return until

    def work(self, job: Job) -> int:
        """What the processor has to do, but for moving bytes along a path."""
        send, receive, reduce, copy = self.case.overheads
        sent = job.sent(self.messages)
        took = send * len(sent) + receive * self.messages[job.message].comes(job.rank)
        applied = [n for n in (job.message, job.follower) if n != NONE and n not in sent]
        sizes = [self.bytes_of(n, job.segment) for n in applied]
        times = [time_of(copied, copy) + time_of(added, reduce) for copied, added in sizes]
        add_up = all(self.messages[n].parts[0].addend is not None for n in applied)
        return took + (sum(times) if add_up else max(times, default=0))

    def bytes_of(self, message: int, segment: int) -> tuple[int, int]:
        """How many are copied and how many are added."""
        total = [0, 0]
        for part in self.messages[message].parts:
            low, high = (part.elements * s // self.case.segments for s in (segment, segment + 1))
            total[part.addend is not None] += high - low
        return total[0], total[1]


def time_of(size: int, rate: int) -> int:
    return -(-size * SECOND // rate) if rate else 0
