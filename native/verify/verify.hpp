// Proves that a schedule does what its collective promises, by replaying who holds what.
//
// Rule 1: nothing here is shared with any code that makes schedules.
// Rule 2: it knows nothing of time, bytes or bandwidth.
// Rule 3: every way a schedule can be wrong is one row of the table in verify.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schedule/transfer.hpp"
#include "verify/contributions.hpp"

namespace weft {

// `slot` on `rank` holds `piece`, to which the `count` ranks from `first` have contributed once each.
struct Content {
  std::int32_t rank, slot, piece, first, count;
};

// There are `routes` ways from src to dst.
struct Ways {
  std::int32_t src, dst, routes;
};

struct Place {
  std::int32_t rank, slot;
};

struct Job {
  std::int32_t ranks;
  std::int32_t slots;  // on each rank: inputs, then outputs, then scratch
  std::int32_t first_scratch;
  bool heard_is_enough;  // a barrier: hearing twice from a rank does no harm
  std::span<const Transfer> transfers;
  std::span<const Content> initial;
  std::span<const Content> final;
  std::span<const Alias> aliases;
  std::optional<std::span<const Ways>> ways = {};  // nothing: any pair has any route
  std::optional<Place> watched = {};
  void (*breathe)() = nullptr;  // called now and then; it may throw, to end the work
};

// What is wrong, and where.  `transfer` is -1 where a final content is wrong.
struct Finding {
  int rule;
  std::int32_t transfer;
  std::int32_t rank, slot;
  std::int32_t piece_got, piece_want;  // -1: nothing
  std::vector<Count> got, want;
};

// What a slot held after a transfer wrote it.
struct Write {
  std::int32_t transfer;
  std::int32_t piece;
  std::vector<Count> counts;
};

struct Rule {
  const char* name;
  const char* promise;
};

std::span<const Rule> rules();

// How many writes to a watched slot are kept.
constexpr std::size_t kMostWrites = 32;

struct Outcome {
  std::optional<Finding> finding;  // the first
  std::vector<Write> story;        // the last writes to the watched slot, up to the finding
};

// `pieces`, if not empty, has one place per transfer for the piece that it moves.
Outcome verify(const Job& job, std::span<std::int32_t> pieces);

}  // namespace weft
