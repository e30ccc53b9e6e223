// What the operations of one rank do to its memory, segment by segment.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/engine.hpp"

namespace weft {

// Where a slot's content lies, and how much of it there may be.
struct Slot {
  float* memory = nullptr;
  std::int64_t elements = 0;
};

class Moves {
 public:
  // `plan` is lowered from `transfers` for one rank alone.  `slots` has the rank's inputs and outputs;
  // scratch is made here.  Throws std::invalid_argument where something does not fit.
  Moves(const Plan& plan, std::span<const Transfer> transfers, std::vector<Slot> slots,
        std::int32_t segments);

  // Of what travels in one segment of an operation.
  std::int64_t bytes_of(std::int32_t operation, std::int32_t segment) const;

  // What a send takes from here, one part behind another.
  void pack(const Instruction& instruction, float* target) const;
  // `arrived` is such a packet; null where the operation stays within the rank.
  void apply(const Instruction& instruction, const float* arrived) const;
  // Takes a single part straight to where its follower would take it from scratch.
  void apply_through(const Instruction& instruction, const float* arrived) const;
  // The same, where the follower is a send.
  void apply_to_packet(const Instruction& instruction, const float* arrived, float* target) const;

 private:
  // A slot's memory: the caller's lies in one piece; of scratch, which holds contents of different
  // sizes one after another, segment s is always in the same place.
  struct Place {
    float* memory = nullptr;
    std::int64_t stride = 0;  // from one segment to the next; 0: they follow each other
  };
  // What one part does on this rank; a send has no target, a receive no source.
  struct Move {
    Place source, addend, target;
    std::int64_t elements;
  };
  struct Range {
    std::int64_t begin, count;
  };

  std::vector<Place> make_places(std::span<const Transfer> transfers, const std::vector<Slot>& slots);
  Range range_of(const Move& move, std::int32_t segment) const;
  std::span<const Move> of(std::int32_t operation) const;
  static float* at_segment(const Place& place, Range range, std::int32_t segment);

  const Plan& plan_;
  std::int32_t segments_;
  std::vector<float> scratch_;
  std::vector<Move> moves_;         // by operation
  std::vector<std::int64_t> ends_;  // of each operation
};

}  // namespace weft
