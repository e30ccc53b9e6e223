// Who has contributed to a value, and how often: counted sets of ranks, shared.
//
// A set is a number.  Equal sets have equal numbers, so comparing two takes one instruction, and a
// set that differs from another in one rank shares all but a path of its tree with it: the million
// partial sums of a ring over 1,024 ranks need about one small node each.
//
// The tree halves the ranks.  A node whose two halves hold the same count everywhere is no node at
// all but that count, at whatever height.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace weft {

// More different sets than we are willing to keep: the caller's schedule is too wild to check.
struct TooManySums : std::length_error {
  using std::length_error::length_error;
};

struct Count {
  std::int32_t rank;
  std::int32_t times;
};

class Contributions {
 public:
  using Set = std::uint32_t;
  static constexpr std::int32_t kMostTimes = INT32_MAX;
  static constexpr std::size_t kMostNodes = std::size_t{1} << 26;

  // `most_times` is where counting stops: 1 where it only matters whether a rank was heard of.
  explicit Contributions(std::int32_t ranks, std::int32_t most_times = kMostTimes,
                         std::size_t most_nodes = kMostNodes);

  Set none() const { return uniform(0); }
  Set run(std::int32_t first, std::int32_t count);  // each of these ranks once
  Set add(Set a, Set b);
  std::vector<Count> counts(Set set) const;  // by rank; absent ranks are left out

 private:
  struct Node {
    Set low, high;
  };
  struct Sum {
    Set a, b, result;
  };

  static constexpr Set kUniform = 0x80000000;
  static constexpr Set uniform(std::int32_t times) { return kUniform | static_cast<Set>(times); }
  static constexpr bool is_uniform(Set set) { return set & kUniform; }
  static constexpr std::int32_t times(Set set) { return static_cast<std::int32_t>(set & ~kUniform); }
  Set low(Set set) const { return is_uniform(set) ? set : nodes_[set].low; }
  Set high(Set set) const { return is_uniform(set) ? set : nodes_[set].high; }

  Set node(Set low, Set high);
  Set run_in(std::int64_t from, std::int64_t to, std::int64_t first, std::int64_t end);
  void counts_in(Set set, std::int64_t from, std::int64_t to, std::vector<Count>& out) const;
  std::size_t home(Set low, Set high) const;
  void grow();

  std::int64_t width_ = 1;  // ranks, rounded up to a power of two
  std::int32_t most_times_;
  std::size_t most_nodes_;
  std::vector<Node> nodes_;
  std::vector<Set> table_;   // open addressing over nodes_; kUniform marks a free place
  std::vector<Sum> recent_;  // sums made lately: schedules repeat themselves
};

}  // namespace weft
