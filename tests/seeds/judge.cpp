#include "judge.hpp"

#include <algorithm>
#include <bit>

namespace seeds {

namespace {

using weft::at;
using weft::FailedRank;
using weft::kNever;
using weft::kNone;
using weft::Picoseconds;

std::string said(std::int32_t rank, const std::string& what) {
  return "rank " + std::to_string(rank) + " " + what;
}

bool is_dead(const Run& run, std::int32_t rank, Picoseconds time) {
  return std::ranges::any_of(run.conditions.deaths,
                             [&](const weft::Death& d) { return d.rank == rank && d.time <= time; });
}

bool has_failed(const Run& run, std::int32_t rank, Picoseconds time) {
  return std::ranges::any_of(run.trace.failures,
                             [&](const FailedRank& f) { return f.rank == rank && f.time <= time; });
}

// Where nobody is in a hurry, it may stand still at any time.
bool stands_still_for_ever(const Run& run, std::int32_t rank) {
  return run.conditions.resumes(rank, std::min(run.conditions.deadline, kNever - 1)) == kNever;
}

// The one at the other end of what it failed at, where that is whom it waited for.
std::string judge_blame(const Run& run, const FailedRank& failure) {
  if (failure.message < 0 || failure.message >= std::ssize(run.plan.messages))
    return said(failure.rank, "failed at no message");
  const weft::Message& message = run.plan.messages[at(failure.message)];
  const bool sends = message.src == failure.rank;
  if (!sends && message.dst != failure.rank) return said(failure.rank, "failed at a message of others");
  if (failure.segment < 0 || failure.segment >= run.conditions.segments)
    return said(failure.rank, "failed at no segment");
  const bool waits_for_itself =
      message.connection == kNone || (!sends && failure.cause != weft::Cause::kArrival);
  const std::int32_t peer = waits_for_itself ? kNone : sends ? message.dst : message.src;
  if (failure.peer != peer) return said(failure.rank, "blames the wrong peer");
  if (failure.reason == weft::Reason::kDeadline)
    return failure.time < run.conditions.deadline ? said(failure.rank, "failed before its deadline") : "";
  if (is_dead(run, peer, failure.time) || has_failed(run, peer, failure.time)) return "";
  return said(failure.rank, "says that a peer has gone that has not");
}

// It has finished or failed in time, and not both.
std::string judge_end(const Run& run, std::int32_t rank) {
  const auto is_this = [&](const FailedRank& f) { return f.rank == rank; };
  const auto failures = std::ranges::count_if(run.trace.failures, is_this);
  const Picoseconds finished = run.trace.rank_ends[at(rank)];
  if (failures + (finished != kNever) > 1) return said(rank, "ended more than once");
  const Picoseconds latest = run.conditions.resumes(rank, run.conditions.deadline);
  if (finished != kNever) return finished > latest ? said(rank, "finished after its deadline") : "";
  if (failures == 0) return stands_still_for_ever(run, rank) ? "" : said(rank, "neither finished nor failed");
  const FailedRank& failure = *std::ranges::find_if(run.trace.failures, is_this);
  if (failure.time > latest) return said(rank, "failed after its deadline");
  if (!run.conditions.faults) return said(rank, "failed without a fault");
  return judge_blame(run, failure);
}

std::string judge_memory(const Run& run, std::int32_t rank, const Memory& expected) {
  const Memory& memory = run.mover.memory(rank);
  for (std::size_t element = 0; element < expected.size(); ++element)
    if (std::bit_cast<std::uint32_t>(memory[element]) != std::bit_cast<std::uint32_t>(expected[element]))
      return said(rank, "has " + std::to_string(memory[element]) + " in element " + std::to_string(element) +
                            " of its memory, not " + std::to_string(expected[element]));
  return "";
}

}  // namespace

std::string judge(const Run& run, const std::vector<Memory>& expected) {
  if (!run.conditions.faults && run.mover.is_busy()) return "something has begun and never ended";
  for (std::int32_t rank = 0; rank < run.work.ranks; ++rank) {
    std::string wrong = judge_end(run, rank);
    if (wrong.empty() && run.trace.rank_ends[at(rank)] != kNever)
      wrong = judge_memory(run, rank, expected[at(rank)]);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace seeds
