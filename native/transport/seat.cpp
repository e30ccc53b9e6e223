#include "transport/seat.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace weft {

namespace {

constexpr int kNoDescriptor = -1;

// Each rank locks a byte of its own.
struct flock lock_of(std::int32_t rank) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = rank;
  lock.l_len = 1;
  return lock;
}

}  // namespace

Seat::Seat(std::shared_ptr<const SharedMemory> memory, std::int32_t rank)
    : memory_(std::move(memory)), rank_(rank), descriptor_(memory_->open_again()) {
  try {
    take();
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

// The lock comes first: who is there without one has died.
void Seat::take() {
  struct flock lock = lock_of(rank_);
  const bool locked = fcntl(descriptor_, F_OFD_SETLK, &lock) == 0;
  if (!locked && errno != EAGAIN && errno != EACCES)
    throw std::system_error(errno, std::generic_category(), "the shared memory cannot be locked");
  std::int32_t absent = kAbsent;
  if (!locked || !memory_->presence(rank_).compare_exchange_strong(absent, kPresent))
    throw BrokenPeer("rank " + std::to_string(rank_) + " has been taken");
}

Seat::~Seat() {
  leave();
  forget();
}

void Seat::leave() {
  if (descriptor_ != kNoDescriptor) memory_->presence(rank_).store(kLeft, std::memory_order_release);
}

void Seat::forget() {
  if (descriptor_ != kNoDescriptor) close(std::exchange(descriptor_, kNoDescriptor));
}

bool Seat::is_gone(std::int32_t other) const {
  const std::int32_t presence = memory_->presence(other).load(std::memory_order_acquire);
  if (presence != kPresent) return presence == kLeft;
  struct flock lock = lock_of(other);
  return fcntl(descriptor_, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

}  // namespace weft
