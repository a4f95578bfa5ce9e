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

namespace {

const char* after(Relation relation) {
  return relation == Relation::cause
             ? "\n\nThe above exception was the direct cause of the following exception:\n\n"
             : "\n\nDuring handling of the above exception, another exception occurred:\n\n";
}

std::string line_of(const Frame& frame) {
  std::string out = "  File \"" + frame.file + "\"";
  if (frame.line != 0) out += ", line " + std::to_string(frame.line);
  out += ", in " + frame.function + "\n";
  return frame.source.empty() ? out : out + "    " + frame.source + "\n";
}

}  // namespace

std::string Failure::text() const {
  std::string out;
  for (const Failure& other : related) {
    if (other.relation != Relation::member) out += other.text() + after(other.relation);
  }
  if (!traceback.empty()) out += "Traceback (most recent call last):\n";
  for (const Frame& frame : traceback) out += line_of(frame);
  out += type + (message.empty() ? "" : ": " + message);
  for (const std::string& note : notes) out += "\n" + note;
  for (const Failure& other : related) {
    if (other.relation == Relation::member) out += "\n\nOne of the group:\n" + other.text();
  }
  return out;
}

}  // namespace walle::vm
