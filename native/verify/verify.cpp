#include "verify/verify.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <numeric>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace weft {

namespace {

using Set = Contributions::Set;

struct Held {
  std::int32_t piece;
  Set contributions;
};

std::uint64_t pair_of(std::int32_t src, std::int32_t dst) {
  return std::uint64_t{static_cast<std::uint32_t>(src)} << 32 | static_cast<std::uint32_t>(dst);
}

// A job's own tables come from our side of the fence; one that points outside is our bug.
void require_inside(const Job& job) {
  const auto inside = [&](std::int32_t rank, std::int32_t slot) {
    return 0 <= rank && rank < job.ranks && 0 <= slot && slot < job.slots;
  };
  bool sound = job.ranks > 0 && job.transfers.size() <= INT32_MAX && 0 <= job.first_scratch &&
               job.first_scratch <= job.slots;
  for (const auto& contents : {job.initial, job.final})
    for (const Content& c : contents)
      sound =
          sound && inside(c.rank, c.slot) && 0 <= c.first && 0 <= c.count && c.count <= job.ranks - c.first;
  sound = sound && (!job.watched || inside(job.watched->rank, job.watched->slot));
  for (const Alias& a : job.aliases) sound = sound && inside(a.rank, a.slot) && inside(a.rank, a.place);
  if (!sound) throw std::invalid_argument("a content or an alias lies outside the ranks and slots");
}

class Replay {
 public:
  explicit Replay(const Job& job)
      : job_(job),
        sets_(job.ranks, job.heard_is_enough ? 1 : Contributions::kMostTimes),
        memory_(size()),
        held_(size(), {kNone, sets_.none()}),
        writer_(size(), kNone),
        only_(size(), kNone),
        allowed_(size(), kAbsent) {
    std::iota(memory_.begin(), memory_.end(), 0);
    for (std::int32_t rank = 0; rank < job.ranks; ++rank)
      std::fill_n(allowed_.data() + index(rank, job.first_scratch), job.slots - job.first_scratch,
                  kReadWrite);
    for (const Content& c : job.initial) allowed_[index(c.rank, c.slot)] = kRead;
    for (const Content& c : job.final) allowed_[index(c.rank, c.slot)] = kReadWrite;
    for (const Alias& a : job.aliases) {
      memory_[index(a.rank, a.slot)] = static_cast<std::uint32_t>(index(a.rank, a.place));
      allowed_[index(a.rank, a.place)] = kReadWrite;
    }
    for (const Content& c : job.final) only_[memory(c.rank, c.slot)] = c.piece;
    for (const Content& c : job.initial)
      held_[memory(c.rank, c.slot)] = {c.piece, sets_.run(c.first, c.count)};
    for (const Ways& w : job.ways.value_or(std::span<const Ways>()))
      routes_[pair_of(w.src, w.dst)] = w.routes;
  }

  bool is_rank(std::int32_t rank) const { return 0 <= rank && rank < job_.ranks; }
  bool exists(std::int32_t rank, std::int32_t slot) const {
    return 0 <= slot && slot < job_.slots && allowed_[index(rank, slot)] != kAbsent;
  }
  bool may_write(std::int32_t rank, std::int32_t slot) const {
    return allowed_[index(rank, slot)] == kReadWrite;
  }
  bool has_route(const Transfer& t) const {
    if (t.src == t.dst) return t.route == 0;
    if (!job_.ways) return t.route >= 0;
    const auto found = routes_.find(pair_of(t.src, t.dst));
    return found != routes_.end() && 0 <= t.route && t.route < found->second;
  }
  bool continues_message(const Transfer& t) const {
    return last_ && t.message >= 0 && t.message == last_->message;
  }
  bool keeps_message_whole(const Transfer& t) const {
    if (continues_message(t)) return t.src == last_->src && t.dst == last_->dst && t.route == last_->route;
    return t.message == kNone || t.message > newest_message_;
  }
  bool reads_own_message(const Transfer& t) const {
    return continues_message(t) && writer_[memory(t.src, t.src_slot)] >= message_start_;
  }
  std::int32_t only(std::int32_t rank, std::int32_t slot) const { return only_[memory(rank, slot)]; }
  const Held& at(std::int32_t rank, std::int32_t slot) const { return held_[memory(rank, slot)]; }
  const Held& source(const Transfer& t) const { return at(t.src, t.src_slot); }

  // Returns the piece that was moved.
  std::int32_t apply(const Transfer& t, std::int32_t number) {
    if (!continues_message(t)) message_start_ = number;
    newest_message_ = std::max(newest_message_, t.message);
    last_ = &t;
    Held arrived = source(t);
    if (t.addend != kNone)
      arrived.contributions = sets_.add(at(t.dst, t.addend).contributions, arrived.contributions);
    const std::size_t target = memory(t.dst, t.dst_slot);
    held_[target] = arrived;
    writer_[target] = number;
    if (job_.watched && target == memory(job_.watched->rank, job_.watched->slot)) {
      watched_.emplace_back(number, arrived);
      if (watched_.size() > kMostWrites) watched_.pop_front();
    }
    return arrived.piece;
  }

  std::vector<Write> story() const {
    std::vector<Write> writes;
    for (const auto& [number, held] : watched_)
      writes.push_back({number, held.piece, counts(held.contributions)});
    return writes;
  }
  Set wanted(const Content& c) { return sets_.run(c.first, c.count); }
  std::vector<Count> counts(Set contributions) const { return sets_.counts(contributions); }

 private:
  enum Allowed : std::uint8_t { kAbsent, kRead, kReadWrite };

  std::size_t size() const {
    return static_cast<std::size_t>(job_.ranks) * static_cast<std::size_t>(job_.slots);
  }
  std::size_t index(std::int32_t rank, std::int32_t slot) const {
    return static_cast<std::size_t>(rank) * static_cast<std::size_t>(job_.slots) +
           static_cast<std::size_t>(slot);
  }
  std::size_t memory(std::int32_t rank, std::int32_t slot) const { return memory_[index(rank, slot)]; }

  const Job& job_;
  Contributions sets_;
  std::vector<std::uint32_t> memory_;  // of a slot: the slot whose memory it is, itself if out of place
  std::vector<Held> held_;             // by memory
  std::vector<std::int32_t> writer_;   // by memory: the transfer that wrote it last
  std::vector<std::int32_t> only_;     // by memory: the one piece that may be written there, if any
  std::vector<Allowed> allowed_;
  std::unordered_map<std::uint64_t, std::int32_t> routes_;
  std::deque<std::pair<std::int32_t, Held>> watched_;  // the last transfers, and what they left
  const Transfer* last_ = nullptr;                     // the transfer before
  std::int32_t newest_message_ = kNone;
  std::int32_t message_start_ = 0;
};

// The rules.  Each holds for every transfer, at its turn; a rule may rely on those above it.
struct Check {
  Rule rule;
  bool (*holds)(const Replay&, const Transfer&);
  Place (*where)(const Transfer&);
  // Where it is about pieces: the one that is wrong, and the right one.
  std::int32_t (*got)(const Replay&, const Transfer&) = nullptr;
  std::int32_t (*want)(const Replay&, const Transfer&) = nullptr;
};

std::int32_t source_piece(const Replay& now, const Transfer& t) { return now.source(t).piece; }
std::int32_t addend_piece(const Replay& now, const Transfer& t) { return now.at(t.dst, t.addend).piece; }
std::int32_t only_piece(const Replay& now, const Transfer& t) { return now.only(t.dst, t.dst_slot); }

Place source_of(const Transfer& t) { return {t.src, t.src_slot}; }
Place target_of(const Transfer& t) { return {t.dst, t.dst_slot}; }
Place addend_of(const Transfer& t) { return {t.dst, t.addend}; }

constexpr std::array kChecks = {
    Check{{"sender exists", "src is a rank of the collective"},
          [](const Replay& now, const Transfer& t) { return now.is_rank(t.src); },
          source_of},
    Check{{"receiver exists", "dst is a rank of the collective"},
          [](const Replay& now, const Transfer& t) { return now.is_rank(t.dst); },
          target_of},
    Check{{"source exists", "src_slot is one of src's slots"},
          [](const Replay& now, const Transfer& t) { return now.exists(t.src, t.src_slot); },
          source_of},
    Check{{"target exists", "dst_slot is one of dst's slots"},
          [](const Replay& now, const Transfer& t) { return now.exists(t.dst, t.dst_slot); },
          target_of},
    Check{
        {"addend exists", "addend is none, or one of dst's slots"},
        [](const Replay& now, const Transfer& t) { return t.addend == kNone || now.exists(t.dst, t.addend); },
        addend_of},
    Check{{"input is kept", "an input is written only where the collective says that it is an output too"},
          [](const Replay& now, const Transfer& t) { return now.may_write(t.dst, t.dst_slot); },
          target_of},
    Check{{"route exists", "the topology has this route from src to dst; within a rank there is route 0"},
          [](const Replay& now, const Transfer& t) { return now.has_route(t); },
          source_of},
    Check{{"message is whole",
           "a message's transfers are adjacent and share src, dst and route; message "
           "numbers rise along the list"},
          [](const Replay& now, const Transfer& t) { return now.keeps_message_whole(t); },
          source_of},
    Check{{"message is sent at once", "no transfer reads what an earlier one of its own message writes"},
          [](const Replay& now, const Transfer& t) { return !now.reads_own_message(t); },
          source_of},
    Check{{"source is written", "src_slot holds something when it is read"},
          [](const Replay& now, const Transfer& t) { return now.source(t).piece != kNone; },
          source_of},
    Check{{"output fits", "an output is only ever written with the piece that it must end with"},
          [](const Replay& now, const Transfer& t) {
            const std::int32_t only = only_piece(now, t);
            return only == kNone || only == source_piece(now, t);
          },
          target_of,
          source_piece,
          only_piece},
    Check{{"addend is written", "addend holds something when it is read"},
          [](const Replay& now, const Transfer& t) {
            return t.addend == kNone || now.at(t.dst, t.addend).piece != kNone;
          },
          addend_of},
    Check{{"addend matches", "addend and source hold the same piece"},
          [](const Replay& now, const Transfer& t) {
            return t.addend == kNone || addend_piece(now, t) == source_piece(now, t);
          },
          addend_of,
          addend_piece,
          source_piece},
};

constexpr std::int32_t kBreath = 1 << 12;  // transfers

// The rule on what is left at the end.
constexpr Rule kResult = {
    "result is right", "each output holds its piece, to which just the right ranks contributed, once each"};

std::optional<Finding> broken_rule(const Replay& now, const Transfer& t, std::int32_t number) {
  for (std::size_t rule = 0; rule < kChecks.size(); ++rule) {
    const Check& check = kChecks[rule];
    if (check.holds(now, t)) continue;
    const Place where = check.where(t);
    return Finding{.rule = static_cast<int>(rule),
                   .transfer = number,
                   .rank = where.rank,
                   .slot = where.slot,
                   .piece_got = check.got ? check.got(now, t) : kNone,
                   .piece_want = check.want ? check.want(now, t) : kNone,
                   .got = {},
                   .want = {}};
  }
  return std::nullopt;
}

std::optional<Finding> wrong_result(Replay& now, std::span<const Content> wanted) {
  for (const Content& want : wanted) {
    const Held held = now.at(want.rank, want.slot);
    const Set contributions = now.wanted(want);
    if (held.piece == want.piece && held.contributions == contributions) continue;
    return Finding{static_cast<int>(kChecks.size()),
                   kNone,
                   want.rank,
                   want.slot,
                   held.piece,
                   want.piece,
                   now.counts(held.contributions),
                   now.counts(contributions)};
  }
  return std::nullopt;
}

}  // namespace

std::span<const Rule> rules() {
  static const auto all = [] {
    std::array<Rule, kChecks.size() + 1> list{};
    std::ranges::transform(kChecks, list.begin(), &Check::rule);
    list.back() = kResult;
    return list;
  }();
  return all;
}

Outcome verify(const Job& job, std::span<std::int32_t> pieces) {
  require_inside(job);
  Replay now(job);
  Outcome outcome;
  for (std::int32_t number = 0; const Transfer& t : job.transfers) {
    if (job.breathe && number % kBreath == 0) job.breathe();
    outcome.finding = broken_rule(now, t, number);
    if (outcome.finding) break;
    const std::int32_t piece = now.apply(t, number);
    if (!pieces.empty()) pieces[static_cast<std::size_t>(number)] = piece;
    ++number;
  }
  if (!outcome.finding) outcome.finding = wrong_result(now, job.final);
  outcome.story = now.story();
  return outcome;
}

}  // namespace weft
