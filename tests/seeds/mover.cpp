#include "mover.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>
#include <string>

namespace seeds {

namespace {

using weft::at;
using weft::Kind;
using weft::kNone;

constexpr float kSpoiled = std::numeric_limits<float>::quiet_NaN();

bool same(float left, float right) {
  return std::bit_cast<std::uint32_t>(left) == std::bit_cast<std::uint32_t>(right);
}

std::vector<weft::Slot> slots_of(const Work& work, std::int32_t rank, Memory& memory) {
  std::vector<weft::Slot> slots(at(work.slots));
  for (std::int32_t slot = 0; slot < work.first_scratch; ++slot) {
    const std::size_t index = work.index(rank, slot);
    slots[at(slot)] = {memory.data() + work.offsets[index], work.sizes[index]};
  }
  return slots;
}

}  // namespace

Mover::Rank::Rank(const Work& work, std::int32_t number, const Memory& initial, std::int32_t segments)
    : memory(initial),
      plan(lower(work.listing(), number)),
      moves(plan, work.transfers, slots_of(work, number, memory), segments) {
  std::ranges::fill(moves.scratch_, kSpoiled);
}

const weft::Operation& Mover::Rank::operation(std::int32_t number) const {
  return plan.programs.front().operations[at(number)];
}

std::int64_t Mover::Rank::size() const { return std::ssize(memory) + std::ssize(moves.scratch_); }

float& Mover::Rank::operator[](std::int64_t element) {
  const std::int64_t scratch = element - std::ssize(memory);
  return scratch < 0 ? memory[at(element)] : moves.scratch_[at(scratch)];
}

Mover::Mover(const Work& work, const weft::Plan& plan, std::int32_t segments, std::int32_t window)
    : plan_(plan),
      segments_(segments),
      window_(window),
      packets_(plan.messages.size() * at(segments)),
      in_rooms_(plan.connections.size()) {
  const std::vector<Memory> initial = initial_memory(work);
  for (std::int32_t rank = 0; rank < work.ranks; ++rank)
    ranks_.emplace_back(work, rank, initial[at(rank)], segments);
}

void Mover::begins(std::int32_t number, const weft::Instruction& instruction) {
  Undertaking now{number, instruction, {}};
  Rank& rank = ranks_[at(number)];
  if (const weft::Operation* received = received_by(now))
    require(packet(*received, instruction.segment).left, now, "has been sent");
  float* leaves = nullptr;
  if (const weft::Operation* sent = sent_by(now)) {
    require(++in_room(*sent) <= window_, now, "has room");
    const auto number_sent = instruction.follower == kNone ? instruction.operation : instruction.follower;
    auto& content = packet(*sent, instruction.segment).content;
    content.assign(at(rank.moves.bytes_of(number_sent, instruction.segment)) / sizeof(float) + 1, kSpoiled);
    leaves = content.data();
  }
  now.writes = spoiled_by(now, leaves);
  undertakings_.push_back(std::move(now));
}

void Mover::ends(std::int32_t number, const weft::Instruction& instruction) {
  const auto found = std::ranges::find_if(undertakings_, [&](const Undertaking& u) {
    return u.rank == number && u.instruction.operation == instruction.operation &&
           u.instruction.segment == instruction.segment;
  });
  if (found == undertakings_.end()) throw std::logic_error("something ends that is not under way");
  const Undertaking now = std::move(*found);
  undertakings_.erase(found);
  carry_out_again(now);
  if (const weft::Operation* sent = sent_by(now)) packet(*sent, instruction.segment).left = true;
  if (const weft::Operation* received = received_by(now)) {
    --in_room(*received);
    packet(*received, instruction.segment) = {};
  }
}

void Mover::carry_out_again(const Undertaking& now) {
  Rank& rank = ranks_[at(now.rank)];
  for (const Write& write : now.writes) {
    require(same(rank[write.element], kSpoiled), now, "alone writes what it writes");
    rank[write.element] = write.before;
  }
  const weft::Operation* sent = sent_by(now);
  const Memory before = sent ? packet(*sent, now.instruction.segment).content : Memory();
  Memory again(before.size(), kSpoiled);
  carry_out(now, again.data());
  for (const Write& write : now.writes)
    require(same(rank[write.element], write.after), now, "reads the same from its begin to its end");
  require(std::ranges::equal(before, again, same), now, "sends the same from its begin to its end");
  require(!sent || same(before.back(), kSpoiled), now, "sends no more than there is");
}

void Mover::require(bool holds, const Undertaking& about, const char* promise) const {
  if (holds) return;
  const weft::Instruction& i = about.instruction;
  const Rank& rank = ranks_[at(about.rank)];
  std::string what = "rank " + std::to_string(about.rank) + ", message " +
                     std::to_string(rank.operation(i.operation).message) + ", segment " +
                     std::to_string(i.segment);
  if (i.follower != kNone) what += ", with message " + std::to_string(rank.operation(i.follower).message);
  throw std::logic_error(what + ": it is not true that it " + promise);
}

const weft::Operation* Mover::sent_by(const Undertaking& undertaking) const {
  const weft::Instruction& i = undertaking.instruction;
  const auto& last = ranks_[at(undertaking.rank)].operation(i.follower == kNone ? i.operation : i.follower);
  return last.kind == Kind::kSend ? &last : nullptr;
}

const weft::Operation* Mover::received_by(const Undertaking& undertaking) const {
  const auto& first = ranks_[at(undertaking.rank)].operation(undertaking.instruction.operation);
  return first.kind == Kind::kReceive ? &first : nullptr;
}

Mover::Packet& Mover::packet(const weft::Operation& operation, std::int32_t segment) {
  return packets_[at(operation.message * segments_ + segment)];
}

std::int32_t& Mover::in_room(const weft::Operation& operation) {
  return in_rooms_[at(plan_.messages[at(operation.message)].connection)];
}

// As a real rank does it; what leaves goes to `leaves`.
void Mover::carry_out(const Undertaking& undertaking, float* leaves) {
  const weft::Moves& moves = ranks_[at(undertaking.rank)].moves;
  const weft::Instruction& i = undertaking.instruction;
  const weft::Operation *sent = sent_by(undertaking), *received = received_by(undertaking);
  const float* arrived = received ? packet(*received, i.segment).content.data() : nullptr;
  if (sent && i.follower == kNone) return moves.pack(i, leaves);
  if (sent) return moves.apply_to_packet(i, arrived, leaves);
  if (i.follower != kNone) return moves.apply_through(i, arrived);
  moves.apply(i, arrived);
}

// Carries it out, and spoils again all that it has written.
std::vector<Mover::Write> Mover::spoiled_by(const Undertaking& undertaking, float* leaves) {
  Rank& rank = ranks_[at(undertaking.rank)];
  const Memory memory = rank.memory, scratch = rank.moves.scratch_;
  carry_out(undertaking, leaves);
  std::vector<Write> writes;
  for (std::int64_t element = 0; element < rank.size(); ++element) {
    const bool is_scratch = element >= std::ssize(memory);
    const float before = is_scratch ? scratch[at(element) - memory.size()] : memory[at(element)];
    if (same(before, rank[element])) continue;
    writes.push_back({element, before, rank[element]});
    rank[element] = kSpoiled;
  }
  return writes;
}

}  // namespace seeds
