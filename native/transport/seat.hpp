// A rank's place among the members of shared memory: taken once, and seen to be empty when its process
// has ended, however that happened.
//
// The proof of life is a lock, which the kernel takes back.  It belongs to a file description that nobody
// else has: a lock of the process would be lost as soon as any descriptor of the memory is closed.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/shared_memory.hpp"

namespace weft {

class Seat {
 public:
  // Refuses a rank that has been taken.
  Seat(std::shared_ptr<const SharedMemory> memory, std::int32_t rank);
  ~Seat();
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  const SharedMemory& memory() const { return *memory_; }

  bool is_gone(std::int32_t other) const;  // left or dead; one who has not come yet is not
  void leave();                            // of its own will
  void forget();                           // in a child of fork: it is the parent's

 private:
  void take();

  const std::shared_ptr<const SharedMemory> memory_;
  const std::int32_t rank_;
  int descriptor_;
};

}  // namespace weft
