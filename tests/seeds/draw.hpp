// Random draws that are the same on every machine and with every library: splitmix64.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <utility>
#include <vector>

#include "schedule/transfer.hpp"

namespace seeds {

constexpr std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
  return bits ^ bits >> 31;
}

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(mixed(seed)) {}

  std::int32_t below(std::int32_t end) {
    state_ += 0x9e3779b97f4a7c15;
    return static_cast<std::int32_t>((mixed(state_) >> 32) * static_cast<std::uint64_t>(end) >> 32);
  }
  std::int32_t between(std::int32_t first, std::int32_t last) { return first + below(last - first + 1); }
  bool chance(std::int32_t percent) { return below(100) < percent; }

  template <typename T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<std::int32_t>(choices.size()))];
  }

  // `count` different ones of the numbers below `end`.
  std::vector<std::int32_t> sample(std::int32_t end, std::int32_t count) {
    std::vector<std::int32_t> numbers(weft::at(end));
    std::iota(numbers.begin(), numbers.end(), 0);
    for (std::int32_t i = 0; i < count; ++i)
      std::swap(numbers[weft::at(i)], numbers[weft::at(between(i, end - 1))]);
    numbers.resize(weft::at(count));
    return numbers;
  }

 private:
  std::uint64_t state_;
};

}  // namespace seeds
