// Any text as a trigger: what parses prints, and its print parses to the same.
#include "stream/trigger_compile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto spec = walle::stream::parse_trigger({reinterpret_cast<const char*>(data), size});
  if (!spec.ok()) return 0;
  const std::string text = walle::stream::format_trigger(*spec);
  const auto again = walle::stream::parse_trigger(text);
  if (!again.ok() || walle::stream::format_trigger(*again) != text) __builtin_trap();
  const walle::stream::Catalog catalog;
  (void)walle::stream::lint_trigger(*spec);
  (void)walle::stream::compile_trigger(*spec, catalog).ok();
  return 0;
}
