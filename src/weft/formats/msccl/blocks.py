"""Give the moves of a schedule to thread blocks, and say what their steps wait for.

A connection's moves are done by one block at each end, in list order.  Where what arrives on one
connection goes out on another, one block has both, and does in one step what belongs together.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from weft.formats.msccl.moves import Ends, Move
from weft.formats.msccl.program import NOBODY, Block, Chunk, Step
from weft.formats.threads import Threads, in_order, nowhere

Numbers = list[int]  # of moves
Way = tuple[int, int]  # channel and peer


class Task(NamedTuple):
    """What one step does: receive a move, send one, both, or do one within the rank."""

    receives: int | None = None
    sends: int | None = None
    local: int | None = None


@dataclass(frozen=True)
class Team:
    """The block of a rank to be, with its tasks in order."""

    channel: int
    receive: int = NOBODY
    send: int = NOBODY
    tasks: list[Task] = field(default_factory=list[Task])


@dataclass(frozen=True)
class Rank:
    """The moves at a rank, and which of those that come in go on as they are."""

    moves: Sequence[Move]
    ends: Ends
    incoming: dict[Way, Numbers]
    outgoing: dict[Way, Numbers]
    local: dict[int, Numbers]  # by channel
    onward: dict[int, Numbers]  # from a move that arrives to those that just pass it on


def ranks_of(moves: Sequence[Move], ends: Ends, count: int, *, fused: bool) -> list[Rank]:
    """Every rank with its moves; if fused, what goes on as it came is known."""
    written = {turn: number for number, turn in enumerate(ends.written)}
    ranks = [
        Rank(moves, ends, defaultdict(list), defaultdict(list), defaultdict(list), {})
        for _ in range(count)
    ]
    for number, move in enumerate(moves):
        if move.src == move.dst:
            ranks[move.src].local[move.channel].append(number)
            continue
        ranks[move.src].outgoing[move.channel, move.dst].append(number)
        ranks[move.dst].incoming[move.channel, move.src].append(number)
        needs = ends.needs[ends.read[number]]
        origin = written.get(min(needs, default=-1))
        if not fused or len(needs) > 1 or origin is None:
            continue
        came = moves[origin]
        if came.src != came.dst and (came.target, came.chunks, came.channel) == (
            move.source,
            move.chunks,
            move.channel,
        ):
            ranks[move.src].onward.setdefault(origin, []).append(number)
    return ranks


def teams_of(rank: Rank) -> list[Team]:
    """Who does what: connections with most to pass on from one to the other come together."""
    out_of = {number: way for way, numbers in rank.outgoing.items() for number in numbers}
    passed = Counter(
        (way, out_of[onward])
        for way, numbers in rank.incoming.items()
        for number in numbers
        for onward in rank.onward.get(number, ())
    )
    partner: dict[Way, Way] = {}
    for (way, out), _ in sorted(passed.items(), key=lambda item: (-item[1], item[0])):
        if way not in partner and out not in partner.values():
            partner[way] = out
    alone = rank.outgoing.keys() - set(partner.values())
    teams = [
        Team(way[0], way[1], partner[way][1] if way in partner else NOBODY) for way in rank.incoming
    ]
    teams += [Team(channel, NOBODY, peer) for channel, peer in alone]
    teams.sort(key=lambda team: (team.channel, team.receive, team.send))
    for team in teams:
        team.tasks.extend(_tasks(rank, team))
    return teams + [
        Team(channel, tasks=[Task(local=number) for number in numbers])
        for channel, numbers in sorted(rank.local.items())
    ]


def _tasks(rank: Rank, team: Team) -> list[Task]:
    """What the block does: in list order, or fused, by depth, and sends go ahead to be fused.

    Depth is the same for every list of the same moves, so that a file read and written is the same.
    """
    ends = rank.ends
    turn = ends.depth if rank.onward else range(len(ends.depth))
    receives = deque(rank.incoming[team.channel, team.receive] if team.receive != NOBODY else ())
    sends = deque(rank.outgoing[team.channel, team.send] if team.send != NOBODY else ())
    to_do = {ends.written[number] for number in receives} | {ends.read[number] for number in sends}
    mine = set(sends)
    tasks: list[Task] = []
    while receives and sends:
        arrives, leaves = ends.written[receives[0]], ends.read[sends[0]]
        can_receive, can_send = (not ends.needs[end] & to_do for end in (arrives, leaves))
        onward = next((n for n in rank.onward.get(receives[0], ()) if n in mine), None)
        ahead = turn[leaves] <= turn[arrives] or onward is not None
        if can_receive and onward == sends[0]:
            tasks.append(Task(receives=receives.popleft(), sends=sends.popleft()))
            to_do -= {arrives, leaves}
        elif can_send and (ahead or not can_receive):
            tasks.append(Task(sends=sends.popleft()))
            to_do.remove(leaves)
        else:
            tasks.append(Task(receives=receives.popleft()))
            to_do.remove(arrives)
    tasks += [Task(receives=number) for number in receives]
    return tasks + [Task(sends=number) for number in sends]


def blocks_of(rank: Rank) -> tuple[Block, ...]:
    """The thread blocks of a rank, with steps that wait for those of others where they must."""
    teams = teams_of(rank)
    tasks = [(team, task) for team, members in enumerate(teams) for task in members.tasks]
    waits = _waits(rank, tasks)
    steps: list[list[Step]] = [[] for _ in teams]
    last: dict[int, tuple[int, int]] = {}  # block and step at which a task is done
    for number, (team, task) in enumerate(tasks):
        idle = max(0, len(waits[number]) - 1)
        steps[team] += [Step("nop", _NOWHERE, _NOWHERE, 0)] * idle + [_step(rank, task)]
        last[number] = team, len(steps[team]) - 1
    at = [0] * len(teams)
    for number, (team, _) in enumerate(tasks):
        first, at[team] = at[team], last[number][1] + 1
        for step, other in enumerate(waits[number], first):
            block, done = last[other]
            steps[team][step] = replace(steps[team][step], waits_for=(block, done))
            steps[block][done] = replace(steps[block][done], is_waited_for=True)
    return _waited_for_first(
        [
            Block(team.send, team.receive, team.channel, tuple(done))
            for team, done in zip(teams, steps, strict=True)
        ]
    )


def _waited_for_first(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Number the blocks so that those that others wait for come first: theirs must be small."""
    order = sorted(
        range(len(blocks)), key=lambda b: not any(s.is_waited_for for s in blocks[b].steps)
    )
    place = {block: number for number, block in enumerate(order)}

    def renamed(step: Step) -> Step:
        waits = step.waits_for
        return step if waits is None else replace(step, waits_for=(place[waits[0]], waits[1]))

    return tuple(
        replace(blocks[block], steps=tuple(map(renamed, blocks[block].steps))) for block in order
    )


_NOWHERE = Chunk("i", -1)


def _waits(rank: Rank, tasks: Sequence[tuple[int, Task]]) -> list[list[int]]:
    """The tasks of other blocks that each has to wait for and no earlier wait tells of."""
    done_by: dict[int, int] = {}
    for number, (_, task) in enumerate(tasks):
        done_by.update(dict.fromkeys(_turns(rank, task), number))
    after = [
        sorted({done_by[turn] for need in _turns(rank, task) for turn in rank.ends.needs[need]})
        for _, task in tasks
    ]
    team_of = [team for team, _ in tasks]
    others = [
        [other for other in before if team_of[other] != team_of[number]]
        for number, before in enumerate(after)
    ]
    threads = Threads(team_of, others, (), nowhere, str)
    known: list[dict[int, int]] = [{} for _ in tasks]  # by team: the last task that is done
    waits: list[list[int]] = [[] for _ in tasks]
    turn = {task: turn for turn, task in enumerate(in_order(threads))}
    for number in turn:
        mine = known[number]
        if number and team_of[number - 1] == team_of[number]:
            mine.update(known[number - 1])
        for other in sorted(others[number], key=lambda n: -turn[n]):
            if mine.get(team_of[other], -1) < other:
                waits[number].append(other)
                for team, last in known[other].items():
                    mine[team] = max(mine.get(team, -1), last)
        mine[team_of[number]] = number
    return waits


def _turns(rank: Rank, task: Task) -> set[int]:
    """The ends of moves that a task does."""
    ends, turns = rank.ends, set[int]()
    if task.receives is not None:
        turns.add(ends.written[task.receives])
    if task.sends is not None:
        turns.add(ends.read[task.sends])
    if task.local is not None:
        turns |= {ends.written[task.local], ends.read[task.local]}
    return turns


def _step(rank: Rank, task: Task) -> Step:
    if task.local is not None:
        move = rank.moves[task.local]
        return Step("re" if move.addend else "cpy", move.source, move.target, move.chunks)
    if task.receives is None:
        assert task.sends is not None
        move = rank.moves[task.sends]
        return Step("s", move.source, move.source, move.chunks)
    move = rank.moves[task.receives]
    source = move.addend or move.target
    if task.sends is None:
        return Step("rrc" if move.addend else "r", source, move.target, move.chunks)
    if not move.addend:
        return Step("rcs", source, move.target, move.chunks)
    if _only_passes(rank, task.receives, task.sends):
        return Step("rrs", source, source, move.chunks)
    return Step("rrcs", source, move.target, move.chunks)


def _only_passes(rank: Rank, arrives: int, leaves: int) -> bool:
    """Whether nobody but the move that leaves reads what arrives, so that it need not be kept."""
    move = rank.moves[arrives]
    if move.target.buffer != "s":
        return False
    return rank.ends.readers[arrives] == {rank.ends.read[leaves]}
