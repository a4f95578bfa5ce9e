// Aggregates that can be merged: of two parts of the rows, the whole. That is what lets windows be revised,
// sessions be joined, and devices' results be added up.
#pragma once

#include <map>

#include "stream/operators/batch.h"

namespace walle::stream {

enum class AggregateKind : uint8_t {
#define WALLE_AGGREGATE(number, kind, parameters) kind = number,
#include "stream/operators/aggregate.inc"
};
enum class AggregateParameters : uint8_t { none, entries, bins };
struct AggregateFacts {
  std::string_view name;
  AggregateParameters parameters;
};
inline constexpr AggregateFacts kAggregates[] = {
#define WALLE_AGGREGATE(number, kind, parameters) {#kind, AggregateParameters::parameters},
#include "stream/operators/aggregate.inc"
};
inline constexpr auto kLastAggregate = static_cast<AggregateKind>(std::size(kAggregates) - 1);
constexpr const AggregateFacts& facts_of(AggregateKind kind) {
  return kAggregates[static_cast<size_t>(kind)];
}

struct AggregateSpec {
  AggregateKind kind = AggregateKind::count;
  std::string column, out;
  int k = 10;                // top_k: entries; histogram: bins
  double low = 0, high = 1;  // histogram
  friend bool operator==(const AggregateSpec&, const AggregateSpec&) = default;
};

Result<AggregateKind> aggregate_kind(std::string_view name);
Status check_aggregate(const AggregateSpec& spec);

// Not synchronised: parts are made apart and merged.
class Accumulator {
 public:
  void add(const AggregateSpec& spec, const Cell& cell);
  void merge(const AggregateSpec& spec, const Accumulator& other);
  // Integers for count and distinct, floats for the rest, a text "value:count,..." for top_k (with
  // "*:count" for rows of words past the limit) and "count,..." for histogram.
  Scalar result(const AggregateSpec& spec) const;

 private:
  int64_t count_ = 0;
  double sum_ = 0, mean_ = 0, m2_ = 0, min_ = 0, max_ = 0;
  std::vector<uint8_t> registers_;         // distinct: HyperLogLog, 1,024 registers, 3.3 % standard error
  std::map<std::string, int64_t> counts_;  // top_k: exact while at most kMaxTopWords are seen
  int64_t others_ = 0;                     // rows of further words
  std::vector<int64_t> bins_;
};

}  // namespace walle::stream
