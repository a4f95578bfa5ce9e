// EventKey: a hash of the fields, page instance and session that it is made of.
#pragma once

#include "stream/trigger/trigger_compile.h"

namespace walle::stream {

// Two values in 2^63 may share one; a matcher that kept the texts would allocate in step(). Never 0.
uint64_t value_hash(const Value& v);

// Of a scope: 0 when the event has none. An event that has none of the fields belongs to every key of its
// page or session if the key says so: `outer` is what those share, else 0.
struct ScopeKey {
  uint64_t key = 0, outer = 0;
};
ScopeKey scope_key(const CompiledKey& key, const Event& event, const Catalog& catalog);

// Of a limit: events that lack a field have a key of their own. 0 for an empty key.
uint64_t limit_key(const CompiledKey& key, const Event& event, const Catalog& catalog);

}  // namespace walle::stream
