// Compares weft::verify with the answers in a file, and Contributions with plain maps.
//
// Exits 1 at the first disagreement.  A mutant may run wild: it gets a second, and little memory.
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "verify/verify.hpp"

int active_mutant = 0;  // of those in this program; 0 is the original

namespace {

using weft::Contributions;
using weft::Count;
using Set = Contributions::Set;
using Number = std::int32_t;

void require(bool agrees, const char* what, std::size_t number = 0) {
  if (agrees) return;
  std::fprintf(stderr, "%s, %zu\n", what, number);
  std::exit(1);
}

bool same(std::span<const Count> a, std::span<const Count> b) {
  return std::ranges::equal(a, b, [](Count x, Count y) { return x.rank == y.rank && x.times == y.times; });
}

// A file of numbers.  A table is the number of its rows, then the rows.
class Reader {
 public:
  explicit Reader(const char* path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    numbers_.resize(static_cast<std::size_t>(file.tellg()) / sizeof(Number));
    file.seekg(0).read(reinterpret_cast<char*>(numbers_.data()), std::ssize(numbers_) * sizeof(Number));
    require(file && !numbers_.empty(), "the file cannot be read");
  }
  bool more() const { return next_ < numbers_.size(); }
  Number number() { return numbers_.at(next_++); }
  template <typename Row>
  std::span<const Row> table() {
    const auto rows = static_cast<std::size_t>(number());
    const Number* start = &numbers_.at(next_ - 1) + 1;
    next_ += rows * (sizeof(Row) / sizeof(Number));
    return {reinterpret_cast<const Row*>(start), rows};
  }
  template <typename Row>
  std::optional<Row> maybe() {
    const auto row = table<Row>();
    return row.empty() ? std::nullopt : std::optional<Row>(row[0]);
  }

 private:
  std::vector<Number> numbers_;
  std::size_t next_ = 0;
};

struct Answer {
  Number rule, transfer, rank, slot, piece_got, piece_want;
};

weft::Job read_job(Reader& in) {
  weft::Job job{};
  job.ranks = in.number();
  job.slots = in.number();
  job.first_scratch = in.number();
  job.heard_is_enough = in.number() != 0;
  job.transfers = in.table<weft::Transfer>();
  job.initial = in.table<weft::Content>();
  job.final = in.table<weft::Content>();
  job.aliases = in.table<weft::Alias>();
  if (in.number()) job.ways = in.table<weft::Ways>();
  job.watched = in.maybe<weft::Place>();
  return job;
}

bool same_finding(const std::optional<weft::Finding>& finding, Reader& in) {
  const auto answer = in.maybe<Answer>();
  const auto got = in.table<Count>(), want = in.table<Count>();
  if (!finding || !answer) return !finding && !answer;
  return finding->rule == answer->rule && finding->transfer == answer->transfer &&
         finding->rank == answer->rank && finding->slot == answer->slot &&
         finding->piece_got == answer->piece_got && finding->piece_want == answer->piece_want &&
         same(finding->got, got) && same(finding->want, want);
}

bool same_story(const std::vector<weft::Write>& story, Reader& in) {
  bool agrees = in.number() == static_cast<Number>(story.size());
  for (std::size_t write = 0; agrees && write < story.size(); ++write) {
    agrees = story[write].transfer == in.number() && story[write].piece == in.number();
    agrees = agrees && same(story[write].counts, in.table<Count>());
  }
  return agrees;
}

void check_jobs(Reader& in) {
  for (std::size_t number = 0; in.more(); ++number) {
    const weft::Job job = read_job(in);
    const Number unset = in.number();
    const auto moved = in.table<Number>();
    std::vector<Number> pieces(moved.size(), unset);
    const weft::Outcome outcome = weft::verify(job, pieces);
    require(same_finding(outcome.finding, in), "another finding", number);
    require(std::ranges::equal(pieces, moved), "other pieces", number);
    require(same_story(outcome.story, in), "another story", number);
  }
}

void check_rules(Number count) {
  const auto rules = weft::rules();
  require(rules.size() == static_cast<std::size_t>(count), "the number of rules");
  for (const weft::Rule& rule : rules) require(rule.name && rule.promise, "a rule without words");
  require(rules.front().name == std::string_view("sender exists"), "the first rule");
  require(rules.back().name == std::string_view("result is right"), "the last rule");
}

// A small sound job, to be made unsound.
struct Tables {
  Number ranks = 2, slots = 3, first_scratch = 1;
  std::vector<weft::Transfer> transfers;
  std::vector<weft::Content> initial{{1, 0, 0, 1, 1}}, final{{1, 0, 0, 1, 1}};
  std::vector<weft::Alias> aliases{{1, 2, 0}};
  std::optional<weft::Place> watched{{1, 2}};

  weft::Job job() const {
    return {ranks, slots, first_scratch, false, transfers, initial, final, aliases, {}, watched};
  }
};

bool refused(const weft::Job& job) {
  try {
    weft::verify(job, {});
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

bool refused(const std::function<void(Tables&)>& change) {
  Tables tables;
  change(tables);
  return refused(tables.job());
}

constexpr auto nothing_within = [](Tables& t) {
  t.initial = t.final = {};
  t.aliases = {};
  t.watched = {};
};

void check_sizes() {
  require(!refused([](Tables&) {}), "sound");
  require(!refused([](Tables& t) { nothing_within(t), t.slots = t.first_scratch = 0; }), "no slots");
  require(!refused([](Tables& t) { t.first_scratch = 0; }), "all scratch");
  require(!refused([](Tables& t) { t.first_scratch = 3; }), "no scratch");
  require(refused([](Tables& t) { t.first_scratch = -1; }), "scratch below");
  require(refused([](Tables& t) { t.first_scratch = 4; }), "scratch above");
  require(refused([](Tables& t) { nothing_within(t), t.ranks = 0; }), "no ranks");
  require(!refused([](Tables& t) { nothing_within(t), t.ranks = 1; }), "one rank");
  require(!refused([](Tables& t) { nothing_within(t), t.slots = 1; }), "one slot");
}

// As many transfers as numbers can count, though only the first, which is wrong, is in memory.
void check_length() {
  const weft::Transfer wrong{-1, 0, 0, 0, -1, -1, 0};
  const Tables tables;
  weft::Job job = tables.job();
  job.transfers = {&wrong, std::size_t{INT32_MAX}};
  require(!refused(job), "very long");
  job.transfers = {&wrong, std::size_t{INT32_MAX} + 1};
  require(refused(job), "too long");
}

void check_contents(std::vector<weft::Content> Tables::* which) {
  const std::pair<weft::Content, bool> cases[] = {
      {{0, 0, 0, 0, 2}, true},   {{0, 2, 0, 2, 0}, true},   {{1, 1, 0, 0, 0}, true},
      {{-1, 0, 0, 0, 1}, false}, {{2, 0, 0, 0, 1}, false},  {{0, -1, 0, 0, 1}, false},
      {{0, 3, 0, 0, 1}, false},  {{1, 3, 0, 0, 1}, false},  {{1, -1, 0, 0, 1}, false},
      {{0, 0, 0, -1, 1}, false}, {{0, 0, 0, 0, -1}, false}, {{0, 0, 0, 0, 3}, false},
      {{0, 0, 0, 1, 2}, false},  {{0, 0, 0, 2, 1}, false},
  };
  for (const auto& [content, sound] : cases)
    require(refused([&](Tables& t) { t.*which = {content, {1, 0, 0, 1, 1}}; }) != sound, "a content");
}

void check_places() {
  const std::pair<weft::Alias, bool> cases[] = {
      {{0, 0, 2}, true},   {{1, 1, 1}, true},  {{-1, 0, 0}, false}, {{2, 0, 0}, false},
      {{0, -1, 0}, false}, {{0, 3, 0}, false}, {{0, 0, -1}, false}, {{0, 0, 3}, false},
  };
  for (const auto& [alias, sound] : cases) {
    require(refused([&](Tables& t) { t.aliases = {alias, {1, 2, 0}}; }) != sound, "an alias");
    const weft::Place place{alias.rank, alias.slot};
    const bool inside = sound || alias.place != 0;
    require(refused([&](Tables& t) { t.watched = place; }) != inside, "a watched place");
  }
}

// In place, an output may start as another piece, with the right contributions.
void check_pieces() {
  for (const Number want : {0, 2}) {
    Tables tables;
    tables.initial = {{1, 0, 1, 1, 1}};
    tables.final = {{1, 2, want, 1, 1}};
    const auto finding = weft::verify(tables.job(), {}).finding;
    require(finding && finding->piece_got == 1 && finding->piece_want == want, "another piece");
  }
}

int breaths = 0;

// It draws breath before the first transfer, and again 4,096 transfers later.
void check_breaths() {
  const std::vector<weft::Transfer> many((1 << 12) + 1, weft::Transfer{1, 1, 0, 2, -1, -1, 0});
  const Tables tables;
  weft::Job job = tables.job();
  job.transfers = many;
  job.breathe = [] { ++breaths; };
  require(!weft::verify(job, {}).finding && breaths == 2, "breaths");
}

using Model = std::map<Number, std::int64_t>;

// Sets beside the maps that they stand for.
class Twins {
 public:
  Twins(Number ranks, Number most_times) : ranks_(ranks), most_times_(most_times), sets_(ranks, most_times) {}

  void check(std::size_t steps) {
    keep(sets_.none(), {});
    while (known_.size() < steps) random_() % 4 ? add(any(), any()) : run();
  }
  void add(std::size_t a, std::size_t b) {
    Model sum = known_[a].second;
    for (const auto& [rank, times] : known_[b].second)
      sum[rank] = std::min<std::int64_t>(sum[rank] + times, most_times_);
    keep(sets_.add(known_[a].first, known_[b].first), std::move(sum));
  }
  void run() {
    const Number first = static_cast<Number>(random_() % static_cast<unsigned>(ranks_));
    const Number count = static_cast<Number>(random_() % static_cast<unsigned>(ranks_ - first + 1));
    Model ones;
    for (Number rank = first; rank < first + count; ++rank) ones[rank] = 1;
    keep(sets_.run(first, count), std::move(ones));
  }

 private:
  std::size_t any() { return random_() % known_.size(); }
  void keep(Set set, Model model) {
    std::vector<Count> counts;
    for (const auto& [rank, times] : model) counts.push_back({rank, static_cast<Number>(times)});
    require(same(sets_.counts(set), counts), "counts", known_.size());
    require(numbers_.try_emplace(model, set).first->second == set, "equal sets, two numbers", known_.size());
    known_.emplace_back(set, std::move(model));
  }

  Number ranks_, most_times_;
  Contributions sets_;
  std::mt19937 random_;
  std::vector<std::pair<Set, Model>> known_;
  std::map<Model, Set> numbers_;
};

// Of two ranks, each set that is not the same for both takes one node, and one node is never used.
void check_limit() {
  Contributions sets(2, Contributions::kMostTimes, 8);
  Set sum = sets.none();
  for (Number times = 1; times <= 7; ++times) sum = sets.add(sum, sets.run(0, 1));
  require(same(sets.counts(sum), std::vector<Count>{{0, 7}}), "as many as allowed");
  try {
    sets.run(1, 1);
  } catch (const weft::TooManySums&) {
    require(same(sets.counts(sets.run(0, 2)), std::vector<Count>{{0, 1}, {1, 1}}), "after too many");
    return;
  }
  require(false, "one too many");
}

// Ranks that are all alike take none.
void check_alike() {
  for (const Number ranks : {1, 2, 64}) {
    Contributions sets(ranks, Contributions::kMostTimes, 1);
    const Set twice = sets.add(sets.run(0, ranks), sets.run(0, ranks));
    require(sets.counts(twice).size() == static_cast<std::size_t>(ranks), "alike");
  }
}

// Sums of a set with many others, so often that some share a place among the recent ones.
void check_recent() {
  Contributions sets(2);
  const Set one = sets.run(1, 1);
  Set many = sets.none();
  for (Number times = 1; times < 30000; ++times) {
    many = sets.add(many, sets.run(0, 1));
    require(same(sets.counts(sets.add(one, many)), std::vector<Count>{{0, times}, {1, 1}}), "a recent sum");
    require(same(sets.counts(sets.add(one, one)), std::vector<Count>{{1, 2}}), "a recent double");
  }
}

void check_contributions() {
  for (const Number ranks : {1, 2, 3, 5, 8, 21, 64, 70})
    for (const Number most_times : {1, 3, Contributions::kMostTimes}) Twins(ranks, most_times).check(150);
  Twins(70, Contributions::kMostTimes).check(1500);
  check_limit();
  check_alike();
  check_recent();
}

void limit(decltype(RLIMIT_CPU) resource, rlim_t most) {
  const rlimit limits{most, most};
  setrlimit(resource, &limits);
}

}  // namespace

int main(int count, char** arguments) {
  limit(RLIMIT_CPU, 1);
  limit(RLIMIT_AS, rlim_t{1} << 30);
  limit(RLIMIT_CORE, 0);
  if (count > 2) active_mutant = std::atoi(arguments[2]);
  Reader in(arguments[1]);
  check_rules(in.number());
  check_sizes();
  check_length();
  check_contents(&Tables::initial);
  check_contents(&Tables::final);
  check_places();
  check_pieces();
  check_jobs(in);
  check_contributions();
  check_breaths();
}
