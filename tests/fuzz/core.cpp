// What a file says goes through the verifier, and what the verifier lets pass must be lowered, run
// and end.  libFuzzer calls this with bytes of its own making; replay.cpp with those of files.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <vector>

#include "input.hpp"
#include "simulate/simulate.hpp"

namespace {

using fuzz::Input;
using weft::at;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void refuse_to_go_on() { require(false, "the simulation ends"); }

// As the error message asks: what was written to the place of the finding before that.
void look_back(const Input& input, const weft::Finding& finding) {
  weft::Job job = input.job;
  require(0 <= finding.rule && at(finding.rule) < weft::rules().size(), "a finding names its rule");
  require(finding.transfer < std::ssize(job.transfers), "a finding names a transfer of the list");
  if (finding.transfer != weft::kNone) job.transfers = job.transfers.first(at(finding.transfer));
  if (finding.rank < 0 || finding.rank >= job.ranks) return;
  if (finding.slot < 0 || finding.slot >= job.slots) return;
  job.watched = {finding.rank, finding.slot};
  const weft::Outcome again = weft::verify(job, {});
  require(again.story.size() <= weft::kMostWrites, "a story has an end");
  for (const weft::Write& write : again.story)
    require(0 <= write.transfer && write.transfer < std::ssize(job.transfers), "a story is of the list");
}

// The transfers of each piece as large as that piece.
std::vector<std::int64_t> elements_of(const Input& input, const std::vector<std::int32_t>& pieces) {
  std::vector<std::int64_t> elements;
  for (const std::int32_t piece : pieces)
    elements.push_back(input.job.heard_is_enough ? 0 : input.sizes[at(piece) % input.sizes.size()]);
  return elements;
}

void simulate(const Input& input, const weft::Plan& plan) {
  std::vector<weft::Path> paths;
  std::vector<std::int64_t> rates, resources;
  for (const weft::Connection& c : plan.connections) {
    // Half of the connections share a link, which is resource `ranks`.
    resources.push_back(input.job.ranks + (c.src % 2 == 0 ? 0 : std::ssize(paths)));
    paths.push_back({input.path.latency, input.path.by_processor, std::ssize(resources)});
    rates.push_back(input.rate);
  }
  const weft::Machine machine{rates, input.overheads, paths, resources, {}, {}, input.deadline};
  const weft::Settings settings{input.segments, input.window, true, nullptr, refuse_to_go_on};
  try {
    const weft::Trace trace = weft::simulate(plan, machine, settings);
    std::vector<bool> over;
    for (const weft::Picoseconds end : trace.rank_ends) over.push_back(end != weft::kNever);
    for (const weft::FailedRank& failed : trace.failures) {
      require(input.deadline != weft::kNever && !over[at(failed.rank)], "a rank fails by a deadline alone");
      over[at(failed.rank)] = true;
    }
    require(std::ranges::all_of(over, std::identity()), "every rank finishes or fails");
  } catch (const weft::TimeOverflow&) {
    return;  // longer than picoseconds can tell: refused
  }
}

void lower_and_run(const Input& input, const std::vector<std::int32_t>& pieces) {
  const weft::Job& job = input.job;
  const std::vector<std::int64_t> elements = elements_of(input, pieces);
  const weft::Listing listing{job.ranks,   job.slots, job.first_scratch,  job.transfers,
                              job.aliases, elements,  job.heard_is_enough};
  const weft::Plan plan = weft::lower(listing);
  const weft::Plan mine = weft::lower(listing, job.ranks - 1);
  require(mine.programs.at(0).operations.size() == plan.programs.back().operations.size(),
          "a rank's part is the same alone");
  require(job.heard_is_enough || weft::resized(plan, elements), "a plan has its own sizes");
  simulate(input, plan);
}

// The core refuses tables that point outside; those of files are made by the collective, and do not.
void run(const Input& input) {
  std::vector<std::int32_t> pieces(input.transfers.size());
  weft::Outcome outcome;
  try {
    outcome = weft::verify(input.job, pieces);
  } catch (const std::invalid_argument&) {
    return;
  }
  if (outcome.finding)
    look_back(input, *outcome.finding);
  else
    lower_and_run(input, pieces);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  run(fuzz::Reader({bytes, size}).read());
  return 0;
}
