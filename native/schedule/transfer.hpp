// What every part of the core knows of a schedule: its rows, and how they are counted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

constexpr std::int32_t kNone = -1;

// A number of a row, of any type, as an index.
constexpr std::size_t at(auto number) { return static_cast<std::size_t>(number); }

// dst_slot on dst becomes src_slot on src, or addend on dst plus src_slot on src.
struct Transfer {
  std::int32_t src, dst;
  std::int32_t src_slot, dst_slot;
  std::int32_t addend;   // a slot on dst, or -1
  std::int32_t message;  // adjacent transfers of one message travel together; -1 travels alone
  std::int32_t route;    // which of the ways from src to dst
};

// On `rank`, `slot` is the same memory as `place`.
struct Alias {
  std::int32_t rank, slot, place;
};

}  // namespace weft
