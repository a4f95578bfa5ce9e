// Any bytes as a graph, as they are and under a right checksum: what is read is written down to the same
// graph, can be asked what it makes, and runs over rows without harm.
#include <cstdlib>
#include <string>

#include "base/bytes.h"
#include "stream/graph/graph.h"
#include "stream/operators/batch_rows.h"

using namespace walle::stream;
using walle::Cell;
using walle::Floats;

namespace {
void require(bool holds) {
  if (!holds) __builtin_trap();
}

class Echo final : public Encoder {
  walle::Status run(std::span<const float> in, size_t, Floats& out) override {
    out.assign(in.begin(), in.end());
    return {};
  }
};

class Resources final : public GraphResources {
  walle::Result<std::shared_ptr<Encoder>> encoder(const std::string&) override {
    return std::shared_ptr<Encoder>(std::make_shared<Echo>());
  }
};

TracedBatch rows() {
  constexpr float kPair[] = {1, 2};
  Batch out;
  const char* names[] = {"event", "page_instance", "k", "x", "v"};
  for (const char* name : names) out.columns.push_back({.name = name});
  for (int64_t i = 0; i < 12; ++i) {
    out.ts.push_back(i * i * kSecondUs);
    put(out.columns[0], Cell::of(i % 5 ? "click" : "page_exit"));
    put(out.columns[1], Cell::of(i / 5));
    put(out.columns[2], Cell::of(i % 2 ? "a" : "b"));
    put(out.columns[3], i % 3 ? Cell::of(static_cast<double>(i)) : Cell());
    put(out.columns[4], Cell::of(std::span<const float>(kPair)));
  }
  return TracedBatch::given(std::move(out));
}

void use(std::string_view bytes) {
  const auto spec = parse_graph(bytes);
  if (!spec.ok()) return;
  require(*parse_graph(*graph_bytes(*spec)) == *spec);
  require(!graph_text(*spec).empty());
  (void)fields_read(*spec);
  (void)columns_made(*spec, {{"event", Sensitivity::open}, {"k", Sensitivity::secret}});
  Resources resources;
  auto graph = Graph::make(*spec, resources);
  if (!graph.ok()) return;
  static const TracedBatch kRows = rows();
  if (graph->push(kRows).ok()) (void)graph->finish();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  use(bytes);
  walle::base::ByteWriter sealed;
  sealed.put_bytes("WALGRAP1");
  sealed.put_text(bytes);
  sealed.put_checksum();
  use(sealed.written());
  return 0;
}
