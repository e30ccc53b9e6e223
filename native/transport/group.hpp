// One process's place in a group: its ends of the links to all others.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "transport/shared_memory.hpp"

namespace weft {

struct Group {
  Group(int descriptor, const Shape& shape, std::int32_t own_rank)
      : memory(descriptor, shape), rank(own_rank) {
    for (std::int32_t peer = 0; peer < shape.ranks; ++peer) {
      to.emplace_back(memory, rank, peer);
      from.emplace_back(memory, peer, rank);
    }
    memory.join(rank);
  }
  ~Group() { memory.leave(rank); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  SharedMemory memory;
  const std::int32_t rank;
  std::vector<Outbox> to;   // by peer
  std::vector<Inbox> from;  // by peer
  std::uint32_t runs = 0;   // so far; all ranks make the same ones, in the same order
  std::atomic<bool> busy = false;
  bool broken = false;  // a call has failed, and left segments behind
};

}  // namespace weft
