#include "transport/moves.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "kernels/add.hpp"

namespace weft {

namespace {

constexpr std::int64_t kLine = 16;  // floats of a cache line

// target = source, or addend + source if there is one.
void put(float* target, const float* addend, const float* source, std::int64_t count) {
  if (addend != nullptr)
    add(target, addend, source, count);
  else if (count > 0 && target != source)
    std::memcpy(target, source, at(count) * sizeof(float));
}

}  // namespace

Moves::Moves(const Plan& plan, std::span<const Transfer> transfers, std::vector<Slot> slots,
             std::int32_t segments)
    : plan_(plan), segments_(segments) {
  const std::vector<Place> places = make_places(transfers, slots);
  const Program& program = plan.programs.front();
  for (const Operation& o : program.operations) {
    const bool gives = o.kind != Kind::kReceive, gets = o.kind != Kind::kSend;
    const Message& m = plan.messages[at(o.message)];
    for (const Part& part : std::span(plan.parts).subspan(at(m.first), at(m.count))) {
      const Transfer& t = transfers[at(part.transfer)];
      const auto place_of = [&](bool used, std::int32_t slot) {
        if (!used) return Place{};
        const Slot& given = slots.at(at(slot));
        if (given.memory != nullptr && part.elements > given.elements)
          throw std::invalid_argument("a transfer is larger than its slot");
        return places.at(at(slot));
      };
      moves_.push_back({place_of(gives, t.src_slot), place_of(gets && part.adds, t.addend),
                        place_of(gets, t.dst_slot), part.elements});
    }
    ends_.push_back(std::ssize(moves_));
  }
}

// A slot that the caller did not give is as large as what it ever holds.
std::vector<Moves::Place> Moves::make_places(std::span<const Transfer> transfers,
                                             const std::vector<Slot>& slots) {
  std::vector<std::int64_t> strides(slots.size());
  for (const Part& part : plan_.parts) {
    const Transfer& t = transfers[at(part.transfer)];
    if (t.dst != plan_.programs.front().rank || slots.at(at(t.dst_slot)).memory != nullptr) continue;
    std::int64_t& stride = strides[at(t.dst_slot)];
    stride = std::max(stride, (part.elements + segments_ - 1) / segments_);
  }
  std::int64_t size = 0;
  for (std::int64_t& stride : strides) {
    stride = (stride + kLine - 1) / kLine * kLine;
    size += stride * segments_;
  }
  scratch_.resize(at(size));
  std::vector<Place> places;
  float* next = scratch_.data();
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    places.push_back(slots[slot].memory != nullptr ? Place{slots[slot].memory} : Place{next, strides[slot]});
    next += strides[slot] * segments_;
  }
  return places;
}

std::span<const Moves::Move> Moves::of(std::int32_t operation) const {
  const std::int64_t begin = operation == 0 ? 0 : ends_[at(operation) - 1];
  return {moves_.data() + begin, moves_.data() + ends_[at(operation)]};
}

Moves::Range Moves::range_of(const Move& move, std::int32_t segment) const {
  if (segments_ == 1) return {0, move.elements};
  const std::int64_t begin = segment_begin(move.elements, segment, segments_);
  return {begin, segment_begin(move.elements, segment + 1, segments_) - begin};
}

float* Moves::at_segment(const Place& place, Range range, std::int32_t segment) {
  if (place.memory == nullptr) return nullptr;
  return place.memory + (place.stride == 0 ? range.begin : place.stride * segment);
}

std::int64_t Moves::bytes_of(std::int32_t operation, std::int32_t segment) const {
  std::int64_t elements = 0;
  for (const Move& move : of(operation)) elements += range_of(move, segment).count;
  return elements * static_cast<std::int64_t>(sizeof(float));
}

void Moves::pack(const Instruction& i, float* target) const {
  for (const Move& move : of(i.operation)) {
    const Range range = range_of(move, i.segment);
    put(target, nullptr, at_segment(move.source, range, i.segment), range.count);
    target += range.count;
  }
}

void Moves::apply(const Instruction& i, const float* arrived) const {
  for (const Move& move : of(i.operation)) {
    const Range range = range_of(move, i.segment);
    const float* source = arrived != nullptr ? arrived : at_segment(move.source, range, i.segment);
    put(at_segment(move.target, range, i.segment), at_segment(move.addend, range, i.segment), source,
        range.count);
    if (arrived != nullptr) arrived += range.count;
  }
}

void Moves::apply_through(const Instruction& i, const float* arrived) const {
  const Move& first = of(i.operation).front();
  const Move& second = of(i.follower).front();
  if (first.addend.memory != nullptr && second.addend.memory != nullptr) {
    apply(i, arrived);
    return apply({i.follower, i.segment, i.cause, kNone}, nullptr);
  }
  const Range range = range_of(first, i.segment);
  const float* source = arrived != nullptr ? arrived : at_segment(first.source, range, i.segment);
  const Place& addend = first.addend.memory != nullptr ? first.addend : second.addend;
  put(at_segment(second.target, range, i.segment), at_segment(addend, range, i.segment), source, range.count);
}

void Moves::apply_to_packet(const Instruction& i, const float* arrived, float* target) const {
  const Move& move = of(i.operation).front();
  const Range range = range_of(move, i.segment);
  const float* source = arrived != nullptr ? arrived : at_segment(move.source, range, i.segment);
  put(target, at_segment(move.addend, range, i.segment), source, range.count);
}

}  // namespace weft
