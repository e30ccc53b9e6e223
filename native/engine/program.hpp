// A schedule, lowered: what each rank has to do, and what must come before what.
//
// A message between two ranks is two operations: a send on one, a receive on the other.  A message
// within a rank is one, called local.  Operations of a rank are numbered in list order, and what one
// of them needs are always others of the same rank: nobody has to know of anybody's state.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schedule/transfer.hpp"

namespace weft {

// Rows of different lengths in one piece of memory.
class Lists {
 public:
  Lists() : ends_{0} {}
  void add_row(std::span<const std::int32_t> row) {
    values_.insert(values_.end(), row.begin(), row.end());
    ends_.push_back(static_cast<std::int64_t>(values_.size()));
  }
  std::span<const std::int32_t> operator[](std::int32_t row) const {
    const std::int64_t begin = ends_[at(row)];
    return {values_.data() + begin, values_.data() + ends_[at(row) + 1]};
  }
  std::int32_t rows() const { return static_cast<std::int32_t>(ends_.size()) - 1; }
  // Each value in [0, range) becomes a row: the rows that held it.
  Lists turned(std::int32_t range) const;

 private:
  std::vector<std::int32_t> values_;
  std::vector<std::int64_t> ends_;
};

enum class Kind : std::uint8_t { kSend, kReceive, kLocal };

struct Operation {
  Kind kind;
  std::int32_t message;           // in the whole schedule
  std::int32_t way;               // a send's among Program::outgoing, a receive's among incoming; else -1
  std::int32_t counterpart;       // the operation on the other rank; a local one's is itself
  std::int32_t follower = kNone;  // the only one that reads what this leaves in scratch, if it is only one
};

// One of a rank's ways to or from others: a connection, in the view of one of its ends.
struct Way {
  std::int32_t connection;  // in the whole schedule
  std::int32_t peer;
};

struct Program {
  std::int32_t rank;
  std::vector<Operation> operations;
  Lists needs;  // of an operation: those that must be done first, segment by segment
  Lists needed_by;
  std::vector<Way> outgoing, incoming;
  Lists sends;  // of an outgoing way: its operations, in list order
};

struct Connection {
  std::int32_t src, dst, route;
  std::int32_t outgoing, incoming;  // its number among src's ways out and dst's ways in
};

struct Message {
  std::int32_t connection;  // -1: within a rank
  std::int32_t src, dst;
  std::int32_t first, count;          // its transfers, in Plan::parts
  std::int32_t sent_as, received_as;  // operations on src and dst; of a local message, the same
};

// A transfer that carries something.
struct Part {
  std::int64_t elements;
  std::int32_t transfer;
  bool adds;
};

struct Plan {
  std::vector<Message> messages;
  std::vector<Part> parts;  // in list order
  std::vector<Connection> connections;
  std::vector<Program> programs;  // of the ranks that were asked for
};

struct Listing {
  std::int32_t ranks, slots, first_scratch;
  std::span<const Transfer> transfers;
  std::span<const Alias> aliases;
  std::span<const std::int64_t> elements;  // that each transfer moves
  bool empty_too;  // transfers of nothing are left out, except of a barrier: they bring the news
};

// Every slot is cut into the same number of segments; segment s of n elements begins here.
constexpr std::int64_t segment_begin(std::int64_t elements, std::int32_t segment, std::int32_t segments) {
  return elements / segments * segment + elements % segments * segment / segments;
}

// Lowers a correct schedule for one rank, or for all.
Plan lower(const Listing& listing, std::int32_t only_rank = kNone);

// The same plan for other numbers of elements; none where other transfers move something.
std::optional<Plan> resized(const Plan& plan, std::span<const std::int64_t> elements);

}  // namespace weft
