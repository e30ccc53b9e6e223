// One rank's part of a collective as a state machine: events in, instructions out.
//
// Rule 1: it reads no clock, no socket and no randomness; whoever drives it does.
// Rule 2: feed it all events of a moment, then poll; the order of the events does not matter.
// Rule 3: a segment waits for nothing but its needs, its arrival and room, as kLives says.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/program.hpp"

namespace weft {

// The life of a segment: it waits until all that it needs is there, is instructed, and ends.
struct Life {
  std::string_view name;
  std::int32_t arrivals;  // it waits for, besides its needs on this rank
  bool takes_room;        // of its way; then poll gives it, to the lowest first
  bool gives_room_back;   // when it has ended, the driver tells the sender that its room is free
};

// By Kind: all that a segment waits for and gives back.
inline constexpr std::array kLives = {
    Life{"send", 0, true, false},     // is told to leave, and has left
    Life{"receive", 1, false, true},  // is told to be applied, and has been
    Life{"local", 0, false, false},   // so is what moves within a rank
};

constexpr const Life& life_of(Kind kind) { return kLives[at(kind)]; }

// What kept a segment waiting to the last.
enum Cause : std::int32_t { kStart = -1, kArrival = -2, kRoom = -3 };  // else an operation

// To send a segment, or to apply one.
struct Instruction {
  std::int32_t operation;
  std::int32_t segment;
  std::int32_t cause;
  std::int32_t follower;  // of what is applied: the operation that is done together with it, or -1
};

enum class Reason : std::uint8_t { kPeerGone, kDeadline };

// Why a run ended early: what the lowest unfinished segment was waiting for.
struct Failure {
  Reason reason;
  std::int32_t operation, segment;
  std::int32_t peer;   // whom it waits for, or -1: for this rank itself
  std::int32_t cause;  // kArrival, kRoom, an operation, or kStart where its driver has not ended it
};

class Engine {
 public:
  // `fuse` says which outgoing ways may be fed straight from a receive, without a stop in scratch.
  Engine(const Program& program, std::int32_t segments, std::int32_t window, std::vector<bool> fuse = {});

  void start();  // from the beginning; rooms are kept
  // How many segments a way has room for; it is said before a start where others use the way too.
  void set_room(std::int32_t outgoing, std::int32_t room) { outgoing_[at(outgoing)].room = room; }

  // Events.  An arrival is about the first segment of its operation that it can be about.
  bool arrived(std::int32_t operation, std::int32_t way);  // false: nothing like that is awaited there
  void ended(const Instruction& instruction);              // it has left, or has been applied
  void credited(std::int32_t outgoing);
  void peer_gone(std::int32_t peer);
  void deadline();

  // Whether there is anything to be done now.
  bool has_news() const { return !parked_.empty() || !touched_.empty(); }
  // Appends all that is to be done now.
  void poll(std::vector<Instruction>& instructions);

  bool finished() const { return unfinished_ == 0; }
  const std::optional<Failure>& failure() const { return failure_; }

 private:
  struct State {
    std::int32_t next = 0;     // the segment that waits
    std::int32_t done = 0;     // segments that have ended, without a gap
    std::int32_t arrived = 0;  // segments that are here
    std::int32_t lacks = 0;    // what `next` still waits for, but for room
    std::int32_t cause = kStart;
    std::int64_t ready_since = 0;  // how many polls were over when it had all but room
  };
  struct Key {
    std::int32_t segment, operation;
    auto operator<=>(const Key&) const = default;
  };
  struct Outgoing {
    std::int32_t room;
    std::int32_t segment = 0;  // of the lowest that is not yet sent
    std::int32_t place = 0;    // of its operation among those of the way
    bool touched = false;
    std::vector<Key> ready = {};  // a heap, the lowest on top
  };

  void advance(std::int32_t operation);
  void pass(std::int32_t operation);
  void end_segment(Key key);
  void release(Key key);
  void touch(std::int32_t outgoing);
  bool has_room(std::int32_t outgoing, Key key);
  void apply(Key key, std::vector<Instruction>& instructions);
  std::int32_t take_follower(Key key);
  void send_what_may(std::int32_t outgoing, std::vector<Instruction>& instructions);
  void fail(Reason reason, const std::function<std::int32_t(std::int32_t)>& first_of);
  std::int32_t awaited(Key key);

  const Program& program_;
  std::int32_t segments_;
  std::vector<bool> fuse_;
  std::vector<State> states_;
  std::vector<Outgoing> outgoing_;
  std::vector<std::int32_t> touched_;  // ways to look at in the next poll
  std::vector<Key> parked_;            // what may be applied
  std::vector<Key> early_;             // what has ended before an earlier segment of the same operation
  std::int64_t unfinished_ = 0;
  std::int64_t polls_ = 0;  // that are over
  std::optional<Failure> failure_;
};

}  // namespace weft
