// GraphSpec: a chain of stream operators as data: what a task carries, a device verifies, and Graph runs.
//
// A spec names what it needs of its surroundings and holds none of it: models are names of resources, privacy
// accounts names in the log's state. So it can be written down (docs/reference/formats/graph.md), compared
// and printed. Times are microseconds of event time.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stream/operators/operators.h"

namespace walle::stream {

// Limits of what bytes may describe: far above what people write, and little enough that verifying takes
// microseconds and running takes no memory by itself.
inline constexpr size_t kMaxGraphSteps = 256;       // operators, those of right sides with them
inline constexpr size_t kMaxGraphNames = 256;       // columns, keys or aggregates of one operator
inline constexpr size_t kMaxGraphText = 16'384;     // bytes of one name or predicate
inline constexpr size_t kMaxGraphBytes = 1 << 20;   // of a graph written down
inline constexpr uint64_t kMaxGraphKeys = 1 << 24;  // that a state or a dedupe remembers
inline constexpr size_t kMaxJoinRows = 1 << 20;     // that wait on each side of a join

struct FilterStep {
  std::string predicate;
  friend bool operator==(const FilterStep&, const FilterStep&) = default;
};
struct MapStep {
  std::string out, left;
  char op = '=';
  std::string right;  // a number or a column
  friend bool operator==(const MapStep&, const MapStep&) = default;
};
struct SelectStep {
  std::vector<std::string> columns;
  friend bool operator==(const SelectStep&, const SelectStep&) = default;
};
struct DedupeStep {
  std::vector<std::string> keys;
  int64_t within_us = 0;
  uint64_t max_keys = kDedupeKeys;
  friend bool operator==(const DedupeStep&, const DedupeStep&) = default;
};
struct EncodeStep {
  std::vector<std::string> columns;
  std::string out, model;  // model: a resource's name
  friend bool operator==(const EncodeStep&, const EncodeStep&) = default;
};
struct NoiseStep {
  NoiseSpec noise;
  std::string account;
  double limit = 0;  // epsilon that the account may spend for ever
  friend bool operator==(const NoiseStep&, const NoiseStep&) = default;
};
struct GraphStep;
// The rows so far with the columns of the newest row of `right` that is not younger, given when the stream
// ends. `right` computes its rows from the graph's own input, or from its second one.
struct JoinStep {
  std::vector<std::string> keys;
  int64_t within_us = 0;  // 0: any age
  bool second_input = false;
  std::vector<GraphStep> right;  // no join itself
  friend bool operator==(const JoinStep&, const JoinStep&);
};

struct GraphStep {
  using Any = std::variant<FilterStep, MapStep, SelectStep, DedupeStep, WindowSpec, StateSpec, EncodeStep,
                           NoiseStep, IpvSpec, JoinStep>;
  Any what;
  friend bool operator==(const GraphStep&, const GraphStep&) = default;
};

struct GraphSpec {
  std::vector<GraphStep> steps;
  friend bool operator==(const GraphSpec&, const GraphSpec&) = default;
};

// docs/reference/formats/graph.md. Errors: an argument error for a spec that verify()
// (stream/graph/graph_check.h) refuses; a model error for bytes that are damaged, of another version, or
// describe what verify() refuses.
Result<std::string> graph_bytes(const GraphSpec& spec);
Result<GraphSpec> parse_graph(std::string_view bytes);

// One line per operator, for people; what looks strange in names is quoted.
std::string graph_text(const GraphSpec& spec);

// The columns that a graph takes from its rows, beside those it makes itself, sorted: the contents that
// events must be read with. Not among them: event, page, session and page_instance, which all rows of a log
// have.
std::vector<std::string> fields_read(const GraphSpec& spec);

// The inputs a graph has: 1, or 2 where a join has the second.
size_t input_count(const GraphSpec& spec);

}  // namespace walle::stream
