// Random runs of the engine and the simulator with real data; one seed is one run.
//
//     world FIRST COUNT         prints a line for each seed whose run is wrong
//     world FIRST COUNT show    prints what is drawn and what becomes of it, too
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

#include "judge.hpp"
#include "show.hpp"

namespace seeds {

namespace {

void refuse_to_go_on() { throw std::runtime_error("the run does not end"); }

// A run, under conditions of its own.
std::string try_once(const Work& work, const weft::Plan& plan, const Conditions& conditions,
                     const std::vector<Memory>& expected, bool show) {
  Mover mover(work, plan, conditions.segments, conditions.window);
  // A run has a few hundred rounds; the first breath comes after some thousand.
  const weft::Settings settings{conditions.segments, conditions.window, show, &mover, refuse_to_go_on};
  const weft::Trace trace = simulate(plan, conditions.machine(), settings);
  if (show) show_run(std::cout, {work, plan, conditions, mover, trace});
  return judge({work, plan, conditions, mover, trace}, expected);
}

// Some work is done twice: neither segments nor windows nor noise may change a bit of the result.
std::string try_seed(std::uint64_t seed, bool show) {
  Draw draw(seed);
  const Work work = draw_work(draw);
  const weft::Plan plan = lower(work.listing());
  const std::vector<Memory> expected = final_memory(work);
  const bool faults = draw.chance(40);
  const std::int32_t runs = !faults && draw.chance(25) ? 2 : 1;
  if (show) show_work(std::cout, work);
  for (std::int32_t run = 0; run < runs; ++run) {
    const Conditions conditions = draw_conditions(draw, plan, faults);
    if (show) show_conditions(std::cout, conditions);
    const std::string wrong = try_once(work, plan, conditions, expected, show);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

std::string wrong_with(std::uint64_t seed, bool show) {
  try {
    return try_seed(seed, show);
  } catch (const std::exception& problem) {
    return problem.what();
  }
}

}  // namespace

}  // namespace seeds

int main(int count, char** arguments) {
  if (count < 3) return EXIT_FAILURE;
  const std::uint64_t first = std::stoull(arguments[1]), end = first + std::stoull(arguments[2]);
  const bool show = count > 3 && arguments[3] == std::string("show");
  for (std::uint64_t seed = first; seed < end; ++seed) {
    const std::string wrong = seeds::wrong_with(seed, show);
    if (!wrong.empty()) std::cout << "seed " << seed << ": " << wrong << std::endl;
  }
}
