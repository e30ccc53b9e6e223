#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <vector>

#include "bindings/module.hpp"
#include "bindings/tables.hpp"
#include "transport/call.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Floats = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Slot `slot` begins at element `begin` of a buffer.
struct SlotRow {
  std::int64_t slot, buffer, begin, elements;
};

std::vector<weft::Slot> slots_in(const std::vector<Floats>& buffers, std::int32_t slots,
                                 std::span<const SlotRow> given) {
  std::vector<weft::Slot> out(static_cast<std::size_t>(slots));
  for (const SlotRow& row : given) {
    const Floats& buffer = buffers.at(weft::at(row.buffer));
    const auto size = static_cast<std::int64_t>(buffer.size());
    if (row.begin < 0 || row.elements < 0 || row.begin > size - row.elements)
      throw std::invalid_argument("a slot reaches beyond its buffer");
    out.at(weft::at(row.slot)) = {buffer.data() + row.begin, row.elements};
  }
  return out;
}

std::chrono::nanoseconds nanoseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

// A short one ends before the lock of the interpreter could be handed to anybody.
bool run(weft::Call& call, double deadline, std::int64_t times) {
  constexpr std::int32_t kSpins = 50;
  call.start();
  if (times == 1 && call.spin(kSpins)) return true;
  const nb::gil_scoped_release release;
  while (call.wait(nanoseconds(deadline), check_signals)) {
    if (--times == 0) return true;
    call.start();
  }
  return false;
}

}  // namespace

void register_transport(nb::module_& module) {
  nb::exception<weft::BrokenPeer>(module, "BrokenPeer", PyExc_RuntimeError);
  module.attr("MOST_PLACES") = weft::kMostPlaces;
  module.def(
      "create_memory",
      [](std::int32_t ranks, std::int32_t window, std::int64_t segment_bytes) {
        return weft::SharedMemory::create({ranks, window, segment_bytes});
      },
      "ranks"_a, "window"_a, "segment_bytes"_a, "Return the descriptor of a new memory file.");
  nb::class_<weft::Group>(module, "Group", "One process's place in a group that shares memory.")
      .def(
          "__init__",
          [](weft::Group* self, std::int32_t descriptor, std::int32_t ranks, std::int32_t window,
             std::int64_t segment_bytes,
             std::int32_t rank) { new (self) weft::Group(descriptor, {ranks, window, segment_bytes}, rank); },
          "descriptor"_a, nb::kw_only(), "ranks"_a, "window"_a, "segment_bytes"_a, "rank"_a)
      .def("leave", [](weft::Group& self) { self.memory.leave(self.rank); });
  nb::class_<weft::Failure>(module, "Failure", "Why a call ended early.")
      .def_prop_ro("by_deadline", [](const weft::Failure& f) { return f.reason == weft::Reason::kDeadline; })
      .def_ro("operation", &weft::Failure::operation)
      .def_ro("segment", &weft::Failure::segment)
      .def_ro("peer", &weft::Failure::peer)
      .def_ro("cause", &weft::Failure::cause);
  nb::class_<weft::Call>(module, "Call", "One rank's part of a schedule on real memory.")
      .def(
          "__init__",
          [](weft::Call* self, weft::Group& group, const weft::Plan& plan,
             const Table<weft::Transfer>& transfers, std::int32_t slots, const LongTable<SlotRow>& given,
             const std::vector<Floats>& buffers, std::int32_t segments, std::uint32_t digest) {
            new (self)
                weft::Call(group, plan, rows<weft::Transfer>(transfers),
                           slots_in(buffers, slots, rows<SlotRow, std::int64_t>(given)), segments, digest);
          },
          "group"_a, "plan"_a, nb::kw_only(), "transfers"_a.noconvert(), "slots"_a, "given"_a.noconvert(),
          "buffers"_a.noconvert(), "segments"_a, "digest"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 7>())
      .def("start", &weft::Call::start)
      .def("progress", &weft::Call::progress)
      .def_prop_ro("finished", &weft::Call::finished)
      .def("run", &run, "deadline"_a, "times"_a = 1,
           "Start it and carry it out, so many times; False: it has failed.")
      .def_prop_ro("failure", &weft::Call::failure)
      .def("transfer_of", &weft::Call::transfer_of, "operation"_a,
           "The first transfer of what an operation carries.");
}
