// Memory that the processes of a group on one host share: who is there, and a link for each ordered pair.
//
// A link is `window` places for a segment.  The sender fills places in the order in which they became
// free, which both sides know, and publishes each by its turn; the receiver gives them back in any order.
//
// Rule 1: every word is written by one side only, and published by an atomic store.
// Rule 2: what the other side wrote is read once and checked before it is used: that may be another
// program, or a broken one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "schedule/transfer.hpp"

namespace weft {

constexpr std::uint32_t kMostPlaces = 32;     // of a link
constexpr std::int64_t kLine = 64;            // bytes of a cache line
constexpr std::int64_t kMostSmallBytes = 40;  // of a segment that travels beside its announcement

struct alignas(64) Announcement {
  std::atomic<std::uint64_t> turn;  // announcements on this link so far, this one included
  std::uint32_t call;               // of the group, in which it was made
  std::uint32_t plan;               // a digest of what is being run
  std::int32_t operation;           // of the receiver
  alignas(8) std::byte small[kMostSmallBytes];
};
static_assert(sizeof(Announcement) == kLine);

// Where the content of a place is, which depends on its size.
inline float* content_of(std::byte* place, bool small) {
  return reinterpret_cast<float*>(small ? reinterpret_cast<Announcement*>(place)->small : place + kLine);
}

struct alignas(64) Returns {
  std::atomic<std::uint64_t> count;
  std::array<std::uint8_t, kMostPlaces> places;  // of return number n, at n % kMostPlaces
};

enum Presence : std::int32_t { kAbsent, kPresent, kLeft };

struct Shape {
  std::int32_t ranks, window;
  std::int64_t segment_bytes;  // the most of one segment
};

struct BrokenPeer : std::runtime_error {
  using runtime_error::runtime_error;
};

// Another may write it meanwhile, so that a second look could find something else.
template <typename Value>
Value look_once(const Value& shared) {
  return *static_cast<const volatile Value*>(&shared);
}

class SharedMemory {
 public:
  // A new memory file; all who are given its descriptor can open it.
  static int create(const Shape& shape);

  // Maps the file behind a descriptor of which it makes a copy; throws std::system_error or BrokenPeer.
  SharedMemory(int descriptor, const Shape& shape);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  const Shape& shape() const { return shape_; }

  // A descriptor of the same file whose locks are its own.
  int open_again() const;
  // Whether a rank is there, a Presence.
  std::atomic<std::int32_t>& presence(std::int32_t rank) const;

  std::byte* place(std::int32_t src, std::int32_t dst, std::int32_t number) const;
  Returns* returns(std::int32_t src, std::int32_t dst) const;

 private:
  Shape shape_;
  int descriptor_;
  std::byte* memory_;
};

// The sender's end of a link.
class Outbox {
 public:
  Outbox(const SharedMemory& memory, std::int32_t src, std::int32_t dst);

  std::int32_t free() const { return window_ - out_; }
  // Where the content of the next segment goes; there must be a free place.
  float* reserve(bool small) const { return content_of(next_place(), small); }
  void announce(std::uint32_t call, std::uint32_t plan, std::int32_t operation) {
    auto* next = reinterpret_cast<Announcement*>(next_place());
    next->call = call;
    next->plan = plan;
    next->operation = operation;
    taken_ |= 1u << order_[announced_ % kMostPlaces];
    ++out_;
    next->turn.store(++announced_, std::memory_order_release);
  }
  // How many places have come back since the last time; while there are many it does not look, for
  // that would take the receiver's next return as long as a message.
  std::int32_t collect() { return free() > window_ / 2 ? 0 : look(); }

 private:
  std::int32_t look();
  [[noreturn]] void throw_broken(const char* what) const;
  std::byte* next_place() const { return places_[order_[announced_ % kMostPlaces]]; }

  std::int32_t window_, peer_, out_ = 0;
  std::uint64_t announced_ = 0, returned_ = 0;
  Returns* returns_;
  std::array<std::byte*, kMostPlaces> places_{};
  std::array<std::uint8_t, kMostPlaces> order_{};  // in which they are filled, at n % kMostPlaces
  std::uint32_t taken_ = 0;                        // a bit for each place that is not free
};

// The receiver's end of a link.
class Inbox {
 public:
  Inbox(const SharedMemory& memory, std::int32_t src, std::int32_t dst);

  // The next that has arrived, or null.
  const Announcement* peek() const {
    if (out_ == window_) return nullptr;
    const auto* next = reinterpret_cast<const Announcement*>(places_[order_[arrived_ % kMostPlaces]]);
    return next->turn.load(std::memory_order_acquire) == arrived_ + 1 ? next : nullptr;
  }
  // Takes what peek showed, and returns its place.
  std::int32_t take() {
    ++out_;
    return order_[arrived_++ % kMostPlaces];
  }
  const float* content(std::int32_t place, bool small) const { return content_of(places_[at(place)], small); }
  void give_back(std::int32_t place) {
    const auto number = static_cast<std::uint8_t>(place);
    returns_->places[returned_ % kMostPlaces] = number;
    order_[(returned_ + at(window_)) % kMostPlaces] = number;
    --out_;
    returns_->count.store(++returned_, std::memory_order_release);
  }

 private:
  std::int32_t window_, out_ = 0;
  std::uint64_t arrived_ = 0, returned_ = 0;
  Returns* returns_;
  std::array<std::byte*, kMostPlaces> places_{};
  std::array<std::uint8_t, kMostPlaces> order_{};
};

}  // namespace weft
