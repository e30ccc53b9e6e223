// A run in words.
#pragma once

#include <ostream>

#include "judge.hpp"

namespace seeds {

void show_work(std::ostream& out, const Work& work);
void show_conditions(std::ostream& out, const Conditions& conditions);
void show_run(std::ostream& out, const Run& run);

}  // namespace seeds
