// One rank's place in a group: its ends of the links to all others.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "transport/seat.hpp"
#include "transport/shared_memory.hpp"

namespace weft {

struct Group {
  // Several ranks of one process may have one memory.
  Group(std::shared_ptr<const SharedMemory> memory, std::int32_t rank)
      : shape(memory->shape()), seat(std::move(memory), rank) {
    for (std::int32_t peer = 0; peer < shape.ranks; ++peer) {
      to.emplace_back(seat.memory(), rank, peer);
      from.emplace_back(seat.memory(), peer, rank);
    }
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // Nothing more comes from this rank; the others hear of it.
  void leave() {
    over.store(true, std::memory_order_relaxed);
    seat.leave();
  }
  // In a child of fork, where the ends of the links are still the parent's.
  void forget() {
    over.store(true, std::memory_order_relaxed);
    seat.forget();
  }

  const Shape shape;
  Seat seat;
  std::vector<Outbox> to;   // by peer
  std::vector<Inbox> from;  // by peer
  std::uint32_t runs = 0;   // so far; all ranks make the same ones, in the same order
  std::atomic<bool> busy = false;
  std::atomic<bool> over = false;  // left, or a call has failed and segments lie about
};

}  // namespace weft
