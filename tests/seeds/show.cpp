#include "show.hpp"

#include <string>

namespace seeds {

namespace {

using weft::at;
using weft::kNever;
using weft::Picoseconds;

std::string when(Picoseconds time) { return time == kNever ? "never" : std::to_string(time); }

}  // namespace

void show_work(std::ostream& out, const Work& work) {
  out << work.ranks << " ranks, " << work.slots << " slots, scratch from " << work.first_scratch << " on"
      << (work.empty_too ? ", messages of nothing are sent too\n" : "\n");
  for (std::int32_t rank = 0; rank < work.ranks; ++rank) {
    out << "rank " << rank << " has";
    for (std::int32_t slot = 0; slot < work.first_scratch; ++slot)
      out << " " << work.sizes[work.index(rank, slot)] << " in slot " << slot;
    out << "\n";
  }
  for (const weft::Alias& alias : work.aliases)
    out << "rank " << alias.rank << ": slot " << alias.slot << " is slot " << alias.place << "\n";
  for (std::size_t number = 0; number < work.transfers.size(); ++number) {
    const weft::Transfer& t = work.transfers[number];
    out << "  " << number << ": " << t.src << "[" << t.src_slot << "] -> " << t.dst << "[" << t.dst_slot
        << "], " << work.elements[number] << " elements";
    if (t.addend != weft::kNone) out << ", plus [" << t.addend << "]";
    if (t.message != weft::kNone) out << ", message " << t.message;
    if (t.route > 0) out << ", route " << t.route;
    out << "\n";
  }
}

void show_conditions(std::ostream& out, const Conditions& conditions) {
  out << conditions.segments << " segments, window " << conditions.window << ", deadline "
      << when(conditions.deadline) << "\n";
  const weft::Overheads& costs = conditions.overheads;
  out << "send " << costs.send << ", receive " << costs.receive << ", reduce at " << costs.reduce
      << ", copy at " << costs.copy << "; links at";
  for (const std::int64_t rate : conditions.rates) out << " " << rate;
  out << "\n";
  for (std::int64_t next = 0; const weft::Path& path : conditions.paths) {
    out << "  path: latency " << path.latency << (path.by_processor ? ", by processor, over" : ", over");
    for (; next < path.end; ++next) out << " " << conditions.resources[at(next)];
    out << "\n";
  }
  for (const weft::Slowdown& s : conditions.slowdowns)
    out << "  resource " << s.resource << " from " << s.from << " until " << when(s.until) << ": factor "
        << s.factor << "\n";
  for (const weft::Death& death : conditions.deaths)
    out << "  rank " << death.rank << " dies at " << death.time << "\n";
}

void show_run(std::ostream& out, const Run& run) {
  for (const weft::Record& r : run.trace.records)
    out << "  " << r.start << " to " << r.end << ": rank " << r.rank << (r.receives ? " applies " : " sends ")
        << "message " << r.message << ", segment " << r.segment
        << (r.follower == weft::kNone ? "" : ", then message " + std::to_string(r.follower)) << "\n";
  for (const weft::FailedRank& f : run.trace.failures)
    out << "rank " << f.rank << " failed at " << f.time
        << (f.reason == weft::Reason::kDeadline ? ": deadline" : ": peer gone") << ", message " << f.message
        << ", segment " << f.segment << ", peer " << f.peer << ", cause " << f.cause << "\n";
  for (std::int32_t rank = 0; rank < run.work.ranks; ++rank)
    out << "rank " << rank << " finished: " << when(run.trace.rank_ends[at(rank)]) << "\n";
}

}  // namespace seeds
