// Any bytes as a package's manifest, as they are and with a good checksum behind them: what is read means
// something, and is packed to bytes that read the same.
#include <cstdlib>
#include <string>

#include "base/bytes.h"
#include "link/package/package.h"

namespace {

void look_at(std::string_view bytes) {
  using namespace walle::link;
  const auto read = read_package(bytes);
  if (!read.ok()) return;
  if (!verify_package(*read).ok()) __builtin_trap();
  const auto packed = pack_package(*read);
  // Texts that the input names twice are written twice: only then may it grow beyond the limit.
  if (!packed.ok()) return;
  const auto again = read_package(*packed);
  if (!again.ok() || *pack_package(*again) != *packed) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  look_at(bytes);
  walle::base::ByteWriter whole;
  whole.put_bytes(bytes);
  whole.put_checksum();
  look_at(whole.written());
  return 0;
}
