#include "stream/match/event_key.h"

#include "base/hash.h"

namespace walle::stream {

namespace {
// The page instance and the session, as far as the key has them.
uint64_t outer_hash(const CompiledKey& key, const Event& event) {
  base::Hasher h;
  if (key.page) h.value(uint64_t{1}).value(event.page_instance);
  if (key.session) h.value(uint64_t{2}).value(event.session);
  return h.finish() | 1;
}
}  // namespace

uint64_t value_hash(const Value& v) {
  base::Hasher h;
  // The type goes in, or the integer 1 and true would share a partition.
  h.value(static_cast<uint8_t>(v.type));
  if (v.type == ColumnType::text)
    h.text(v.text);
  else
    h.value(v.i);
  return h.finish() | 1;
}

ScopeKey scope_key(const CompiledKey& key, const Event& event, const Catalog& catalog) {
  const bool within = key.page || key.session;
  if (key.page && !event.page_instance) return {};
  const uint64_t outer = within ? outer_hash(key, event) : 0;
  uint64_t h = outer;
  size_t present = 0;
  for (const uint16_t field : key.fields) {
    const Value* v = event.field(catalog, field);
    if (!v) continue;
    ++present;
    // One field alone is its hash: what snapshots and other scopes call it.
    h = key.fields.size() == 1 && !within ? value_hash(*v) : base::mix(h, value_hash(*v));
  }
  if (present == key.fields.size()) return {.key = h | 1, .outer = outer};
  if (present == 0) return {.key = 0, .outer = outer};
  return {};
}

uint64_t limit_key(const CompiledKey& key, const Event& event, const Catalog& catalog) {
  if (key.empty()) return 0;
  uint64_t h = outer_hash(key, event);
  for (const uint16_t field : key.fields) {
    const Value* v = event.field(catalog, field);
    h = base::mix(h, v ? value_hash(*v) : 0);
  }
  return h | 1;
}

}  // namespace walle::stream
