// Stream operators: each takes batches of rows in any order of arrival and gives batches; what it gives
// depends on the rows and their order alone, never on how they were cut into batches.
//
// Event time: a row moves the watermark to its time less `disorder`. A window closes when the watermark
// reaches its end and is kept for `lateness` more: a row in that time gives a revision (column `revision`
// counts from 0), a later one is counted in late(). Nothing is dropped silently.
//
// Labels: what a column is computed from decides its sensitivity, and its path says how. Only noise lowers a
// label; a count of rows has none to lower. Not synchronised.
#pragma once

#include <algorithm>
#include <memory>

#include "stream/operators/aggregate.h"
#include "stream/operators/by_column.h"
#include "stream/operators/privacy.h"
#include "stream/trigger/predicate.h"

namespace walle::stream {

class Operator {
 public:
  virtual ~Operator() = default;
  virtual Result<Batch> push(const Batch& in) = 0;
  virtual Result<Batch> finish() { return Batch{}; }  // no more rows: everything open closes
  virtual uint64_t late() const { return 0; }         // rows after their window's lateness
  virtual uint64_t outside() const { return 0; }      // rows that belong to no page
  virtual uint64_t evicted() const { return 0; }      // keys whose state was given up

  // The highest label under which a column of this name was ever given; TracedBatch keeps to it.
  Sensitivity raised_label(const Batch& in, size_t column) const {
    const Column& c = in.columns[column];
    const Sensitivity* before = highest_.find(c.name, column);
    return before ? std::max(*before, c.sensitivity) : c.sensitivity;
  }
  void remember_labels(const Batch& in) {
    highest_.reserve(in.columns.size());
    for (size_t i = 0; i < in.columns.size(); ++i) {
      const Column& c = in.columns[i];
      Sensitivity& highest = highest_.at(c.name, i, c.sensitivity);
      highest = std::max(highest, c.sensitivity);
    }
  }

 private:
  ByColumn<Sensitivity> highest_;
};

// Rows for which a predicate of the trigger language holds.
Result<std::unique_ptr<Operator>> make_filter(std::string_view predicate);
// out = left op right, with op + - * /, right a column or a number; or out = left with op '='.
Result<std::unique_ptr<Operator>> make_map(std::string out, std::string left, char op, std::string right);
// Only the named columns.
Result<std::unique_ptr<Operator>> make_select(std::vector<std::string> columns);
// Keys that dedupe remembers: some 8 MB of short ones.
inline constexpr size_t kDedupeKeys = 65'536;
// The first row of each key within `within_us` of the one last let through (0: ever). Beyond `max_keys` the
// key not seen longest is forgotten, and counted in evicted().
Result<std::unique_ptr<Operator>> make_dedupe(std::vector<std::string> keys, int64_t within_us,
                                              size_t max_keys = kDedupeKeys);

// page: rows of one page instance (column page_instance), closed by the row whose column event is
// "page_exit", or after size_us without a row. whole: all rows of a key, closed by finish().
enum class WindowKind : uint8_t { tumbling, sliding, session, page, whole };
struct WindowSpec {
  WindowKind kind = WindowKind::tumbling;
  int64_t size_us = 0;  // session: the gap that ends one; page: the idle time
  int64_t slide_us = 0;
  int64_t disorder_us = 0, lateness_us = 0;
  std::vector<std::string> keys;
  std::vector<AggregateSpec> aggregates;
  friend bool operator==(const WindowSpec&, const WindowSpec&) = default;
};
// One row per key and window: keys, window_start, window_end, revision, aggregates; ts is the window's end.
Result<std::unique_ptr<Operator>> make_window(WindowSpec spec);

// What a key remembers from row to row: every row, with one more column.
enum class StateKind : uint8_t { previous, first, since, running };
struct StateSpec {
  StateKind kind = StateKind::previous;
  std::vector<std::string> keys;
  std::string column;  // previous and first value of this column; since: seconds since the key's previous row
  AggregateSpec aggregate;  // running: over the key's rows up to and with this one
  std::string out;
  size_t max_keys = 4096;  // the least recently seen key is forgotten, and counted
  friend bool operator==(const StateSpec&, const StateSpec&) = default;
};
Result<std::unique_ptr<Operator>> make_state(StateSpec spec);

// The item page view feature (stream/operators/ipv.h) of rows of page events: one row per page instance, with
// page_instance, window_start, window_end and the vector `out`. Rows have the columns page_instance and
// event, and what was scrolled to, shown and clicked in `depth` (a number) and `item` (an integer). A page
// ends with its page_exit, after `idle_us` without a row, or with kIpvRows rows; later rows of it are late.
inline constexpr size_t kIpvRows = 65'536;
struct IpvSpec {
  std::string depth = "depth", item = "item", out = "ipv";
  int64_t idle_us = 30 * kMinuteUs, disorder_us = 0;
  friend bool operator==(const IpvSpec&, const IpvSpec&) = default;
};
Result<std::unique_ptr<Operator>> make_ipv(IpvSpec spec);

// A network that turns vectors into shorter ones; implemented by whoever has an engine.
class Encoder {
 public:
  virtual ~Encoder() = default;
  // One row after another: inputs of `rows` x width floats, outputs appended to `out`, as many per row.
  virtual Status run(std::span<const float> in, size_t rows, Floats& out) = 0;
};
// `columns` (numbers and vectors, one after another) give the vector column `out`; the given columns go.
Result<std::unique_ptr<Operator>> make_encode(std::vector<std::string> columns, std::string out,
                                              std::shared_ptr<Encoder> encoder);

// Local differential privacy: the column's values with noise,
// labelled open; every row spends epsilon of the account.
enum class NoiseKind : uint8_t { laplace, gaussian, response };
struct NoiseSpec {
  NoiseKind kind = NoiseKind::laplace;
  std::string column;
  double low = 0,
         high = 1;  // laplace and gaussian: values are clamped; response: categories low..high, integers
  // delta: the chance that the promise of epsilon fails; below one over the number of users, says the usual
  // rule. resolution: the step of what is told, and of the noise.
  double epsilon = 1, delta = 1e-6, resolution = 1e-3;
  friend bool operator==(const NoiseSpec&, const NoiseSpec&) = default;
};
Status check_noise(const NoiseSpec& spec);
Result<std::unique_ptr<Operator>> make_noise(NoiseSpec spec, PrivacyAccount account, std::mt19937_64 random);

// For each row of `left`, the columns of the newest row of `right` with equal keys and a time not above its
// own, at most `within_us` older (0: any age). Both whole: a join waits for its right side.
Result<Batch> as_of_join(const Batch& left, const Batch& right, const std::vector<std::string>& keys,
                         int64_t within_us);

}  // namespace walle::stream
