#include "verify/verify.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>

#include "bindings/module.hpp"
#include "bindings/tables.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Pieces = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Counts = std::vector<std::pair<std::int32_t, std::int32_t>>;

Counts pairs(const std::vector<weft::Count>& counts) {
  Counts out;
  for (const weft::Count& c : counts) out.emplace_back(c.rank, c.times);
  return out;
}

using Written = std::tuple<std::int32_t, std::int32_t, Counts>;

std::pair<std::optional<weft::Finding>, std::vector<Written>> verify(
    std::int32_t ranks, std::int32_t slots, std::int32_t first_scratch, bool heard_is_enough,
    const Table<weft::Transfer>& transfers, const Table<weft::Content>& initial,
    const Table<weft::Content>& final, const Table<weft::Alias>& aliases,
    const std::optional<Table<weft::Ways>>& ways, const std::optional<Pieces>& pieces,
    std::optional<std::pair<std::int32_t, std::int32_t>> watched) {
  if (pieces && pieces->shape(0) != transfers.shape(0))
    throw std::invalid_argument("verify: pieces and transfers differ in length");
  weft::Job job{
      .ranks = ranks,
      .slots = slots,
      .first_scratch = first_scratch,
      .heard_is_enough = heard_is_enough,
      .transfers = rows<weft::Transfer>(transfers),
      .initial = rows<weft::Content>(initial),
      .final = rows<weft::Content>(final),
      .aliases = rows<weft::Alias>(aliases),
      .breathe = check_signals,
  };
  if (ways) job.ways = rows<weft::Ways>(*ways);
  if (watched) job.watched = {watched->first, watched->second};
  weft::Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome =
        weft::verify(job, pieces ? std::span(pieces->data(), pieces->shape(0)) : std::span<std::int32_t>());
  }
  std::vector<Written> writes;
  for (const weft::Write& w : outcome.story) writes.emplace_back(w.transfer, w.piece, pairs(w.counts));
  return {std::move(outcome.finding), std::move(writes)};
}

}  // namespace

void register_verify(nb::module_& module) {
  module.attr("MOST_WRITES") = weft::kMostWrites;
  nb::exception<weft::TooManySums>(module, "TooManySums", PyExc_MemoryError);
  nb::class_<weft::Finding>(module, "Finding", "What is wrong with a schedule, and where.")
      .def_ro("rule", &weft::Finding::rule)
      .def_ro("transfer", &weft::Finding::transfer)
      .def_ro("rank", &weft::Finding::rank)
      .def_ro("slot", &weft::Finding::slot)
      .def_ro("piece_got", &weft::Finding::piece_got)
      .def_ro("piece_want", &weft::Finding::piece_want)
      .def_prop_ro("got", [](const weft::Finding& f) { return pairs(f.got); })
      .def_prop_ro("want", [](const weft::Finding& f) { return pairs(f.want); });
  module.def(
      "rules",
      [] {
        std::vector<std::pair<std::string, std::string>> out;
        for (const weft::Rule& rule : weft::rules()) out.emplace_back(rule.name, rule.promise);
        return out;
      },
      "Name and promise of each rule, in the order in which they are checked.");
  module.def("verify", &verify, nb::kw_only(), "ranks"_a, "slots"_a, "first_scratch"_a, "heard_is_enough"_a,
             "transfers"_a.noconvert(), "initial"_a.noconvert(), "final"_a.noconvert(),
             "aliases"_a.noconvert(), "ways"_a.noconvert().none(), "pieces"_a.noconvert().none(),
             "watched"_a.none(),
             "Return the first finding or None, and what was written to the watched (rank, slot).");
}
