// What is busy until when, what stands still, and who waits for it.
#pragma once

#include <span>
#include <vector>

#include "simulate/machine.hpp"

namespace weft {

// A job that waits, in the order in which jobs are served.
struct Waiter {
  std::int32_t segment, message;
  std::int32_t job;
  auto operator<=>(const Waiter&) const = default;
};

class Resource {
 public:
  void slow(std::span<const Slowdown> slowdowns) { slowdowns_ = slowdowns; }

  bool is_free(Picoseconds now);
  Picoseconds next_free(Picoseconds now) const;
  Picoseconds finish(Picoseconds start, Picoseconds work) const;  // kNever: it is stopped for good
  Picoseconds resumes(Picoseconds now) const;                     // now, unless it is stopped
  void take(Picoseconds now, Picoseconds until);
  Picoseconds busy() const { return busy_; }

  std::vector<Waiter> waiting;  // a heap, the lowest on top
  bool will_call = false;       // its next free moment is among the events

 private:
  Picoseconds busy_until_ = 0;
  Picoseconds busy_ = 0;
  std::span<const Slowdown> slowdowns_;
};

// The time that `bytes` take at `rate` bytes per second; at a rate of 0, none.
Picoseconds time_of(std::int64_t bytes, std::int64_t rate);

// Refuses times later than kLatest.
Picoseconds require_told(Picoseconds time);

}  // namespace weft
