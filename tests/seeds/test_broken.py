"""What one breaks in the engine, the lowering or the moves is noticed within so many seeds."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from seeds.driver import NATIVE, World

pytestmark = [pytest.mark.slow, pytest.mark.tree]

ENGINE, LOWER, MOVES = "engine/engine.cpp", "engine/lower.cpp", "transport/moves.cpp"


class Break(NamedTuple):
    name: str
    file: str
    old: str
    new: str
    seeds: int = 1_000  # within which it is noticed


BREAKS = [
    Break(
        "overwrites what others still read",
        LOWER,
        "needs_.push_back(readers_[at(r)].operation);",
        "static_cast<void>(r);",
    ),
    Break(
        "overwrites what nobody has read before it is written",
        LOWER,
        "if (target.first_reader == kNone) need_writer(t.dst_slot);",
        "",
    ),
    Break(
        "sends what is not yet written",
        LOWER,
        "if (kind != Kind::kReceive) need_writer(t.src_slot);",
        "",
    ),
    Break(
        "adds to what is not yet written",
        LOWER,
        "if (t.addend != kNone) need_writer(t.addend);",
        "",
    ),
    Break(
        "leaves out scratch that is read twice",
        LOWER,
        "reader.next != kNone || ",
        "",
    ),
    Break(
        "leaves out scratch that came with more",
        LOWER,
        " || !content.alone",
        "",
    ),
    Break(
        "takes a follower that waits for more",
        ENGINE,
        "state.next != key.segment || state.lacks != 1",
        "state.next != key.segment",
    ),
    Break(
        "takes a follower without room",
        ENGINE,
        "!fuse_[at(about.way)] || !has_room(about.way, {key.segment, follower})",
        "!fuse_[at(about.way)]",
    ),
    Break(
        "keeps no last room",
        ENGINE,
        "if (o.room != 1) return o.room > 1;",
        "if (o.room != 1 || segments_ > 0) return o.room > 0;",
    ),
    Break(
        "gives no room back",
        ENGINE,
        "++outgoing_[at(outgoing)].room;",
        "",
    ),
    Break(
        "counts ends in any order",
        ENGINE,
        "if (key.segment != state.done) return early_.push_back(key);",
        "key.segment = state.done;",
        seeds=100_000,
    ),
    Break(
        "knows no deadline",
        ENGINE,
        "void Engine::deadline() {",
        "void Engine::deadline() {\n  if (unfinished_ > 0) return;",
    ),
    Break(
        "does not hear that a peer has gone",
        ENGINE,
        "void Engine::peer_gone(std::int32_t peer) {",
        "void Engine::peer_gone(std::int32_t peer) {\n  if (unfinished_ > 0) return;",
    ),
    Break(
        "applies before it has arrived",
        ENGINE,
        "needs + life_of(program_.operations[at(number)].kind).arrivals",
        "needs",
    ),
    Break(
        "begins segments one too late",
        "engine/program.hpp",
        "* segment / segments;",
        "* segment / segments + (segment > 0);",
    ),
    Break(
        "gives a segment of scratch no place of its own",
        MOVES,
        "place.stride == 0 ? range.begin : place.stride * segment",
        "range.begin + 0 * segment",
    ),
    Break(
        "makes scratch as large as what it holds last",
        MOVES,
        "stride = std::max(stride, (part.elements + segments_ - 1) / segments_);",
        "stride = (part.elements + segments_ - 1) / segments_;",
    ),
    Break(
        "adds only once where two are added",
        MOVES,
        "first.addend.memory != nullptr && second.addend.memory != nullptr",
        "segments_ == 0",
    ),
]


def change(world: World, broken: Break, folder: Path) -> World:
    text = (NATIVE / broken.file).read_text()
    assert text.count(broken.old) == 1
    return world.changed(broken.file, text.replace(broken.old, broken.new), folder)


@pytest.mark.parametrize("broken", BREAKS, ids=[broken.name for broken in BREAKS])
def test_it_is_noticed(world: World, broken: Break, tmp_path: Path):
    assert next(change(world, broken, tmp_path).failures(0, broken.seeds), None)


def test_a_crash_is_found_by_its_seed(world: World, tmp_path: Path):
    """Else one would not know what to run again."""
    opening = "void Engine::deadline() {"
    crash = Break("crashes", ENGINE, opening, f"{opening}\n  __builtin_trap();")
    failures = list(change(world, crash, tmp_path).failures(0, 40))
    assert failures
    assert all("the program ended with -" in line for line in failures)
