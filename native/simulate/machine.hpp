// What a simulated machine costs.  Times are whole picoseconds, rates whole bytes per second.
//
// Resources 0 to ranks - 1 are the ranks' processors; links and what they share follow.  A job takes
// all its resources at once, each for its own time, and nobody else uses them meanwhile.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace weft {

using Picoseconds = std::int64_t;

constexpr Picoseconds kNever = std::numeric_limits<Picoseconds>::max();
constexpr Picoseconds kLatest = kNever / 4;  // that can be told, so that sums stay in range

// From `from` until `until` a resource takes `factor` times as long, or does nothing if that is 0.
struct Slowdown {
  Picoseconds from, until;
  std::int64_t factor;
  std::int64_t resource;
};

struct Overheads {
  Picoseconds send = 0, receive = 0;  // per segment, of the processor
  std::int64_t reduce = 0, copy = 0;  // bytes per second of the processor; 0 takes no time
};

// How a connection crosses the machine.
struct Path {
  Picoseconds latency;
  std::int64_t by_processor;  // 1: the sender's processor moves the bytes, and does nothing else then
  std::int64_t end;           // of its part of Machine::resources, which begins where the last one ends
};

// A rank that does nothing more from a time on; its peers hear of it.
struct Death {
  Picoseconds time;
  std::int64_t rank;
};

struct Machine {
  std::span<const std::int64_t> rates;  // of the resources after the processors
  Overheads overheads;
  std::span<const Path> paths;              // by connection
  std::span<const std::int64_t> resources;  // of all paths
  std::span<const Slowdown> slowdowns;      // by resource, then time; they do not overlap
  std::span<const Death> deaths;            // each with a slowdown that stops the rank's processor
  Picoseconds deadline = kNever;            // of every rank
};

}  // namespace weft
