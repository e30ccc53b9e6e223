// Bytes as tables of the core.  Most bytes give a number in range, so that much is right by chance;
// the highest sixteen give one of the numbers that code gets wrong.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "simulate/machine.hpp"
#include "verify/verify.hpp"

namespace fuzz {

// What a file can say, and how it is run.
struct Input {
  weft::Job job{};  // it looks at the tables below
  std::vector<weft::Content> initial, final;
  std::vector<weft::Alias> aliases;
  std::vector<weft::Ways> ways;
  std::vector<weft::Transfer> transfers;

  std::array<std::int64_t, 4> sizes{};  // of the pieces, in turn
  std::int32_t segments = 1, window = 1;
  weft::Overheads overheads;
  weft::Path path{};  // of every connection, but for its end
  std::int64_t rate = 0;
  weft::Picoseconds deadline = weft::kNever;
};

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  Input read() {
    Input input;
    weft::Job& job = input.job;
    job.ranks = 1 + byte() % 8;
    job.first_scratch = byte() % 64;
    job.slots = job.first_scratch + byte() % 16;
    const std::int32_t flags = byte();
    job.heard_is_enough = flags & 1;
    if (flags & 2) job.watched = {number(job.ranks), number(job.slots)};
    input.path.by_processor = flags >> 2 & 1;
    read_run(input);
    if (flags & 16) input.deadline = kTimes[weft::at(byte() % 8)];
    const std::int32_t counts[] = {byte(), byte(), byte(), byte()};
    for (std::int32_t row = 0; row < counts[0]; ++row) input.initial.push_back(content(job));
    for (std::int32_t row = 0; row < counts[1]; ++row) input.final.push_back(content(job));
    for (std::int32_t row = 0; row < counts[2]; ++row)
      input.aliases.push_back({number(job.ranks), number(job.slots), number(job.slots)});
    for (std::int32_t row = 0; row < counts[3]; ++row)
      input.ways.push_back({number(job.ranks), number(job.ranks), number(4)});
    while (!bytes_.empty() && input.transfers.size() < kMostTransfers)
      input.transfers.push_back(transfer(job));
    job.initial = input.initial;
    job.final = input.final;
    job.aliases = input.aliases;
    job.transfers = input.transfers;
    if (flags & 8) job.ways = input.ways;
    return input;
  }

 private:
  static constexpr std::size_t kMostTransfers = 256;
  static constexpr std::array<std::int64_t, 8> kTimes = {0, 1, 2, 15, 1000, 7, 1'000'000'000, weft::kLatest};
  static constexpr std::int64_t kMostSize = std::int64_t{1} << 50;  // of a simulated block

  std::int32_t byte() {
    if (bytes_.empty()) return 0;
    const std::uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }

  // Below `end`, or wild.
  std::int32_t number(std::int32_t end) {
    const std::int32_t wild[] = {INT32_MIN, INT32_MIN + 1, -65536,        -2,       -1,  end - 1,
                                 end,       end + 1,       2 * end,       127,      128, 255,
                                 65536,     1 << 24,       INT32_MAX - 1, INT32_MAX};
    const std::int32_t b = byte();
    if (b >= 240) return wild[b - 240];
    return end > 0 ? b % end : b;
  }

  void read_run(Input& input) {
    constexpr std::array<std::int64_t, 8> kSizes = {0, 1, 7, 16, 1000, 0, 65537, kMostSize};
    constexpr std::array<std::int64_t, 8> kRates = {0, 1, 1000,     999'999'937, 1'000'000'000'000,
                                                    3, 7, INT64_MAX};
    input.segments = 1 + byte() % 7;
    input.window = 1 + byte() % 4;
    for (std::int64_t& size : input.sizes) size = kSizes[weft::at(byte() % 8)];
    input.overheads = {kTimes[weft::at(byte() % 8)], kTimes[weft::at(byte() % 8)],
                       kRates[weft::at(byte() % 8)], kRates[weft::at(byte() % 8)]};
    input.path.latency = kTimes[weft::at(byte() % 8)];
    input.rate = kRates[weft::at(1 + byte() % 7)];
  }

  weft::Content content(const weft::Job& job) {
    return {number(job.ranks), number(job.slots), number(64), number(job.ranks), number(job.ranks + 1)};
  }

  weft::Transfer transfer(const weft::Job& job) {
    weft::Transfer t{};
    t.src = number(job.ranks);
    t.dst = number(job.ranks);
    t.src_slot = number(job.slots);
    t.dst_slot = number(job.slots);
    t.addend = number(job.slots + 1);
    if (t.addend == job.slots) t.addend = weft::kNone;
    t.message = message();
    t.route = number(4);
    return t;
  }

  // None, the one before, one of the next; or wild.
  std::int32_t message() {
    const std::int32_t b = number(8);
    if (b < 0 || b >= 8) return b;
    if (b == 0) return weft::kNone;
    return message_ += b - 1;
  }

  std::span<const std::uint8_t> bytes_;
  std::int32_t message_ = 0;
};

}  // namespace fuzz
