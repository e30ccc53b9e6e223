// What must be true of a run that has ended.
#pragma once

#include <string>

#include "conditions.hpp"
#include "mover.hpp"
#include "simulate/simulate.hpp"
#include "work.hpp"

namespace seeds {

struct Run {
  const Work& work;
  const weft::Plan& plan;
  const Conditions& conditions;
  const Mover& mover;
  const weft::Trace& trace;
};

// What is wrong, or nothing.
std::string judge(const Run& run, const std::vector<Memory>& expected);

}  // namespace seeds
