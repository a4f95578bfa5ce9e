// Any text as a trigger: what parses prints, its print parses to the same, and what compiles is matched
// and leaves nothing behind when it is removed.
#include "stream/match/matcher.h"

using namespace walle::stream;
using walle::ColumnType;

namespace {
Catalog world() {
  Catalog c;
  const std::vector<FieldDecl> fields{{"x", ColumnType::integer, Sensitivity::open, 0},
                                      {"s", ColumnType::text, Sensitivity::open, 0}};
  for (const char* name : {"a", "b", "c"})
    if (!c.declare({name, EventKind::custom, fields}).ok()) __builtin_trap();
  if (!c.page("p").ok() || !c.page("q").ok() || !c.state("wifi").ok()) __builtin_trap();
  return c;
}

void match(const CompiledTrigger& trigger, const Catalog& catalog) {
  Matcher m(catalog);
  const auto id = m.add(trigger);
  if (!id.ok()) return;
  const Value contents[2] = {Value::of(int64_t{1}), Value::of(std::string_view("s"))};
  for (uint64_t i = 0; i < 40; ++i) {
    Event e;
    e.seq = i + 1, e.ts = static_cast<int64_t>(i * i) * 500'000, e.session = 1 + i / 16,
    e.page_instance = 1 + i / 4;
    e.event = static_cast<uint16_t>(7 + i * 7 % 3), e.page = static_cast<uint16_t>(1 + i % 2),
    e.contents = contents;
    m.step(e);
  }
  if (m.restore(m.snapshot()).ok()) m.advance(int64_t{1} << 40);
  m.remove(*id, trigger);
  if (m.node_count() || m.edge_count()) __builtin_trap();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Catalog catalog = world();
  const auto spec = parse_trigger({reinterpret_cast<const char*>(data), size});
  if (!spec.ok()) return 0;
  const std::string text = format_trigger(*spec);
  const auto again = parse_trigger(text);
  if (!again.ok() || format_trigger(*again) != text) __builtin_trap();
  (void)lint_trigger(*spec);
  const auto compiled = compile_trigger(*spec, catalog);
  if (!compiled.ok()) return 0;
  match(*compiled, catalog);
  return 0;
}
