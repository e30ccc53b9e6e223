#include "transport/call.hpp"

#include <sched.h>
#include <time.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace weft {

namespace {

using Clock = std::chrono::steady_clock;

// Lets another thread of the same core go on.
void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

constexpr std::int64_t kSpins = 2'000;                // without news: then one looks at the clock
constexpr std::int64_t kOften = 1 << 10;              // so one does now and then while there is news
constexpr auto kLong = std::chrono::milliseconds(2);  // without news: then one looks for the dead, and naps
constexpr auto kBreath = std::chrono::milliseconds(50);  // between two breaths while there is news

void rest(Clock::duration idle) {
  constexpr timespec kNap{0, 50'000};
  if (idle < kLong)
    sched_yield();
  else
    nanosleep(&kNap, nullptr);
}

}  // namespace

Call::Call(Group& group, Plan plan, std::span<const Transfer> transfers, std::vector<Slot> slots,
           std::int32_t segments, std::uint32_t digest)
    : group_(group),
      plan_(std::move(plan)),
      moves_(plan_, transfers, std::move(slots), segments),
      digest_(digest),
      engine_(program(), segments, group.shape.window, std::vector<bool>(program().outgoing.size(), true)),
      parked_(program().operations.size()) {
  for (const Way& way : program().incoming)
    incoming_.push_back({group.from.at(at(way.peer)), way.peer, std::vector<std::int32_t>(kMostPlaces)});
  for (const Way& way : program().outgoing) outgoing_.push_back({group.to.at(at(way.peer)), way.peer});
  for (std::int32_t number = 0; number < std::ssize(program().operations); ++number) {
    const std::int64_t most = moves_.bytes_of(number, segments - 1);  // the last one is the largest
    if (operation(number).kind != Kind::kLocal && most > group.shape.segment_bytes)
      throw std::invalid_argument("a segment is larger than a link's place");
    small_.push_back(most <= kMostSmallBytes);
  }
}

Call::~Call() {
  if (running()) give_up();
}

std::int32_t Call::transfer_of(std::int32_t number) const {
  return plan_.parts[at(plan_.messages[at(operation(number).message)].first)].transfer;
}

void Call::start(std::int64_t times) {
  if (group_.over.load(std::memory_order_relaxed))
    throw BrokenPeer("a call of this group has failed, or the group was left");
  if (group_.busy.exchange(true, std::memory_order_acquire))
    throw std::invalid_argument("another call of this group is running");
  runs_left_ = times;
  try {
    begin();
    go_on();
  } catch (...) {
    give_up();
    throw;
  }
}

void Call::begin() {
  number_ = ++group_.runs;
  for (std::int32_t way = 0; way < std::ssize(outgoing_); ++way)
    engine_.set_room(way, outgoing_[at(way)].outbox.free());
  engine_.start();
  engine_.poll(instructions_);
}

// Leaves the others in the middle of it, who then hear of it.
void Call::give_up() {
  group_.leave();
  runs_left_ = 0;
  group_.busy.store(false, std::memory_order_release);
}

bool Call::progress() {
  if (!running()) return false;
  try {
    return advance();
  } catch (...) {
    give_up();
    throw;
  }
}

bool Call::advance() {
  bool news = engine_.finished();  // it waited for nobody
  for (std::int32_t way = 0; way < std::ssize(incoming_); ++way) news |= hear(incoming_[at(way)], way);
  for (std::int32_t way = 0; way < std::ssize(outgoing_); ++way) {
    std::int32_t returned = outgoing_[at(way)].outbox.collect();
    for (news |= returned > 0; returned > 0; --returned) engine_.credited(way);
  }
  if (!news) return false;
  engine_.poll(instructions_);
  go_on();
  return true;
}

// Does what can be done, of the next run too, but of no other: there may be very many that wait for nobody.
void Call::go_on() {
  carry_out_all();
  if (!engine_.finished()) return;
  if (--runs_left_ == 0) return group_.busy.store(false, std::memory_order_release);
  begin();
  carry_out_all();
}

void Call::carry_out_all() {
  while (!instructions_.empty()) {
    for (const Instruction& instruction : instructions_) carry_out(instruction);
    instructions_.clear();
    if (engine_.has_news()) engine_.poll(instructions_);
  }
}

bool Call::hear(In& in, std::int32_t way) {
  bool news = false;
  while (const Announcement* next = in.inbox.peek()) {
    const std::uint32_t call = look_once(next->call);
    if (static_cast<std::int32_t>(call - number_) > 0) break;
    const std::int32_t about = look_once(next->operation);
    if (call != number_ || look_once(next->plan) != digest_ || !engine_.arrived(about, way))
      throw BrokenPeer("rank " + std::to_string(in.peer) + " runs something else");
    park(about, in);
    news = true;
  }
  return news;
}

void Call::park(std::int32_t number, In& in) {
  const std::int32_t place = in.inbox.take();
  Parked& parked = parked_[at(number)];
  (parked.first == kNone ? parked.first : in.next_parked[at(parked.last)]) = place;
  in.next_parked[at(place)] = kNone;
  parked.last = place;
}

std::int32_t Call::unpark(std::int32_t number, In& in) {
  Parked& parked = parked_[at(number)];
  const std::int32_t place = parked.first;
  parked.first = in.next_parked[at(place)];
  return place;
}

void Call::carry_out(const Instruction& instruction) {
  const Operation& about = operation(instruction.operation);
  switch (about.kind) {
    case Kind::kSend:
      send(instruction);
      break;
    case Kind::kLocal:
      pass_on(instruction, nullptr);
      break;
    case Kind::kReceive: {
      In& in = incoming_[at(about.way)];
      const std::int32_t place = unpark(instruction.operation, in);
      pass_on(instruction, in.inbox.content(place, small_[at(instruction.operation)]));
      in.inbox.give_back(place);
    }
  }
  engine_.ended(instruction);
}

void Call::send(const Instruction& instruction) {
  const Operation& about = operation(instruction.operation);
  Outbox& outbox = outgoing_[at(about.way)].outbox;
  moves_.pack(instruction, outbox.reserve(small_[at(instruction.operation)]));
  outbox.announce(number_, digest_, about.counterpart);
}

// Applies what has arrived, or what lies here if that is null, together with what follows it.
void Call::pass_on(const Instruction& instruction, const float* arrived) {
  if (instruction.follower == kNone) return moves_.apply(instruction, arrived);
  const Operation& follower = operation(instruction.follower);
  if (follower.kind != Kind::kSend) return moves_.apply_through(instruction, arrived);
  Outbox& outbox = outgoing_[at(follower.way)].outbox;
  moves_.apply_to_packet(instruction, arrived, outbox.reserve(small_[at(instruction.follower)]));
  outbox.announce(number_, digest_, follower.counterpart);
}

bool Call::wait(std::chrono::nanoseconds deadline, void (*breathe)()) {
  try {
    go_through(deadline, breathe);
  } catch (...) {
    if (running()) give_up();
    throw;
  }
  if (!running()) return true;
  give_up();
  return false;
}

void Call::go_through(std::chrono::nanoseconds deadline, void (*breathe)()) {
  std::int64_t idle = 0;
  Clock::time_point since{}, looked{};
  for (std::int64_t steps = 1; running() && !failure(); ++steps) {
    idle = progress() ? 0 : idle + 1;
    if (idle > 0) pause();
    if (idle < kSpins && steps % kOften != 0) continue;
    const auto now = Clock::now();
    if (looked == Clock::time_point{}) looked = now;
    if (idle == kSpins) since = now;
    if (now - looked > (idle < kSpins ? kBreath : kLong)) {
      looked = now;
      breathe();
      if (idle >= kSpins) look_for_the_dead();
    }
    if (idle < kSpins) continue;
    rest(now - since);
    if (now - since <= deadline) continue;
    // This process may have been stopped itself since it looked for news.
    if (progress())
      idle = 0;
    else
      engine_.deadline();
  }
}

// What somebody sent before is still good, so it is heard first.
void Call::look_for_the_dead() {
  const auto look = [this](std::int32_t peer) {
    if (!running() || !group_.seat.is_gone(peer)) return;
    while (running() && progress()) {
    }
    if (running()) engine_.peer_gone(peer);
  };
  for (const In& in : incoming_) look(in.peer);
  for (const Out& out : outgoing_) look(out.peer);
}

}  // namespace weft
