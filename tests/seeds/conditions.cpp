#include "conditions.hpp"

#include <algorithm>

namespace seeds {

namespace {

using weft::at;
using weft::kNever;
using weft::Picoseconds;

constexpr std::int32_t kLinks = 4;  // resources besides the processors
constexpr std::int64_t kSecond = 1'000'000'000'000;

std::int64_t draw_rate(Draw& draw) {
  return draw.one_of({std::int64_t{0}, kSecond, kSecond, 3 * kSecond, 2 * kSecond / 7});
}

Picoseconds draw_time(Draw& draw) { return draw.one_of({0, 0, 1, 2, draw.between(3, 30)}); }

// Sometimes all ways share one link: then much waits for it that may be overtaken meanwhile.
void draw_paths(Draw& draw, const weft::Plan& plan, Conditions& conditions) {
  const auto ranks = static_cast<std::int32_t>(plan.programs.size());
  const bool narrow = draw.chance(30);
  for (std::size_t connection = 0; connection < plan.connections.size(); ++connection) {
    for (const std::int32_t link : draw.sample(narrow ? 1 : kLinks, narrow ? 1 : draw.between(0, 3)))
      conditions.resources.push_back(ranks + link);
    conditions.paths.push_back({draw_time(draw), draw.below(2), std::ssize(conditions.resources)});
  }
}

// Times at which something happens to a machine of which nobody knows how long it will be at work.
std::int32_t draw_horizon(Draw& draw) { return draw.one_of({20, 100, 400}); }

// Of one resource.  Some touch; the last may have no end, where faults are asked for.
void draw_slowdowns(Draw& draw, std::int32_t resource, bool endless, Conditions& conditions) {
  const std::int32_t horizon = draw_horizon(draw);
  auto moments = draw.sample(horizon, 2 * draw.between(1, 3));
  std::ranges::sort(moments);
  if (moments.size() > 2 && draw.chance(30)) moments[2] = moments[1];
  for (std::size_t next = 0; next < moments.size(); next += 2)
    conditions.slowdowns.push_back(
        {moments[next], moments[next + 1], draw.one_of({0, 0, 2, 3, 7}), resource});
  if (endless && draw.chance(40)) conditions.slowdowns.back().until = kNever;
}

void kill(std::int32_t rank, Picoseconds time, Conditions& conditions) {
  auto& slowdowns = conditions.slowdowns;
  std::erase_if(slowdowns, [&](const weft::Slowdown& s) { return s.resource == rank && s.from >= time; });
  for (weft::Slowdown& s : slowdowns)
    if (s.resource == rank) s.until = std::min(s.until, time);
  slowdowns.push_back({time, kNever, 0, rank});
  conditions.deaths.push_back({time, rank});
}

void draw_misfortunes(Draw& draw, std::int32_t ranks, Conditions& conditions) {
  const std::int32_t resources = ranks + kLinks;
  const bool deadline = conditions.faults && draw.chance(80);
  for (const std::int32_t resource : draw.sample(resources, draw.one_of({0, 0, 1, 3, draw.below(resources)})))
    draw_slowdowns(draw, resource, deadline, conditions);
  if (deadline) conditions.deadline = draw.below(2 * draw_horizon(draw));
  if (conditions.faults && (!deadline || draw.chance(40)))
    for (const std::int32_t rank : draw.sample(ranks, draw.between(1, std::min(2, ranks))))
      kill(rank, draw.below(draw_horizon(draw)), conditions);
  std::ranges::sort(conditions.slowdowns, {},
                    [](const weft::Slowdown& s) { return std::pair(s.resource, s.from); });
}

}  // namespace

Picoseconds Conditions::resumes(std::int32_t rank, Picoseconds time) const {
  for (const weft::Slowdown& s : slowdowns)
    if (s.resource == rank && s.factor == 0 && s.from <= time && time < s.until) time = s.until;
  return time;
}

Conditions draw_conditions(Draw& draw, const weft::Plan& plan, bool faults) {
  Conditions conditions{};
  conditions.faults = faults;
  conditions.segments = draw.between(1, 6);
  conditions.window = draw.between(1, 4);
  for (std::int32_t link = 0; link < kLinks; ++link) conditions.rates.push_back(draw_rate(draw));
  conditions.overheads = {draw_time(draw), draw_time(draw), draw_rate(draw), draw_rate(draw)};
  draw_paths(draw, plan, conditions);
  draw_misfortunes(draw, static_cast<std::int32_t>(plan.programs.size()), conditions);
  return conditions;
}

}  // namespace seeds
