// How it is done, and on what machine: segments and windows, delays and noise, faults.
#pragma once

#include <cstdint>
#include <vector>

#include "draw.hpp"
#include "engine/program.hpp"
#include "simulate/machine.hpp"

namespace seeds {

struct Conditions {
  std::int32_t segments, window;
  std::vector<std::int64_t> rates;
  weft::Overheads overheads;
  std::vector<weft::Path> paths;
  std::vector<std::int64_t> resources;
  std::vector<weft::Slowdown> slowdowns;
  std::vector<weft::Death> deaths;
  weft::Picoseconds deadline = weft::kNever;
  bool faults;  // else all that stands still goes on again, and nobody is in a hurry

  weft::Machine machine() const { return {rates, overheads, paths, resources, slowdowns, deaths, deadline}; }
  // When a rank goes on that stands still at `time`.
  weft::Picoseconds resumes(std::int32_t rank, weft::Picoseconds time) const;
};

Conditions draw_conditions(Draw& draw, const weft::Plan& plan, bool faults);

}  // namespace seeds
