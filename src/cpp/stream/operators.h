// Stream operators: each takes batches of rows in any order of arrival and gives batches; what it gives depends on the
// rows and their order alone, never on how they were cut into batches.
//
// Event time: a row moves the watermark to its time less `disorder`. A window closes when the watermark reaches its end
// and is kept for `lateness` more: a row in that time gives a revision (column `revision` counts from 0), a later one is
// counted in late(). Nothing is dropped silently. Not synchronised.
#pragma once

#include <memory>
#include <set>

#include "stream/aggregate.h"
#include "stream/predicate.h"

namespace walle::stream {

class Operator {
 public:
  virtual ~Operator() = default;
  virtual Result<Batch> push(const Batch& in) = 0;
  virtual Result<Batch> finish() { return Batch{}; }  // no more rows: everything open closes
  virtual uint64_t late() const { return 0; }
};

// Rows for which a predicate of the trigger language holds.
Result<std::unique_ptr<Operator>> make_filter(std::string_view predicate);
// out = left op right, with op + - * /, right a column or a number; or out = left with op '='.
Result<std::unique_ptr<Operator>> make_map(std::string out, std::string left, char op, std::string right);
// Only the named columns.
Result<std::unique_ptr<Operator>> make_select(std::vector<std::string> columns);
// The first row of each key within `within_us` of the one last let through (0: ever).
Result<std::unique_ptr<Operator>> make_dedupe(std::vector<std::string> keys, int64_t within_us);

enum class WindowKind : uint8_t { tumbling, sliding, session };
struct WindowSpec {
  WindowKind kind = WindowKind::tumbling;
  int64_t size_us = 0;  // session: the gap that ends one
  int64_t slide_us = 0;
  int64_t disorder_us = 0, lateness_us = 0;
  std::vector<std::string> keys;
  std::vector<AggregateSpec> aggregates;
};
// One row per key and window: keys, window_start, window_end, revision, aggregates; ts is the window's end.
Result<std::unique_ptr<Operator>> make_window(WindowSpec spec);

// For each row of `left`, the columns of the newest row of `right` with equal keys and a time not above its own, at most
// `within_us` older (0: any age). Both whole: a join waits for its right side.
Result<Batch> as_of_join(const Batch& left, const Batch& right, const std::vector<std::string>& keys, int64_t within_us);

}  // namespace walle::stream
