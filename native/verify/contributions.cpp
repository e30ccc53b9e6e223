#include "verify/contributions.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace weft {

namespace {

std::uint64_t mixed(std::uint32_t a, std::uint32_t b) {
  std::uint64_t bits = (std::uint64_t{a} << 32 | b) * 0x9E3779B97F4A7C15;
  return (bits ^ bits >> 29) * 0xBF58476D1CE4E5B9 >> 20;
}

}  // namespace

Contributions::Contributions(std::int32_t ranks, std::int32_t most_times, std::size_t most_nodes)
    : most_times_(most_times), most_nodes_(most_nodes) {
  while (width_ < ranks) width_ *= 2;
  table_.assign(std::size_t{1} << 10, kUniform);
  recent_.assign(std::size_t{1} << 12, Sum{0, 0, none()});
  nodes_.push_back({none(), none()});  // number 0 is nobody's, so that `recent_` can start as zeros
}

Contributions::Set Contributions::run(std::int32_t first, std::int32_t count) {
  return run_in(0, width_, first, std::int64_t{first} + count);
}

Contributions::Set Contributions::run_in(std::int64_t from, std::int64_t to, std::int64_t first,
                                         std::int64_t end) {
  if (end <= from || to <= first) return none();
  if (first <= from && to <= end) return uniform(1);
  const std::int64_t middle = from + (to - from) / 2;
  return node(run_in(from, middle, first, end), run_in(middle, to, first, end));
}

Contributions::Set Contributions::add(Set a, Set b) {
  if (a == none()) return b;
  if (b == none()) return a;
  if (is_uniform(a) && is_uniform(b))
    return uniform(
        static_cast<std::int32_t>(std::min<std::int64_t>(std::int64_t{times(a)} + times(b), most_times_)));
  if (a > b) std::swap(a, b);
  Sum& slot = recent_[mixed(a, b) & (recent_.size() - 1)];
  if (slot.a == a && slot.b == b) return slot.result;
  const Set result = node(add(low(a), low(b)), add(high(a), high(b)));
  slot = {a, b, result};
  return result;
}

Contributions::Set Contributions::node(Set low, Set high) {
  if (low == high && is_uniform(low)) return low;
  const std::size_t mask = table_.size() - 1;
  std::size_t at = home(low, high);
  for (; table_[at] != kUniform; at = (at + 1) & mask) {
    const Node& known = nodes_[table_[at]];
    if (known.low == low && known.high == high) return table_[at];
  }
  if (nodes_.size() >= most_nodes_)
    throw TooManySums("more than " + std::to_string(most_nodes_) + " different partial sums");
  const Set made = static_cast<Set>(nodes_.size());
  nodes_.push_back({low, high});
  table_[at] = made;
  if (nodes_.size() * 2 > table_.size()) grow();
  return made;
}

std::size_t Contributions::home(Set low, Set high) const { return mixed(low, high) & (table_.size() - 1); }

void Contributions::grow() {
  table_.assign(table_.size() * 2, kUniform);
  const std::size_t mask = table_.size() - 1;
  for (std::size_t number = 1; number < nodes_.size(); ++number) {
    std::size_t at = home(nodes_[number].low, nodes_[number].high);
    while (table_[at] != kUniform) at = (at + 1) & mask;
    table_[at] = static_cast<Set>(number);
  }
}

std::vector<Count> Contributions::counts(Set set) const {
  std::vector<Count> out;
  counts_in(set, 0, width_, out);
  return out;
}

void Contributions::counts_in(Set set, std::int64_t from, std::int64_t to, std::vector<Count>& out) const {
  if (set == none()) return;
  if (is_uniform(set)) {
    for (std::int64_t rank = from; rank < to; ++rank)
      out.push_back({static_cast<std::int32_t>(rank), times(set)});
    return;
  }
  const std::int64_t middle = from + (to - from) / 2;
  counts_in(low(set), from, middle, out);
  counts_in(high(set), middle, to, out);
}

}  // namespace weft
