#include "transport/call.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/add.hpp"

namespace weft {

namespace {

// target = source, or addend + source if there is one.
void put(float* target, const float* addend, const float* source, std::int64_t count) {
  if (addend != nullptr)
    add(target, addend, source, count);
  else if (target != source)
    std::memcpy(target, source, at(count) * sizeof(float));
}

using Clock = std::chrono::steady_clock;

constexpr auto kLong = std::chrono::milliseconds(2);  // without news: then one looks for the dead, and naps

void rest(Clock::duration idle) {
  constexpr timespec kNap{0, 50'000};
  if (idle < kLong)
    sched_yield();
  else
    nanosleep(&kNap, nullptr);
}

const float* moved(const float* start, std::int64_t count) {
  return start == nullptr ? start : start + count;
}

}  // namespace

Call::Call(Group& group, Plan plan, std::span<const Transfer> transfers, std::vector<Slot> slots,
           std::int32_t segments, std::uint32_t digest)
    : group_(group),
      plan_(std::move(plan)),
      slots_(std::move(slots)),
      segments_(segments),
      digest_(digest),
      engine_(program(), segments, group.memory.shape().window,
              std::vector<bool>(program().outgoing.size(), true)),
      parked_(program().operations.size()),
      next_parked_(program().incoming.size() * kMostPlaces),
      applied_(program().incoming.size()) {
  make_scratch(transfers);
  list_moves(transfers);
}

Call::~Call() {
  if (running_) give_up();
}

// A slot that the caller did not give is as large as what it ever holds.
void Call::make_scratch(std::span<const Transfer> transfers) {
  std::vector<std::int64_t> begins(slots_.size(), kNone);
  std::vector<std::int64_t> sizes(slots_.size());
  for (const Part& part : plan_.parts) {
    const Transfer& t = transfers[at(part.transfer)];
    if (t.dst == group_.rank && slots_.at(at(t.dst_slot)).memory == nullptr)
      sizes[at(t.dst_slot)] = std::max(sizes[at(t.dst_slot)], part.elements);
  }
  std::int64_t end = 0;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].memory != nullptr) continue;
    begins[slot] = end;
    end += (sizes[slot] + 15) / 16 * 16;
  }
  scratch_.resize(at(end));
  for (std::size_t slot = 0; slot < slots_.size(); ++slot)
    if (begins[slot] != kNone) slots_[slot] = {scratch_.data() + begins[slot], sizes[slot]};
}

void Call::list_moves(std::span<const Transfer> transfers) {
  for (std::int32_t number = 0; const Operation& o : program().operations) {
    const Message& m = plan_.messages[at(o.message)];
    for (const Part& part : std::span(plan_.parts).subspan(at(m.first), at(m.count)))
      moves_.push_back(move_of(o, part, transfers[at(part.transfer)]));
    move_ends_.push_back(std::ssize(moves_));
    if (o.kind != Kind::kLocal && bytes_of(number, segments_ - 1) > group_.memory.shape().segment_bytes)
      throw std::invalid_argument("a segment is larger than a link's place");
    ++number;
  }
}

Call::Move Call::move_of(const Operation& operation, const Part& part, const Transfer& t) const {
  const auto memory_of = [&](std::int32_t slot) {
    const Slot& found = slots_.at(at(slot));
    if (part.elements > found.elements) throw std::invalid_argument("a transfer is larger than its slot");
    return found.memory;
  };
  const bool gives = operation.kind != Kind::kReceive, gets = operation.kind != Kind::kSend;
  return {.source = gives ? memory_of(t.src_slot) : nullptr,
          .addend = gets && t.addend != kNone ? memory_of(t.addend) : nullptr,
          .target = gets ? memory_of(t.dst_slot) : nullptr,
          .elements = part.elements};
}

std::span<const Call::Move> Call::moves_of(std::int32_t operation) const {
  const std::int64_t begin = operation == 0 ? 0 : move_ends_[at(operation) - 1];
  return {moves_.data() + begin, moves_.data() + move_ends_[at(operation)]};
}

Call::Range Call::range_of(const Move& move, std::int32_t segment) const {
  if (segments_ == 1) return {0, move.elements};
  const std::int64_t begin = segment_begin(move.elements, segment, segments_);
  return {begin, segment_begin(move.elements, segment + 1, segments_) - begin};
}

std::int64_t Call::bytes_of(std::int32_t operation, std::int32_t segment) const {
  std::int64_t elements = 0;
  for (const Move& move : moves_of(operation)) elements += range_of(move, segment).count;
  return elements * static_cast<std::int64_t>(sizeof(float));
}

std::int32_t Call::transfer_of(std::int32_t number) const {
  return plan_.parts[at(plan_.messages[at(operation(number).message)].first)].transfer;
}

void Call::start() {
  if (group_.broken) throw BrokenPeer("a call of this group has failed");
  if (group_.busy.exchange(true)) throw std::invalid_argument("another call of this group is running");
  running_ = true;
  number_ = ++group_.calls;
  for (std::int32_t way = 0; way < std::ssize(program().outgoing); ++way)
    engine_.set_room(way, group_.to[at(program().outgoing[at(way)].peer)].free());
  engine_.start();
  engine_.poll(instructions_);
  if (finished()) release();
}

void Call::release() {
  running_ = false;
  group_.busy = false;
}

// Leaves the others in the middle of it, who then hear of it.
void Call::give_up() {
  group_.broken = true;
  group_.memory.leave(group_.rank);
  release();
}

bool Call::progress() {
  hear();
  engine_.poll(instructions_);
  if (instructions_.empty()) return false;
  for (std::size_t next = 0; next < instructions_.size(); ++next) carry_out(instructions_[next]);
  instructions_.clear();
  engine_.poll(instructions_);
  if (finished()) release();
  return true;
}

// What has come from others.  What belongs to a later call stays where it is.
void Call::hear() {
  for (std::int32_t way = 0; way < std::ssize(program().incoming); ++way) {
    Inbox& inbox = group_.from[at(program().incoming[at(way)].peer)];
    while (const Announcement* news = inbox.peek()) {
      if (static_cast<std::int32_t>(news->call - number_) > 0) break;
      const std::int32_t operation = news->operation;
      if (news->call != number_ || news->plan != digest_ || !engine_.arrived(operation, way))
        throw BrokenPeer("rank " + std::to_string(program().incoming[at(way)].peer) + " runs something else");
      park(operation, inbox.take());
    }
  }
  for (std::int32_t way = 0; way < std::ssize(program().outgoing); ++way) {
    Outbox& outbox = group_.to[at(program().outgoing[at(way)].peer)];
    for (std::int32_t returned = outbox.collect(); returned > 0; --returned) engine_.credited(way);
  }
}

void Call::park(std::int32_t number, std::int32_t place) {
  const std::int32_t link = operation(number).way * kMostPlaces;
  Parked& parked = parked_[at(number)];
  (parked.first == kNone ? parked.first : next_parked_[at(link + parked.last)]) = place;
  next_parked_[at(link + place)] = kNone;
  parked.last = place;
}

// The content of a segment that is to be applied; its place is given back with the next credit.
const float* Call::unpark(const Instruction& instruction) {
  const std::int32_t way = operation(instruction.operation).way;
  Parked& parked = parked_[at(instruction.operation)];
  const std::int32_t place = parked.first;
  parked.first = next_parked_[at(way * kMostPlaces + place)];
  applied_[at(way)].push_back(place);
  const Inbox& inbox = group_.from[at(program().incoming[at(way)].peer)];
  return reinterpret_cast<const float*>(
      inbox.content(place, bytes_of(instruction.operation, instruction.segment)));
}

void Call::carry_out(const Instruction& instruction) {
  const Operation& about = operation(instruction.operation);
  switch (instruction.what) {
    case What::kSend:
      send(instruction);
      return engine_.ended(instruction);
    case What::kApply: {
      const float* arrived = about.kind == Kind::kReceive ? unpark(instruction) : nullptr;
      if (instruction.follower == kNone)
        apply(instruction, arrived);
      else
        apply_on(instruction, arrived);
      return engine_.ended(instruction);
    }
    case What::kCredit: {
      auto& applied = applied_[at(about.way)];
      group_.from[at(program().incoming[at(about.way)].peer)].give_back(applied.front());
      applied.erase(applied.begin());
    }
  }
}

void Call::send(const Instruction& instruction) {
  Outbox& outbox = group_.to[at(program().outgoing[at(operation(instruction.operation).way)].peer)];
  auto* target =
      reinterpret_cast<float*>(outbox.reserve(bytes_of(instruction.operation, instruction.segment)));
  for (const Move& move : moves_of(instruction.operation)) {
    const Range range = range_of(move, instruction.segment);
    put(target, nullptr, move.source + range.begin, range.count);
    target += range.count;
  }
  announce(instruction.operation);
}

void Call::announce(std::int32_t number) {
  const Operation& sent = operation(number);
  group_.to[at(program().outgoing[at(sent.way)].peer)].announce(number_, digest_, sent.counterpart);
}

void Call::apply(const Instruction& instruction, const float* arrived) {
  for (const Move& move : moves_of(instruction.operation)) {
    const Range range = range_of(move, instruction.segment);
    const float* source = arrived != nullptr ? arrived : move.source + range.begin;
    put(move.target + range.begin, moved(move.addend, range.begin), source, range.count);
    if (arrived != nullptr) arrived += range.count;
  }
}

// Takes a single transfer's content straight to where another one would take it from scratch.
void Call::apply_on(const Instruction& instruction, const float* arrived) {
  const Move& first = moves_of(instruction.operation).front();
  const Move& second = moves_of(instruction.follower).front();
  const Range range = range_of(first, instruction.segment);
  const float* source = arrived != nullptr ? arrived : first.source + range.begin;
  const float* addend = moved(first.addend, range.begin);
  if (operation(instruction.follower).kind == Kind::kSend) {
    Outbox& outbox = group_.to[at(program().outgoing[at(operation(instruction.follower).way)].peer)];
    const std::int64_t bytes = range.count * static_cast<std::int64_t>(sizeof(float));
    put(reinterpret_cast<float*>(outbox.reserve(bytes)), addend, source, range.count);
    return announce(instruction.follower);
  }
  if (first.addend != nullptr && second.addend != nullptr) {
    put(first.target + range.begin, addend, source, range.count);
    addend = moved(second.addend, range.begin);
    return put(second.target + range.begin, addend, second.source + range.begin, range.count);
  }
  if (second.addend != nullptr) addend = moved(second.addend, range.begin);
  put(second.target + range.begin, addend, source, range.count);
}

bool Call::spin(std::int32_t times) {
  while (!finished() && times-- > 0) progress();
  return finished();
}

bool Call::wait(std::chrono::nanoseconds deadline, void (*breathe)()) {
  constexpr std::int32_t kSpins = 2'000;
  try {
    std::int32_t idle = 0;
    Clock::time_point since{}, looked{};
    while (!finished() && !failure()) {
      idle = progress() ? 0 : idle + 1;
      if (idle < kSpins) continue;
      const auto now = Clock::now();
      if (idle == kSpins) since = looked = now;
      if (now - looked > kLong) {
        looked = now;
        breathe();
        look_for_the_dead();
      }
      if (now - since > deadline) engine_.deadline();
      rest(now - since);
    }
  } catch (...) {
    if (running_) give_up();
    throw;
  }
  if (running_) give_up();
  return finished();
}

// What somebody sent before is still good, so it is heard first.
void Call::look_for_the_dead() {
  for (const auto* ways : {&program().outgoing, &program().incoming}) {
    for (const Way& way : *ways) {
      if (!group_.memory.is_gone(way.peer)) continue;
      while (progress()) {
      }
      if (!finished()) engine_.peer_gone(way.peer);
    }
  }
}

}  // namespace weft
