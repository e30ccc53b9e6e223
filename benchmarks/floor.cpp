// What the runtime is measured against: the same exchanges between two ranks that share memory, written
// by hand; and the engine's own steps, without any wire.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "engine/engine.hpp"

namespace {

using Clock = std::chrono::steady_clock;

struct alignas(64) Flag {
  std::atomic<std::uint64_t> value;
};

constexpr std::int64_t kChunk = 1 << 16;  // floats
constexpr std::uint64_t kPlaces = 4;

// Chunks from one rank to the other; the sender writes all but `freed`.
struct Lane {
  Flag filled, freed;
  alignas(64) float chunks[kPlaces][kChunk];
};

struct Side {
  Flag told;
  Lane raw, sums;
};

void wait_for(const Flag& flag, std::uint64_t least) {
  while (flag.value.load(std::memory_order_acquire) < least) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

void send(Lane& lane, const float* source, std::int64_t count) {
  const std::uint64_t number = lane.filled.value.load(std::memory_order_relaxed);
  if (number >= kPlaces) wait_for(lane.freed, number - kPlaces + 1);
  std::memcpy(lane.chunks[number % kPlaces], source, static_cast<std::size_t>(count) * sizeof(float));
  lane.filled.value.store(number + 1, std::memory_order_release);
}

const float* receive(Lane& lane) {
  const std::uint64_t number = lane.freed.value.load(std::memory_order_relaxed);
  wait_for(lane.filled, number + 1);
  return lane.chunks[number % kPlaces];
}

void give_back(Lane& lane) { lane.freed.value.fetch_add(1, std::memory_order_release); }

#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
void add(float* target, const float* left,
                                                                      const float* right,
                                                                      std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) target[i] = left[i] + right[i];
}

double per(std::int64_t times, Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(times);
}

}  // namespace

extern "C" {

std::int64_t bytes_to_share() { return 2 * sizeof(Side); }

// Both ranks tell each other a number and wait for the other's; seconds for each time.
double exchange_flags(Side* sides, int rank, std::int64_t times) {
  Flag& mine = sides[rank].told;
  const std::uint64_t base = mine.value.load();
  const auto start = Clock::now();
  for (std::uint64_t number = base + 1; number <= base + static_cast<std::uint64_t>(times); ++number) {
    mine.value.store(number, std::memory_order_release);
    wait_for(sides[1 - rank].told, number);
  }
  return per(times, start);
}

// The ring allreduce of two ranks: each sends one half as it is, and the sum of the other half.
double sum_over_two(Side* sides, int rank, const float* in, float* out, std::int64_t count) {
  Side &mine = sides[rank], &other = sides[1 - rank];
  const std::int64_t half = count / 2, chunks = (half + kChunk - 1) / kChunk;
  const std::int64_t given = rank == 0 ? 0 : half, kept = half - given;
  const auto start = Clock::now();
  for (std::int64_t chunk = -1; chunk < chunks; ++chunk) {
    const std::int64_t begin = chunk * kChunk, next = begin + kChunk;
    if (next < half) send(mine.raw, in + given + next, std::min(kChunk, half - next));
    if (chunk < 0) continue;
    const std::int64_t size = std::min(kChunk, half - begin);
    float* sum = out + kept + begin;
    add(sum, in + kept + begin, receive(other.raw), size);
    give_back(other.raw);
    send(mine.sums, sum, size);
    std::memcpy(out + given + begin, receive(other.sums), static_cast<std::size_t>(size) * sizeof(float));
    give_back(other.sums);
  }
  return per(1, start);
}

// A ring allreduce over `ranks` engines in one thread: whatever one sends has arrived at once.
// Seconds for each message.
double step_engines(std::int32_t ranks, std::int64_t times) {
  std::vector<weft::Transfer> transfers;
  for (std::int32_t step = 0; step < 2 * (ranks - 1); ++step)
    for (std::int32_t r = 0; r < ranks; ++r) {
      const std::int32_t slot = ((r - step) % ranks + ranks) % ranks;
      transfers.push_back({r, (r + 1) % ranks, slot, slot, step < ranks - 1 ? slot : -1, -1, 0});
    }
  const std::vector<std::int64_t> elements(transfers.size(), 1);
  const weft::Plan plan = weft::lower(
      {.ranks = ranks, .slots = ranks, .first_scratch = ranks, .transfers = transfers, .elements = elements});
  std::vector<weft::Engine> engines;
  for (const weft::Program& program : plan.programs) engines.emplace_back(program, 1, 4);
  std::vector<weft::Instruction> instructions;
  const auto start = Clock::now();
  for (std::int64_t time = 0; time < times; ++time) {
    for (weft::Engine& engine : engines) engine.start();
    for (bool busy = true; busy;) {
      busy = false;
      for (const weft::Program& program : plan.programs) {
        instructions.clear();
        weft::Engine& engine = engines[weft::at(program.rank)];
        engine.poll(instructions);
        for (const weft::Instruction& i : instructions) {
          const weft::Operation& about = program.operations[weft::at(i.operation)];
          const weft::Message& message = plan.messages[weft::at(about.message)];
          const weft::Connection& way = plan.connections[weft::at(message.connection)];
          busy = true;
          if (about.kind == weft::Kind::kSend)
            engines[weft::at(way.dst)].arrived(about.counterpart, way.incoming);
          else
            engines[weft::at(way.src)].credited(way.outgoing);
          engine.ended(i);
        }
      }
    }
  }
  return per(times * static_cast<std::int64_t>(plan.messages.size()), start);
}
}
