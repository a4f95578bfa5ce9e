// Any bytes as a task's manifest: what is read means something, and is packed to bytes that read the same.
#include <cstdlib>
#include <string>

#include "container/task/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace walle::container;
  const auto read = read_manifest({reinterpret_cast<const char*>(data), size});
  if (!read.ok()) return 0;
  const auto packed = pack_manifest(*read);
  // Vectors that the input names twice are written twice: only then may it grow beyond the limit.
  if (!packed.ok()) return 0;
  const auto again = read_manifest(*packed);
  if (!again.ok() || *pack_manifest(*again) != *packed) __builtin_trap();
  return 0;
}
