#include "vm/outcome.h"

#include <array>

namespace walle::vm {

std::string_view reason_name(Reason reason) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "", "cancelled", "wall", "cpu", "heap", "stack", "import", "host_call", "abandoned"};
  return kNames[static_cast<size_t>(reason)];
}

const Value* Value::find(std::string_view key) const {
  const Map* map = get<Map>();
  for (size_t i = 0; map != nullptr && i < map->size(); ++i) {
    if ((*map)[i].first == key) return &(*map)[i].second;
  }
  return nullptr;
}

std::string Failure::text() const {
  std::string out = traceback.empty() ? "" : "Traceback (most recent call last):\n";
  for (const Frame& frame : traceback) {
    out += "  File \"" + frame.file + "\"" + (frame.line ? ", line " + std::to_string(frame.line) : "") +
           ", in " + frame.function + "\n";
  }
  return out + type + (message.empty() ? "" : ": " + message);
}

}  // namespace walle::vm
