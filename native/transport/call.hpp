// One rank's part of a schedule on real memory: carries out what its engine instructs.
//
// Rule 1: it has one owner at a time, who starts it and drives it until it has finished or failed.
// Rule 2: a wait ends, at the latest, when this rank has done nothing for as long as the deadline says.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/engine.hpp"
#include "transport/group.hpp"

namespace weft {

// Where a slot's content lies, and how much of it there may be.
struct Slot {
  float* memory = nullptr;
  std::int64_t elements = 0;
};

class Call {
 public:
  // `plan` is lowered from `transfers` for the group's rank alone.  `slots` has the rank's inputs and
  // outputs; scratch is made here.  Throws std::invalid_argument where something does not fit.
  Call(Group& group, Plan plan, std::span<const Transfer> transfers, std::vector<Slot> slots,
       std::int32_t segments, std::uint32_t digest);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void start();
  // Does all that can be done now; false: that was nothing.
  bool progress();
  bool finished() const { return engine_.finished() && instructions_.empty(); }
  // Makes progress so many times, or until it has finished; true: it has.
  bool spin(std::int32_t times);
  // Makes progress until it has finished; false: it has failed.
  bool wait(std::chrono::nanoseconds deadline, void (*breathe)());

  const std::optional<Failure>& failure() const { return engine_.failure(); }
  // The first transfer of what an operation carries.
  std::int32_t transfer_of(std::int32_t operation) const;

 private:
  // What one transfer does on this rank; a send has no target, a receive no source.
  struct Move {
    const float* source;
    const float* addend;
    float* target;
    std::int64_t elements;
  };
  struct Range {
    std::int64_t begin, count;
  };
  struct Parked {
    std::int32_t first = kNone, last = kNone;  // places of its link, in the order of their segments
  };

  const Program& program() const { return plan_.programs.front(); }
  const Operation& operation(std::int32_t number) const { return program().operations.at(at(number)); }
  void make_scratch(std::span<const Transfer> transfers);
  void list_moves(std::span<const Transfer> transfers);
  Move move_of(const Operation& operation, const Part& part, const Transfer& transfer) const;
  std::span<const Move> moves_of(std::int32_t operation) const;
  Range range_of(const Move& move, std::int32_t segment) const;
  std::int64_t bytes_of(std::int32_t operation, std::int32_t segment) const;

  void hear();
  void park(std::int32_t operation, std::int32_t place);
  const float* unpark(const Instruction& instruction);
  void carry_out(const Instruction& instruction);
  void send(const Instruction& instruction);
  void apply(const Instruction& instruction, const float* arrived);
  void apply_on(const Instruction& instruction, const float* arrived);
  void announce(std::int32_t operation);
  void look_for_the_dead();
  void release();
  void give_up();

  Group& group_;
  Plan plan_;
  std::vector<Slot> slots_;
  std::int32_t segments_;
  std::uint32_t digest_;
  std::vector<float> scratch_;
  std::vector<Move> moves_;              // by operation
  std::vector<std::int64_t> move_ends_;  // of each operation
  Engine engine_;
  bool running_ = false;
  std::uint32_t number_ = 0;                        // of the run, among the group's calls
  std::vector<Parked> parked_;                      // by operation
  std::vector<std::int32_t> next_parked_;           // by incoming way and place
  std::vector<std::vector<std::int32_t>> applied_;  // by incoming way: places to give back
  std::vector<Instruction> instructions_;
};

}  // namespace weft
