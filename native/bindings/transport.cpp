#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "bindings/module.hpp"
#include "bindings/tables.hpp"
#include "transport/call.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

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
    // Only outputs are written, which the caller of this module has seen to be writable.
    out.at(weft::at(row.slot)) = {const_cast<float*>(buffer.data()) + row.begin, row.elements};
  }
  return out;
}

std::chrono::nanoseconds nanoseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

// A call, and how long it waits for news, in seconds.
struct Prepared {
  weft::Call call;
  std::chrono::nanoseconds deadline;
};

// A short one ends before the lock of the interpreter could be handed to anybody.
bool run(Prepared& prepared, std::int64_t times) {
  constexpr std::int32_t kSpins = 50;
  weft::Call& call = prepared.call;
  call.start(times);
  for (std::int32_t spin = 0; times == 1 && call.running() && spin < kSpins; ++spin) call.progress();
  if (!call.running()) return true;
  const nb::gil_scoped_release release;
  return call.wait(prepared.deadline, check_signals);
}

std::int64_t times_in(nb::handle call, PyObject* arguments, PyObject* keywords) {
  PyObject* times = PyObject_Call(nb::object(call.attr("_times")).ptr(), arguments, keywords);
  if (times == nullptr) nb::raise_python_error();
  return nb::cast<std::int64_t>(nb::steal(times));
}

// What `call(times)` does; a method `__call__` would be looked up first, which takes longer than a small
// collective.  What goes wrong is told to a method of the caller's class, which raises it.
PyObject* run_from_python(PyObject* self, PyObject* arguments, PyObject* keywords) noexcept {
  const nb::handle call(self);
  try {
    try {
      const bool once = PyTuple_Size(arguments) == 0 && keywords == nullptr;
      const auto times = once ? 1 : times_in(call, arguments, keywords);
      if (!run(*nb::inst_ptr<Prepared>(call), times)) call.attr("_stalled")();
    } catch (const std::invalid_argument& problem) {
      call.attr("_refused")(problem.what());
    } catch (const weft::BrokenPeer& problem) {
      call.attr("_refused")(problem.what());
    }
  } catch (nb::python_error& error) {
    error.restore();
    return nullptr;
  } catch (const std::exception& problem) {
    PyErr_SetString(PyExc_RuntimeError, problem.what());
    return nullptr;
  }
  Py_RETURN_NONE;
}

}  // namespace

void register_transport(nb::module_& module) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::system_error& problem) {
      PyErr_SetString(PyExc_OSError, problem.what());
    }
  });
  nb::exception<weft::BrokenPeer>(module, "BrokenPeer", PyExc_RuntimeError);
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
             std::int64_t segment_bytes, std::int32_t rank) {
            const weft::Shape shape{ranks, window, segment_bytes};
            new (self) weft::Group(std::make_shared<weft::SharedMemory>(descriptor, shape), rank);
          },
          "descriptor"_a, nb::kw_only(), "ranks"_a, "window"_a, "segment_bytes"_a, "rank"_a)
      .def("leave", [](weft::Group& self) { self.leave(); })
      .def("forget", [](weft::Group& self) { self.forget(); }, "Be nobody's, in a child of fork.");
  nb::class_<weft::Failure>(module, "Failure", "Why a call ended early.")
      .def_prop_ro("by_deadline", [](const weft::Failure& f) { return f.reason == weft::Reason::kDeadline; })
      .def_ro("operation", &weft::Failure::operation)
      .def_ro("segment", &weft::Failure::segment)
      .def_ro("peer", &weft::Failure::peer);
  static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(&run_from_python)}, {0, nullptr}};
  nb::class_<Prepared>(module, "Call", nb::type_slots(slots), "One rank's part of a schedule on real memory.")
      .def(
          "__init__",
          [](Prepared* self, weft::Group& group, const weft::Plan& plan,
             const Table<weft::Transfer>& transfers, std::int32_t slots, const LongTable<SlotRow>& given,
             const std::vector<Floats>& buffers, std::int32_t segments, std::uint32_t digest,
             double deadline) {
            new (self)
                Prepared{{group, plan, rows<weft::Transfer>(transfers),
                          slots_in(buffers, slots, rows<SlotRow, std::int64_t>(given)), segments, digest},
                         nanoseconds(deadline)};
          },
          "group"_a, "plan"_a, nb::kw_only(), "transfers"_a.noconvert(), "slots"_a, "given"_a.noconvert(),
          "buffers"_a.noconvert(), "segments"_a, "digest"_a, "deadline"_a, nb::keep_alive<1, 2>(),
          nb::keep_alive<1, 7>())
      .def_prop_ro("failure", [](const Prepared& self) { return self.call.failure(); })
      .def(
          "transfer_of",
          [](const Prepared& self, std::int32_t operation) { return self.call.transfer_of(operation); },
          "operation"_a, "The first transfer of what an operation carries.");
}
