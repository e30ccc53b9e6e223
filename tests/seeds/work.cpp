#include "work.hpp"

#include <algorithm>
#include <set>

namespace seeds {

namespace {

using weft::at;
using weft::kNone;

constexpr std::initializer_list<std::int64_t> kSizes = {0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 33, 50};

// Messages that often pass on what came last, and read nothing that they write themselves.
class Listed {
 public:
  Listed(Draw& draw, Work& work) : draw_(draw), work_(work), held_(work.sizes) {}

  void add_message(std::int32_t number) {
    const bool passes_on = draw_.chance(60);
    if (!passes_on) at_ = {draw_.below(work_.ranks), draw_.below(work_.slots)};
    weft::Transfer t{};
    t.src = at_.rank;
    t.dst = draw_.below(work_.ranks);
    t.route = t.src == t.dst ? 0 : draw_.below(2);
    const std::int32_t parts = draw_.one_of({1, 1, 1, 2, 3});
    t.message = parts == 1 && draw_.chance(50) ? kNone : number;
    written_.clear();
    for (std::int32_t part = 0; part < parts; ++part) {
      t.src_slot = part == 0 ? at_.slot : draw_.below(work_.slots);
      add_part(t);
    }
  }

 private:
  struct At {
    std::int32_t rank = 0, slot = 0;
  };

  void add_part(weft::Transfer t) {
    const std::size_t source = work_.place(t.src, t.src_slot);
    const std::int64_t size = held_[source];
    if (size < 0 || written_.contains(source)) return;
    t.dst_slot = draw_target(t.dst, size);
    if (t.dst_slot == kNone) return;
    t.addend = draw_.one_of({kNone, kNone, t.dst_slot, draw_.below(work_.slots)});
    if (t.addend != kNone && held_[work_.place(t.dst, t.addend)] != size) t.addend = kNone;
    work_.transfers.push_back(t);
    work_.elements.push_back(size);
    held_[work_.place(t.dst, t.dst_slot)] = size;
    written_.insert(work_.place(t.dst, t.dst_slot));
    at_ = {t.dst, t.dst_slot};
  }

  // Scratch may hold any size, a slot of the caller's only its own.
  std::int32_t draw_target(std::int32_t rank, std::int64_t size) {
    for (std::int32_t attempt = 0; attempt < 4; ++attempt) {
      const std::int32_t slot = draw_.below(work_.slots);
      if (slot >= work_.first_scratch || work_.sizes[work_.index(rank, slot)] == size) return slot;
    }
    return kNone;
  }

  Draw& draw_;
  Work& work_;
  std::vector<std::int64_t> held_;  // how much each place holds now; -1: it was never written
  std::set<std::size_t> written_;   // places, by this message
  At at_;                           // where the last part went
};

void draw_slots(Draw& draw, Work& work) {
  const std::int64_t usual = draw.one_of(kSizes), other = draw.one_of(kSizes);
  for (std::int32_t rank = 0; rank < work.ranks; ++rank) {
    std::int64_t end = 0;
    for (std::int32_t slot = 0; slot < work.slots; ++slot) {
      const bool scratch = slot >= work.first_scratch;
      const bool alias = !scratch && slot > 0 && draw.chance(30);
      if (alias) work.aliases.push_back({rank, slot, 0});
      work.places.push_back(alias ? 0 : slot);
      const std::int64_t drawn = draw.chance(70) ? usual : other;
      work.sizes.push_back(scratch ? -1 : alias ? work.sizes[work.index(rank, 0)] : drawn);
      work.offsets.push_back(alias ? 0 : end);
      if (!scratch && !alias) end += drawn + 1;
    }
  }
}

float value_of(std::size_t place, std::int64_t element) {
  const std::uint64_t bits = mixed(place << 32 | at(element) << 1 | 1);
  const float magnitude = static_cast<float>(1u << (bits >> 60));
  return (1 + static_cast<float>(bits & 0x7fffff) * 0x1p-23f) * magnitude * (bits & 1 << 23 ? 1.0f : -1.0f);
}

}  // namespace

Work draw_work(Draw& draw) {
  Work work{};
  work.ranks = draw.chance(5) ? 1 : draw.between(2, 5);
  work.first_scratch = draw.between(1, 3);
  work.slots = work.first_scratch + draw.between(0, 3);
  work.empty_too = draw.chance(30);
  draw_slots(draw, work);
  Listed listed(draw, work);
  const std::int32_t messages = draw.chance(30) ? draw.between(0, 60) : draw.between(1, 20);
  for (std::int32_t number = 0; number < messages; ++number) listed.add_message(number);
  return work;
}

std::vector<Memory> initial_memory(const Work& work) {
  std::vector<Memory> memory(at(work.ranks));
  for (std::int32_t rank = 0; rank < work.ranks; ++rank)
    for (std::int32_t slot = 0; slot < work.first_scratch; ++slot) {
      const std::size_t place = work.place(rank, slot);
      if (place != work.index(rank, slot)) continue;
      for (std::int64_t element = 0; element <= work.sizes[place]; ++element)
        memory[at(rank)].push_back(value_of(place, element));
    }
  return memory;
}

std::vector<Memory> final_memory(const Work& work) {
  std::vector<Memory> memory = initial_memory(work);
  std::vector<std::vector<float>> held(work.sizes.size());
  for (std::size_t place = 0; place < held.size(); ++place) {
    const Memory& all = memory[place / at(work.slots)];
    if (work.sizes[place] >= 0)
      held[place].assign(&all[at(work.offsets[place])], &all[at(work.offsets[place])] + work.sizes[place]);
  }
  for (const weft::Transfer& t : work.transfers) {
    std::vector<float> arrived = held[work.place(t.src, t.src_slot)];
    if (t.addend != kNone)
      std::ranges::transform(held[work.place(t.dst, t.addend)], arrived, arrived.begin(), std::plus());
    held[work.place(t.dst, t.dst_slot)] = arrived;
  }
  for (std::size_t place = 0; place < held.size(); ++place)
    if (work.sizes[place] >= 0 && weft::at(work.places[place]) == place % at(work.slots))
      std::ranges::copy(held[place], &memory[place / at(work.slots)][at(work.offsets[place])]);
  return memory;
}

}  // namespace seeds
