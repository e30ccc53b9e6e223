// One engine per rank, on a machine that is only computed.
//
// Rule 1: all events of a moment are told to the engines before any of them is polled.
// Rule 2: what they want done is then begun in order of (segment, message), each as soon as all that
//         it needs of the machine is free.  What takes no time makes another round of the same moment.
// Rule 3: the same inputs give the same result, to the picosecond.
#pragma once

#include <stdexcept>
#include <vector>

#include "engine/engine.hpp"
#include "simulate/machine.hpp"

namespace weft {

// What became of one instruction, or of two that were done together.
struct Record {
  Picoseconds ready, start, end;
  std::int32_t rank;
  std::int32_t receives;  // 1: it applies what has arrived, or what lies here; 0: it sends
  std::int32_t message, segment;
  std::int32_t follower;  // the message that was done together with it, or -1
  std::int32_t cause;     // what the engine waited for last: a message of this rank, or a Cause
  std::int32_t resource;  // what the machine had to free before it could start, or -1
};

struct FailedRank {
  Picoseconds time;
  std::int32_t rank;
  Reason reason;
  std::int32_t message, segment;  // the first of this rank that was not done
  std::int32_t peer;
  std::int32_t cause;
};

struct Trace {
  Picoseconds end = 0;                 // of all that was done
  std::int64_t events = 0;             // segments that left, arrived, were applied or credited
  std::vector<Picoseconds> rank_ends;  // kNever: it has not finished
  std::vector<Picoseconds> busy;       // by resource
  std::vector<FailedRank> failures;    // in the order of their times
  std::vector<Record> records;         // in the order of their ends, if they were asked for
};

// Sees each instruction when it begins and when it has ended: to move real data, say.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void begins(std::int32_t rank, const Instruction& instruction) = 0;
  virtual void ends(std::int32_t rank, const Instruction& instruction) = 0;
};

struct TimeOverflow : std::overflow_error {
  using overflow_error::overflow_error;
};

struct Settings {
  std::int32_t segments = 1, window = 4;
  bool record = false;
  Observer* observer = nullptr;
  void (*breathe)() = nullptr;  // called now and then; what it throws ends the run
};

// `plan` has the programs of all ranks; its elements are bytes.
Trace simulate(const Plan& plan, const Machine& machine, const Settings& settings);

}  // namespace weft
