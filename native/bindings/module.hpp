// One function per topic registers that topic's part of `weft._native`.
#pragma once

#include <nanobind/nanobind.h>

void register_simulate(nanobind::module_& module);
void register_transport(nanobind::module_& module);
void register_verify(nanobind::module_& module);
