// The arithmetic of a reduction.  Knows nothing of ranks or networks.
#pragma once

#include <cstdint>

namespace weft {

// target[i] = left[i] + right[i].  The target may be either of them; else they must not overlap.
void add(float* target, const float* left, const float* right, std::int64_t count) noexcept;

}  // namespace weft
