// The Python face of the native core, and nothing else.
// Rule: no logic here.  Check types, release the GIL, call one function of the core.
#include "bindings/module.hpp"

NB_MODULE(_native, module) {
  register_verify(module);
  register_simulate(module);
  register_transport(module);
}
