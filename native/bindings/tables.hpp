// NumPy arrays seen as rows of the core, and the other way round.  Nothing is copied or converted.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>
#include <vector>

template <typename Row, typename Number>
using TableOf = nanobind::ndarray<const Number, nanobind::shape<-1, sizeof(Row) / sizeof(Number)>,
                                  nanobind::c_contig, nanobind::device::cpu>;
template <typename Row>
using Table = TableOf<Row, std::int32_t>;
template <typename Row>
using LongTable = TableOf<Row, std::int64_t>;
using Longs =
    nanobind::ndarray<const std::int64_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using Bytes = nanobind::ndarray<nanobind::numpy, std::uint8_t, nanobind::ndim<1>>;

template <typename Row, typename Number = std::int32_t>
std::span<const Row> rows(const TableOf<Row, Number>& table) {
  return {reinterpret_cast<const Row*>(table.data()), table.shape(0)};
}

inline std::span<const std::int64_t> longs(const Longs& numbers) {
  return {numbers.data(), numbers.shape(0)};
}

// The memory of rows that belong to `owner`.
template <typename Row>
Bytes memory_of(const std::vector<Row>& rows, nanobind::handle owner) {
  auto* bytes = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(rows.data()));
  return Bytes(bytes, {rows.size() * sizeof(Row)}, owner);
}

// Lets Ctrl-C end long work.
inline void check_signals() {
  nanobind::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals()) throw nanobind::python_error();
}
