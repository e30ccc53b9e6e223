#include "engine/engine.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace weft {

Engine::Engine(const Program& program, std::int32_t segments, std::int32_t window, std::vector<bool> fuse)
    : program_(program),
      segments_(segments),
      fuse_(std::move(fuse)),
      states_(program.operations.size()),
      outgoing_(program.outgoing.size(), Outgoing{window}) {
  fuse_.resize(program.outgoing.size());
  start();
}

void Engine::start() {
  failure_.reset();
  parked_.clear();
  touched_.clear();
  early_.clear();
  unfinished_ = static_cast<std::int64_t>(states_.size()) * segments_;
  for (Outgoing& o : outgoing_) {
    o.segment = o.place = 0;
    o.touched = false;
    o.ready.clear();
  }
  for (std::int32_t number = 0; State& state : states_) {
    const auto needs = static_cast<std::int32_t>(program_.needs[number].size());
    state = State{.lacks = needs + life_of(program_.operations[at(number)].kind).arrivals};
    if (state.lacks == 0) pass(number);
    ++number;
  }
}

bool Engine::arrived(std::int32_t operation, std::int32_t way) {
  if (operation < 0 || operation >= std::ssize(states_)) return false;
  const Operation& about = program_.operations[at(operation)];
  State& state = states_[at(operation)];
  if (about.kind != Kind::kReceive || about.way != way || state.arrived == segments_) return false;
  if (state.arrived++ == state.next && --state.lacks == 0) {
    state.cause = kArrival;
    pass(operation);
  }
  return true;
}

void Engine::ended(const Instruction& instruction) {
  end_segment({instruction.segment, instruction.operation});
  if (instruction.follower != kNone) end_segment({instruction.segment, instruction.follower});
}

void Engine::credited(std::int32_t outgoing) {
  ++outgoing_[at(outgoing)].room;
  if (!outgoing_[at(outgoing)].ready.empty()) touch(outgoing);
}

void Engine::poll(std::vector<Instruction>& instructions) {
  if (failure_) return;
  if (parked_.size() > 1) std::ranges::sort(parked_);
  for (std::size_t number = 0; number < parked_.size(); ++number) apply(parked_[number], instructions);
  parked_.clear();
  for (std::size_t number = 0; number < touched_.size(); ++number)
    send_what_may(touched_[number], instructions);
  touched_.clear();
  ++polls_;
}

void Engine::apply(Key key, std::vector<Instruction>& instructions) {
  const std::int32_t cause = states_[at(key.operation)].cause;
  instructions.push_back({key.operation, key.segment, cause, take_follower(key)});
  advance(key.operation);
}

// What follows an apply is done together with it if that is all that it waits for.
std::int32_t Engine::take_follower(Key key) {
  const std::int32_t follower = program_.operations[at(key.operation)].follower;
  if (follower == kNone) return kNone;
  const Operation& about = program_.operations[at(follower)];
  const State& state = states_[at(follower)];
  if (state.next != key.segment || state.lacks != 1) return kNone;
  if (about.kind == Kind::kSend) {
    if (!fuse_[at(about.way)] || !has_room(about.way, {key.segment, follower})) return kNone;
    --outgoing_[at(about.way)].room;
  }
  advance(follower);
  return follower;
}

// Lets the next segment of an operation begin to wait.
void Engine::advance(std::int32_t operation) {
  State& state = states_[at(operation)];
  if (++state.next == segments_) return;
  state.lacks = state.arrived > state.next ? 0 : life_of(program_.operations[at(operation)].kind).arrivals;
  state.cause = kStart;
  for (const std::int32_t need : program_.needs[operation])
    state.lacks += states_[at(need)].done <= state.next;
  if (state.lacks == 0) pass(operation);
}

// A segment has waited for all but room.
void Engine::pass(std::int32_t operation) {
  const Key key{states_[at(operation)].next, operation};
  const Operation& about = program_.operations[at(operation)];
  if (!life_of(about.kind).takes_room) {
    parked_.push_back(key);
    return;
  }
  auto& ready = outgoing_[at(about.way)].ready;
  states_[at(operation)].ready_since = polls_;
  ready.push_back(key);
  if (ready.size() > 1) std::ranges::push_heap(ready, std::greater());
  touch(about.way);
}

// What is done together with a send may wait for the send's links, and the next segments of the same
// operation overtake it: they count when all before them have ended.
void Engine::end_segment(Key key) {
  State& state = states_[at(key.operation)];
  if (key.segment != state.done) return early_.push_back(key);
  do {
    ++state.done;
    --unfinished_;
    release(key);
    ++key.segment;
  } while (!early_.empty() && std::erase(early_, key) > 0);
}

void Engine::release(Key key) {
  for (const std::int32_t other : program_.needed_by[key.operation]) {
    State& state = states_[at(other)];
    if (state.next != key.segment || --state.lacks > 0) continue;
    state.cause = key.operation;
    pass(other);
  }
}

void Engine::touch(std::int32_t outgoing) {
  if (std::exchange(outgoing_[at(outgoing)].touched, true)) return;
  touched_.push_back(outgoing);
}

// The last place of a way is kept for its lowest segment that is not yet sent: so that the lowest
// of all, which waits for nobody else's, always finds one.
bool Engine::has_room(std::int32_t outgoing, Key key) {
  Outgoing& o = outgoing_[at(outgoing)];
  if (o.room != 1) return o.room > 1;
  const auto operations = program_.sends[outgoing];
  while (states_[at(operations[at(o.place)])].next > o.segment) {
    if (++o.place < std::ssize(operations)) continue;
    o.place = 0;
    ++o.segment;
  }
  return key == Key{o.segment, operations[at(o.place)]};
}

void Engine::send_what_may(std::int32_t outgoing, std::vector<Instruction>& instructions) {
  Outgoing& o = outgoing_[at(outgoing)];
  o.touched = false;
  while (!o.ready.empty()) {
    const Key key = o.ready.front();
    State& state = states_[at(key.operation)];
    if (!has_room(outgoing, key)) return;
    if (state.ready_since < polls_) state.cause = kRoom;
    if (o.ready.size() > 1) std::ranges::pop_heap(o.ready, std::greater());
    o.ready.pop_back();
    --o.room;
    instructions.push_back({key.operation, key.segment, state.cause, kNone});
    advance(key.operation);
  }
}

void Engine::peer_gone(std::int32_t peer) {
  fail(Reason::kPeerGone, [&](std::int32_t number) {
    const Operation& o = program_.operations[at(number)];
    const State& state = states_[at(number)];
    if (o.kind == Kind::kSend && program_.outgoing[at(o.way)].peer == peer) return state.next;
    if (o.kind == Kind::kReceive && program_.incoming[at(o.way)].peer == peer) return state.arrived;
    return segments_;
  });
}

void Engine::deadline() {
  fail(Reason::kDeadline, [&](std::int32_t number) { return states_[at(number)].done; });
}

// Blames the lowest of the segments that `first_of` names for each operation, if there is one.
void Engine::fail(Reason reason, const std::function<std::int32_t(std::int32_t)>& first_of) {
  if (failure_) return;
  Key lowest{segments_, 0};
  for (std::int32_t operation = 0; operation < std::ssize(states_); ++operation)
    lowest = std::min(lowest, Key{first_of(operation), operation});
  if (lowest.segment == segments_) return;
  const Operation& about = program_.operations[at(lowest.operation)];
  const std::int32_t cause = awaited(lowest);
  const bool own = about.kind == Kind::kLocal || (about.kind == Kind::kReceive && cause != kArrival);
  const std::int32_t peer = own                            ? kNone
                            : about.kind == Kind::kReceive ? program_.incoming[at(about.way)].peer
                                                           : program_.outgoing[at(about.way)].peer;
  failure_ = Failure{reason, lowest.operation, lowest.segment, peer, cause};
}

// What a segment that has not ended waits for.
std::int32_t Engine::awaited(Key key) {
  const Operation& about = program_.operations[at(key.operation)];
  const State& state = states_[at(key.operation)];
  if (state.next > key.segment) return kStart;
  if (about.kind == Kind::kReceive && state.arrived <= key.segment) return kArrival;
  std::int32_t last = kNone;
  for (const std::int32_t need : program_.needs[key.operation])
    if (states_[at(need)].done <= key.segment) last = need;
  if (last != kNone) return last;
  return about.kind == Kind::kSend && !has_room(about.way, key) ? kRoom : kStart;
}

}  // namespace weft
