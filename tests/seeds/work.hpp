// What is to be done: a random list of transfers that is right when it is done one at a time, the
// memory that it works on, and what that holds in the end.
#pragma once

#include <cstdint>
#include <vector>

#include "draw.hpp"
#include "engine/program.hpp"

namespace seeds {

struct Work {
  std::int32_t ranks, slots, first_scratch;
  bool empty_too;
  std::vector<weft::Alias> aliases;
  std::vector<weft::Transfer> transfers;
  std::vector<std::int64_t> elements;  // that each of them moves

  // By rank and slot.
  std::vector<std::int32_t> places;   // the slot whose memory it is
  std::vector<std::int64_t> sizes;    // in elements; of scratch, which has no size of its own, -1
  std::vector<std::int64_t> offsets;  // in its rank's memory

  std::size_t index(std::int32_t rank, std::int32_t slot) const { return weft::at(rank * slots + slot); }
  std::size_t place(std::int32_t rank, std::int32_t slot) const {
    return index(rank, places[index(rank, slot)]);
  }
  weft::Listing listing() const {
    return {ranks, slots, first_scratch, transfers, aliases, elements, empty_too};
  }
};

// What a rank's inputs and outputs are, one behind another, each with a guard behind it.
using Memory = std::vector<float>;

Work draw_work(Draw& draw);

// Each element says by its bits where it belongs, and shows in which order it was added.
std::vector<Memory> initial_memory(const Work& work);

// The same after all transfers, done one at a time.
std::vector<Memory> final_memory(const Work& work);

}  // namespace seeds
