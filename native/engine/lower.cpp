#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "engine/program.hpp"

namespace weft {

namespace {

std::int32_t size_of(const auto& list) { return static_cast<std::int32_t>(list.size()); }

// The messages, and which operation each is on either side.
void find_messages(const Listing& listing, Plan& plan) {
  std::int32_t last = kNone;
  for (std::int32_t number = 0; const Transfer& t : listing.transfers) {
    const std::int64_t elements = listing.elements[at(number)];
    if (elements > 0 || listing.empty_too) {
      if (t.message == kNone || t.message != last)
        plan.messages.push_back({kNone, t.src, t.dst, size_of(plan.parts), 0, kNone, kNone});
      plan.parts.push_back({elements, number, t.addend != kNone});
      ++plan.messages.back().count;
      last = t.message;
    }
    ++number;
  }
  std::vector<std::int32_t> operations(at(listing.ranks));
  for (Message& m : plan.messages) {
    m.sent_as = operations[at(m.src)]++;
    m.received_as = m.src == m.dst ? m.sent_as : operations[at(m.dst)]++;
  }
}

void find_connections(const Listing& listing, Plan& plan) {
  std::unordered_map<std::uint64_t, std::vector<std::int32_t>> between;  // the routes used so far
  std::vector<std::int32_t> outgoing(at(listing.ranks)), incoming(at(listing.ranks));
  for (Message& m : plan.messages) {
    if (m.src == m.dst) continue;
    const std::int32_t route = listing.transfers[at(plan.parts[at(m.first)].transfer)].route;
    auto& known =
        between[std::uint64_t{static_cast<std::uint32_t>(m.src)} << 32 | static_cast<std::uint32_t>(m.dst)];
    const auto found =
        std::ranges::find(known, route, [&](std::int32_t c) { return plan.connections[at(c)].route; });
    if (found != known.end()) {
      m.connection = *found;
      continue;
    }
    m.connection = size_of(plan.connections);
    known.push_back(m.connection);
    plan.connections.push_back({m.src, m.dst, route, outgoing[at(m.src)]++, incoming[at(m.dst)]++});
  }
}

// What a place in memory holds while one rank's operations are gone through.
struct Content {
  std::int32_t writer = kNone;        // the operation that wrote it last
  std::int32_t first_reader = kNone;  // of those since, in Lowering::readers_
  bool alone = false;                 // it is all that its writer wrote
};

struct Reader {
  std::int32_t operation;
  bool moves_on;  // it takes the content to another place, and does nothing else
  std::int32_t next;
};

class Lowering {
 public:
  Lowering(const Listing& listing, const Plan& plan, std::int32_t rank, std::span<const Alias> aliases)
      : listing_(listing), plan_(plan), rank_(rank), place_(at(listing.slots)), held_(at(listing.slots)) {
    std::iota(place_.begin(), place_.end(), 0);
    for (const Alias& a : aliases) place_[at(a.slot)] = a.place;
    program_.rank = rank;
  }

  void add(std::int32_t number) {
    const Message& m = plan_.messages[at(number)];
    if (m.src == rank_) add_operation(number, m.src == m.dst ? Kind::kLocal : Kind::kSend);
    if (m.dst == rank_ && m.src != m.dst) add_operation(number, Kind::kReceive);
  }

  Program finish() {
    for (std::int32_t slot = listing_.first_scratch; slot < listing_.slots; ++slot) end_content(slot, kNone);
    program_.needed_by = program_.needs.turned(size_of(program_.operations));
    list_sends();
    return std::move(program_);
  }

 private:
  void add_operation(std::int32_t number, Kind kind) {
    const Message& m = plan_.messages[at(number)];
    const std::int32_t operation = size_of(program_.operations);
    const auto parts = std::span(plan_.parts).subspan(at(m.first), at(m.count));
    needs_.clear();
    for (const Part& part : parts) find_needs(transfer(part), kind);
    std::ranges::sort(needs_);
    needs_.erase(std::unique(needs_.begin(), needs_.end()), needs_.end());
    program_.needs.add_row(needs_);
    const bool sends = kind == Kind::kSend;
    program_.operations.push_back({kind, number, way(m, kind), sends ? m.received_as : m.sent_as});
    for (const Part& part : parts) remember_reads(transfer(part), kind, operation, m.count);
    if (sends) return;
    for (const Part& part : parts) remember_write(transfer(part), operation, m.count);
  }

  const Transfer& transfer(const Part& part) const { return listing_.transfers[at(part.transfer)]; }

  // The number of a message's connection among this rank's ways; a new one is the next.
  std::int32_t way(const Message& m, Kind kind) {
    if (kind == Kind::kLocal) return kNone;
    const Connection& c = plan_.connections[at(m.connection)];
    const std::int32_t number = kind == Kind::kSend ? c.outgoing : c.incoming;
    auto& ways = kind == Kind::kSend ? program_.outgoing : program_.incoming;
    if (number == size_of(ways)) ways.push_back({m.connection, kind == Kind::kSend ? c.dst : c.src});
    return number;
  }

  void find_needs(const Transfer& t, Kind kind) {
    if (kind != Kind::kReceive) need_writer(t.src_slot);
    if (kind == Kind::kSend) return;
    if (t.addend != kNone) need_writer(t.addend);
    const Content& target = held_[at(place_[at(t.dst_slot)])];
    if (target.first_reader == kNone) need_writer(t.dst_slot);  // else its readers have waited for it
    for (std::int32_t r = target.first_reader; r != kNone; r = readers_[at(r)].next)
      needs_.push_back(readers_[at(r)].operation);
  }

  void need_writer(std::int32_t slot) {
    if (const std::int32_t writer = held_[at(place_[at(slot)])].writer; writer != kNone)
      needs_.push_back(writer);
  }

  void remember_reads(const Transfer& t, Kind kind, std::int32_t operation, std::int32_t count) {
    if (kind != Kind::kReceive) add_reader(t.src_slot, {operation, count == 1, kNone});
    if (kind != Kind::kSend && t.addend != kNone) add_reader(t.addend, {operation, false, kNone});
  }

  void add_reader(std::int32_t slot, Reader reader) {
    std::int32_t& first = held_[at(place_[at(slot)])].first_reader;
    reader.next = first;
    first = size_of(readers_);
    readers_.push_back(reader);
  }

  void remember_write(const Transfer& t, std::int32_t operation, std::int32_t count) {
    const std::int32_t place = place_[at(t.dst_slot)];
    if (place >= listing_.first_scratch) end_content(place, operation);
    held_[at(place)] = {operation, kNone, count == 1};
  }

  // If one operation wrote this and one other moved it on, the two may become one.
  void end_content(std::int32_t place, std::int32_t overwriter) {
    const Content& content = held_[at(place)];
    if (content.writer == kNone || content.first_reader == kNone || !content.alone) return;
    const Reader& reader = readers_[at(content.first_reader)];
    if (reader.next != kNone || !reader.moves_on || reader.operation == overwriter) return;
    program_.operations[at(content.writer)].follower = reader.operation;
  }

  void list_sends() {
    Lists way_of;
    for (const Operation& o : program_.operations) way_of.add_row({&o.way, o.kind == Kind::kSend ? 1u : 0u});
    program_.sends = way_of.turned(size_of(program_.outgoing));
  }

  const Listing& listing_;
  const Plan& plan_;
  const std::int32_t rank_;
  Program program_{};
  std::vector<std::int32_t> place_;  // of a slot: the slot whose memory it is
  std::vector<Content> held_;        // by place
  std::vector<Reader> readers_;
  std::vector<std::int32_t> needs_;  // of the operation under way
};

Lists messages_by_rank(const Plan& plan, std::int32_t ranks) {
  Lists touched;
  for (const Message& m : plan.messages) {
    const std::int32_t both[] = {m.src, m.dst};
    touched.add_row({both, m.src == m.dst ? 1u : 2u});
  }
  return touched.turned(ranks);
}

}  // namespace

Lists Lists::turned(std::int32_t range) const {
  Lists result;
  result.values_.resize(values_.size());
  result.ends_.assign(at(range) + 1, 0);
  for (const std::int32_t value : values_) ++result.ends_[at(value) + 1];
  std::partial_sum(result.ends_.begin(), result.ends_.end(), result.ends_.begin());
  std::vector<std::int64_t> next(result.ends_.begin(), result.ends_.end() - 1);
  for (std::int32_t row = 0; row < rows(); ++row)
    for (const std::int32_t value : (*this)[row]) result.values_[at(next[at(value)]++)] = row;
  return result;
}

Plan lower(const Listing& listing, std::int32_t only_rank) {
  Plan plan;
  find_messages(listing, plan);
  find_connections(listing, plan);
  const Lists messages = messages_by_rank(plan, listing.ranks);
  std::vector<Alias> aliases(listing.aliases.begin(), listing.aliases.end());
  std::ranges::stable_sort(aliases, {}, &Alias::rank);
  for (std::int32_t rank = 0; rank < listing.ranks; ++rank) {
    if (only_rank != kNone && rank != only_rank) continue;
    const auto first = std::ranges::lower_bound(aliases, rank, {}, &Alias::rank);
    const auto end = std::ranges::upper_bound(aliases, rank, {}, &Alias::rank);
    Lowering lowering(listing, plan, rank, std::span(first, end));
    for (const std::int32_t number : messages[rank]) lowering.add(number);
    plan.programs.push_back(lowering.finish());
  }
  return plan;
}

std::optional<Plan> resized(const Plan& plan, std::span<const std::int64_t> elements) {
  std::size_t known = 0;
  for (std::size_t number = 0; number < elements.size(); ++number) {
    if (elements[number] == 0) continue;
    if (known == plan.parts.size() || at(plan.parts[known].transfer) != number) return std::nullopt;
    ++known;
  }
  if (known < plan.parts.size()) return std::nullopt;
  Plan result = plan;
  for (Part& part : result.parts) part.elements = elements[at(part.transfer)];
  return result;
}

}  // namespace weft
