#include "kernels/add.hpp"

namespace weft {

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
void add(float* target, const float* left, const float* right, std::int64_t count) noexcept {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) target[i] = left[i] + right[i];
}

}  // namespace weft
