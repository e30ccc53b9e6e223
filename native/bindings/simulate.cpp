#include "simulate/simulate.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/module.hpp"
#include "bindings/tables.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

weft::Plan lower(std::int32_t ranks, std::int32_t slots, std::int32_t first_scratch, bool empty_too,
                 const Table<weft::Transfer>& transfers, const Table<weft::Alias>& aliases,
                 const Longs& elements, std::optional<std::int32_t> rank) {
  if (elements.shape(0) != transfers.shape(0))
    throw std::invalid_argument("lower: elements and transfers differ in length");
  const weft::Listing listing{.ranks = ranks,
                              .slots = slots,
                              .first_scratch = first_scratch,
                              .transfers = rows<weft::Transfer>(transfers),
                              .aliases = rows<weft::Alias>(aliases),
                              .elements = longs(elements),
                              .empty_too = empty_too};
  const nb::gil_scoped_release release;
  return weft::lower(listing, rank.value_or(weft::kNone));
}

weft::Trace simulate(const weft::Plan& plan, std::int32_t segments, std::int32_t window, bool record,
                     const Longs& rates, const LongTable<weft::Overheads>& overheads,
                     const LongTable<weft::Path>& paths, const Longs& resources,
                     const LongTable<weft::Slowdown>& slowdowns, const LongTable<weft::Death>& deaths,
                     weft::Picoseconds deadline) {
  if (paths.shape(0) != plan.connections.size() || overheads.shape(0) != 1)
    throw std::invalid_argument("simulate: give one path per connection, and one row of overheads");
  const weft::Machine machine{.rates = longs(rates),
                              .overheads = rows<weft::Overheads, std::int64_t>(overheads)[0],
                              .paths = rows<weft::Path, std::int64_t>(paths),
                              .resources = longs(resources),
                              .slowdowns = rows<weft::Slowdown, std::int64_t>(slowdowns),
                              .deaths = rows<weft::Death, std::int64_t>(deaths),
                              .deadline = deadline};
  const weft::Settings settings{
      .segments = segments, .window = window, .record = record, .breathe = check_signals};
  const nb::gil_scoped_release release;
  return weft::simulate(plan, machine, settings);
}

std::vector<std::vector<std::int32_t>> needs(const weft::Plan& plan, std::int32_t rank) {
  const weft::Lists& lists = plan.programs.at(weft::at(rank)).needs;
  std::vector<std::vector<std::int32_t>> out;
  for (std::int32_t row = 0; row < lists.rows(); ++row)
    out.emplace_back(lists[row].begin(), lists[row].end());
  return out;
}

template <typename Owner, auto member>
Bytes memory(nb::handle_t<Owner> self) {
  return memory_of(nb::cast<const Owner&>(self).*member, self);
}

}  // namespace

void register_simulate(nb::module_& module) {
  module.attr("NEVER") = weft::kNever;
  module.attr("LATEST") = weft::kLatest;
  nb::exception<weft::TimeOverflow>(module, "TimeOverflow", PyExc_OverflowError);
  module.def(
      "lives",
      [] {
        std::vector<std::tuple<std::string, bool, bool, bool>> out;
        for (const weft::Life& life : weft::kLives)
          out.emplace_back(life.name, life.arrivals > 0, life.takes_room, life.gives_room_back);
        return out;
      },
      "Of each kind of operation: whether its segments wait to arrive, take room, give room back.");
  nb::class_<weft::Plan>(module, "Plan", "A schedule, lowered.")
      .def_prop_ro("messages", &memory<weft::Plan, &weft::Plan::messages>)
      .def_prop_ro("parts", &memory<weft::Plan, &weft::Plan::parts>)
      .def_prop_ro("connections", &memory<weft::Plan, &weft::Plan::connections>)
      .def("needs", &needs, "rank"_a,
           "For each operation of a rank: those of the same rank that must be done first.")
      .def(
          "resized",
          [](const weft::Plan& plan, const Longs& elements) { return weft::resized(plan, longs(elements)); },
          "elements"_a.noconvert(),
          "The same for other numbers of elements, or None where other transfers move something.");
  nb::class_<weft::Trace>(module, "Trace", "What became of a simulated run.")
      .def_ro("end", &weft::Trace::end)
      .def_ro("events", &weft::Trace::events)
      .def_prop_ro("rank_ends", &memory<weft::Trace, &weft::Trace::rank_ends>)
      .def_prop_ro("busy", &memory<weft::Trace, &weft::Trace::busy>)
      .def_prop_ro("failures", &memory<weft::Trace, &weft::Trace::failures>)
      .def_prop_ro("records", &memory<weft::Trace, &weft::Trace::records>);
  module.def("lower", &lower, nb::kw_only(), "ranks"_a, "slots"_a, "first_scratch"_a, "empty_too"_a,
             "transfers"_a.noconvert(), "aliases"_a.noconvert(), "elements"_a.noconvert(),
             "rank"_a.none() = nb::none(),
             "Lower a correct schedule for a rank, or for all; each transfer moves so many `elements`.");
  module.def("simulate", &simulate, "plan"_a, nb::kw_only(), "segments"_a, "window"_a, "record"_a,
             "rates"_a.noconvert(), "overheads"_a.noconvert(), "paths"_a.noconvert(),
             "resources"_a.noconvert(), "slowdowns"_a.noconvert(), "deaths"_a.noconvert(), "deadline"_a,
             "Run it on a machine that is only computed; the memory of the result is rows of the core.");
}
