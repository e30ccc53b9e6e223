// Ranks that are threads, or processes, of a test: they run schedules over one shared memory, all of
// their way or so many steps of it, and compare what they end with with the same done one at a time.
//
// wire run|leave|kill < cases      exit 0: all as it should be
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "transport/call.hpp"

namespace {

using weft::at;
using Floats = std::vector<float>;
using Memories = std::vector<Floats>;  // by slot

constexpr std::int32_t kToTheEnd = -1;
constexpr std::uint32_t kDigest = 1;
constexpr auto kDeadline = std::chrono::seconds(60);

struct Given {
  std::int32_t rank, slot, place;
  std::int64_t elements;
};

struct Case {
  std::string name;
  std::int32_t ranks, slots, first_scratch, empty_too, window, segments;
  std::int64_t segment_bytes, times;
  std::vector<weft::Transfer> transfers;
  std::vector<std::int64_t> elements;
  std::vector<weft::Alias> aliases;
  std::vector<Given> given;  // what is no scratch

  weft::Listing listing() const {
    return {ranks, slots, first_scratch, transfers, aliases, elements, empty_too != 0};
  }
};

bool read(Case& c) {
  std::size_t transfers, aliases, given;
  if (!(std::cin >> c.name >> c.ranks >> c.slots >> c.first_scratch >> c.empty_too >> c.window >>
        c.segments >> c.segment_bytes >> c.times >> transfers >> aliases >> given))
    return false;
  c.transfers.resize(transfers);
  c.elements.resize(transfers);
  for (std::size_t n = 0; n < transfers; ++n) {
    weft::Transfer& t = c.transfers[n];
    std::cin >> t.src >> t.dst >> t.src_slot >> t.dst_slot >> t.addend >> t.message >> t.route >>
        c.elements[n];
  }
  c.aliases.resize(aliases);
  for (weft::Alias& a : c.aliases) std::cin >> a.rank >> a.slot >> a.place;
  c.given.resize(given);
  for (Given& g : c.given) std::cin >> g.rank >> g.slot >> g.place >> g.elements;
  return bool(std::cin);
}

// What the slots of all ranks hold at first: every element says whose it is.
std::vector<Memories> beginning(const Case& c) {
  std::vector<Memories> all(at(c.ranks), Memories(at(c.slots)));
  for (const Given& g : c.given) {
    Floats& memory = all[at(g.rank)][at(g.place)];
    memory.resize(at(g.elements));
    for (std::size_t i = 0; i < memory.size(); ++i)
      memory[i] = static_cast<float>(g.rank * 100'003 + g.place * 1'009 + static_cast<int>(i % 997) + 1);
  }
  return all;
}

// The meaning of a schedule: one transfer at a time.
std::vector<Memories> end(const Case& c) {
  std::vector<Memories> all = beginning(c);
  std::vector<std::vector<std::int32_t>> places(at(c.ranks), std::vector<std::int32_t>(at(c.slots)));
  for (auto& row : places)
    for (std::int32_t slot = 0; slot < c.slots; ++slot) row[at(slot)] = slot;
  for (const Given& g : c.given) places[at(g.rank)][at(g.slot)] = g.place;
  const auto memory = [&](std::int32_t rank, std::int32_t slot) -> Floats& {
    return all[at(rank)][at(places[at(rank)][at(slot)])];
  };
  for (std::int64_t run = 0; run < c.times; ++run)
    for (std::size_t n = 0; n < c.transfers.size(); ++n) {
      const weft::Transfer& t = c.transfers[n];
      Floats moved(memory(t.src, t.src_slot).begin(), memory(t.src, t.src_slot).begin() + c.elements[n]);
      for (std::size_t i = 0; t.addend != weft::kNone && i < moved.size(); ++i)
        moved[i] = memory(t.dst, t.addend)[i] + moved[i];
      memory(t.dst, t.dst_slot) = moved;
    }
  return all;
}

[[noreturn]] void fail(const Case& c, std::int32_t rank, const std::string& what) {
  std::fprintf(stderr, "%s, rank %d: %s\n", c.name.c_str(), rank, what.c_str());
  std::_Exit(1);
}

// One rank of a case; `most` is how many steps it does before it goes.
class Rank {
 public:
  Rank(const Case& c, std::shared_ptr<const weft::SharedMemory> memory, std::int32_t rank)
      : case_(c), rank_(rank), slots_(beginning(c)[at(rank)]), group_(std::move(memory), rank) {}

  // False: it has done so many steps before the end, and is to go.
  bool run(std::int32_t most, const std::vector<Memories>& want) {
    weft::Call call(group_, weft::lower(case_.listing(), rank_), case_.transfers, memory(), case_.segments,
                    kDigest);
    if (most == 0) return false;
    call.start(case_.times);
    for (std::int32_t step = 1; most != kToTheEnd && call.running();) {
      if (step == most) return false;
      if (call.progress())
        ++step;
      else
        sched_yield();
    }
    if (!call.running() || call.wait(kDeadline, [] {}))
      compare(want[at(rank_)]);
    else
      check(*call.failure(), call.transfer_of(call.failure()->operation));
    return true;
  }

 private:
  std::vector<weft::Slot> memory() {
    std::vector<weft::Slot> out(at(case_.slots));
    for (const Given& g : case_.given)
      if (g.rank == rank_) out[at(g.slot)] = {slots_[at(g.place)].data(), g.elements};
    return out;
  }

  void compare(const Memories& want) const {
    for (const Given& g : case_.given) {
      if (g.rank != rank_) continue;
      const Floats &got = slots_[at(g.place)], &right = want[at(g.place)];
      if (g.elements > 0 && std::memcmp(got.data(), right.data(), at(g.elements) * sizeof(float)) != 0)
        fail(case_, rank_, "slot " + std::to_string(g.slot) + " is wrong");
    }
  }

  // What is said of a failure is a transfer between this rank and the one that it blames.
  void check(const weft::Failure& failure, std::int32_t transfer) const {
    const weft::Transfer& t = case_.transfers.at(at(transfer));
    const std::int32_t other = t.src == rank_ ? t.dst : t.src;
    if (failure.reason != weft::Reason::kPeerGone) fail(case_, rank_, "nobody has gone");
    if (failure.peer != other || failure.peer == rank_ || (t.src != rank_ && t.dst != rank_))
      fail(case_, rank_, "blames rank " + std::to_string(failure.peer));
    if (failure.segment < 0 || failure.segment >= case_.segments) fail(case_, rank_, "no such segment");
  }

  const Case& case_;
  const std::int32_t rank_;
  Memories slots_;
  weft::Group group_;
};

struct Memory {
  explicit Memory(const Case& c) {
    const weft::Shape shape{c.ranks, c.window, c.segment_bytes};
    const int descriptor = weft::SharedMemory::create(shape);
    shared = std::make_shared<weft::SharedMemory>(descriptor, shape);
    close(descriptor);
  }
  std::shared_ptr<const weft::SharedMemory> shared;
};

// Whether the rank that goes had reached its end before.
bool as_threads(const Case& c, std::int32_t goes, std::int32_t most) {
  const Memory memory(c);
  const std::vector<Memories> want = end(c);
  bool finished = false;
  std::vector<std::thread> threads;
  for (std::int32_t rank = 0; rank < c.ranks; ++rank)
    threads.emplace_back([&, rank] {
      const bool whole = Rank(c, memory.shared, rank).run(rank == goes ? most : kToTheEnd, want);
      if (rank == goes) finished = whole;
    });
  for (std::thread& thread : threads) thread.join();
  return finished;
}

bool as_processes(const Case& c, std::int32_t goes, std::int32_t most) {
  const Memory memory(c);
  const std::vector<Memories> want = end(c);
  std::vector<pid_t> processes;
  for (std::int32_t rank = 0; rank < c.ranks; ++rank) {
    processes.push_back(fork());
    if (processes.back() != 0) continue;
    if (!Rank(c, memory.shared, rank).run(rank == goes ? most : kToTheEnd, want)) raise(SIGKILL);
    std::_Exit(0);
  }
  bool finished = false;
  for (std::int32_t rank = 0; rank < c.ranks; ++rank) {
    int status = 0;
    waitpid(processes[at(rank)], &status, 0);
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (rank == goes) finished = !killed;
    if (!(killed && rank == goes) && status != 0) fail(c, rank, "ended with " + std::to_string(status));
  }
  return finished;
}

}  // namespace

int main(int, char** arguments) {
  const std::string how = arguments[1];
  const auto run = how == "kill" ? as_processes : as_threads;
  std::int64_t runs = 0;
  for (Case c; read(c);) {
    if (how == "run") as_threads(c, weft::kNone, kToTheEnd);
    for (std::int32_t goes = 0; how != "run" && goes < c.ranks; ++goes)
      for (std::int32_t most = 0; !run(c, goes, most); ++most) ++runs;
    ++runs;
  }
  std::printf("%lld runs\n", static_cast<long long>(runs));
}
