#include "simulate/resources.hpp"

#include <algorithm>

#include "simulate/simulate.hpp"

namespace weft {

namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t kPerSecond = 1'000'000'000'000;

}  // namespace

Picoseconds require_told(Picoseconds time) {
  if (time > kLatest && time != kNever) throw TimeOverflow("a time is beyond what picoseconds can tell");
  return time;
}

Picoseconds time_of(std::int64_t bytes, std::int64_t rate) {
  if (rate == 0 || bytes == 0) return 0;
  constexpr std::int64_t kFast = std::numeric_limits<std::int64_t>::max() / kPerSecond;
  if (bytes < kFast) return (bytes * kPerSecond - 1) / rate + 1;
  const Wide time = (static_cast<Wide>(bytes) * kPerSecond - 1) / rate + 1;
  return require_told(time < kNever ? static_cast<Picoseconds>(time) : kNever - 1);
}

bool Resource::is_free(Picoseconds now) {
  while (!slowdowns_.empty() && slowdowns_.front().until <= now) slowdowns_ = slowdowns_.subspan(1);
  return busy_until_ <= now && resumes(now) == now;
}

Picoseconds Resource::resumes(Picoseconds now) const {
  for (const Slowdown& s : slowdowns_) {
    if (s.from > now) break;
    if (now < s.until && s.factor == 0) now = s.until;
  }
  return now;
}

Picoseconds Resource::next_free(Picoseconds now) const { return resumes(std::max(now, busy_until_)); }

Picoseconds Resource::finish(Picoseconds start, Picoseconds work) const {
  Picoseconds now = start;
  for (const Slowdown& s : slowdowns_) {
    if (s.until <= now) continue;
    const Picoseconds before = std::max<Picoseconds>(s.from - now, 0);
    if (work <= before) break;
    work -= before;
    now += before;
    const Picoseconds can = s.factor == 0 ? 0 : (s.until - now) / s.factor;
    if (work <= can) return require_told(now + work * s.factor);
    work -= can;
    now = s.until;
    if (now == kNever) return kNever;
  }
  return require_told(now + work);
}

void Resource::take(Picoseconds now, Picoseconds until) {
  busy_until_ = until;
  if (until != kNever) busy_ += until - now;
}

}  // namespace weft
