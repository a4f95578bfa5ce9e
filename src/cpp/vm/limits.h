// Limits: what one isolate may use. Zero means unlimited unless said otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace walle::vm {

struct Limits {
  uint64_t heap_bytes = 0;    // Python objects, exact to one 256 KB arena, and the task's own tensors
  uint32_t wall_ms = 0;       // per call
  uint32_t cpu_ms = 0;        // per call, processor time of the calling thread
  uint32_t python_depth = 0;  // Python frames; 0: 1000
  uint32_t stack_bytes = 0;   // C stack of a call; 0: all that its thread has
  uint64_t state_bytes = 0;   // what walle.kv may keep, for whoever opens the state; 0: 1 MB
  uint64_t log_bytes = 0;     // lines per call, each with what it costs beside its text; 0: 1 MB
  std::optional<std::vector<std::string>> imports;     // top-level names; nullopt: all
  std::optional<std::vector<std::string>> host_calls;  // "walle.kv.get" or "walle.kv"; nullopt: all
};

enum class Reason : uint8_t { none, cancelled, wall, cpu, heap, stack, imports, host_call, abandoned };

// "heap", "wall" ...; "" for none.
std::string_view reason_name(Reason reason);

}  // namespace walle::vm
