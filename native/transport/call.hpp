// One rank's part of a schedule on real memory: carries out what its engine instructs.
//
// Rule 1: it has one owner at a time, who starts it and drives it until it has finished or failed.
// Rule 2: a wait ends, at the latest, when this rank has done nothing for as long as the deadline says.
// Rule 3: what is not awaited now is left where it lies: it belongs to a later run.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/engine.hpp"
#include "transport/group.hpp"
#include "transport/moves.hpp"

namespace weft {

class Call {
 public:
  // `plan` is lowered from `transfers` for the group's rank alone; see Moves for `slots`.
  Call(Group& group, Plan plan, std::span<const Transfer> transfers, std::vector<Slot> slots,
       std::int32_t segments, std::uint32_t digest);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Begins to run it so many times in a row.
  void start(std::int64_t times);
  // Does all that can be done now; false: that was nothing.
  bool progress();
  bool running() const { return runs_left_ > 0; }
  // Makes progress until it has finished; false: it has failed.
  bool wait(std::chrono::nanoseconds deadline, void (*breathe)());

  const std::optional<Failure>& failure() const { return engine_.failure(); }
  // The first transfer of what an operation carries.
  std::int32_t transfer_of(std::int32_t operation) const;

 private:
  struct In {
    Inbox& inbox;
    std::int32_t peer;
    std::vector<std::int32_t> next_parked = {};  // by place: the next of the same operation
  };
  struct Out {
    Outbox& outbox;
    std::int32_t peer;
  };
  struct Parked {
    std::int32_t first = kNone, last = kNone;  // places of its link, in the order of their segments
  };

  const Program& program() const { return plan_.programs.front(); }
  const Operation& operation(std::int32_t number) const { return program().operations[at(number)]; }
  void begin();
  bool advance();
  void go_on();
  bool hear(In& in, std::int32_t way);
  void carry_out_all();
  void carry_out(const Instruction& instruction);
  void send(const Instruction& instruction);
  void park(std::int32_t operation, In& in);
  std::int32_t unpark(std::int32_t operation, In& in);
  void pass_on(const Instruction& instruction, const float* arrived);
  void go_through(std::chrono::nanoseconds deadline, void (*breathe)());
  void look_for_the_dead();
  void give_up();

  Group& group_;
  Plan plan_;
  Moves moves_;
  std::uint32_t digest_;
  Engine engine_;
  std::int64_t runs_left_ = 0;  // the one under way included
  std::uint32_t number_ = 0;    // of the run, among all of the group
  std::vector<In> incoming_;
  std::vector<Out> outgoing_;
  std::vector<char> small_;     // by operation: its segments travel beside their announcements
  std::vector<Parked> parked_;  // by operation
  std::vector<Instruction> instructions_;
};

}  // namespace weft
