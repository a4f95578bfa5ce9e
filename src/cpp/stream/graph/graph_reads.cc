// Which columns a graph takes from outside: what its operators name, less what earlier ones made.
#include <set>

#include "base/read_number.h"
#include "stream/graph/graph_spec.h"
#include "stream/trigger/trigger_spec.h"

namespace walle::stream {

namespace {

using Names = std::set<std::string>;

// Columns as they are known while the rows go through the operators.
struct ReadColumns {
  Names& outside;  // read from the graph's input
  Names made = {};
  bool closed = false;  // all columns are made: nothing more comes from outside

  void read(const std::string& column) {
    if (!closed && !made.contains(column)) outside.insert(column);
  }
  void read(const std::vector<std::string>& columns) {
    for (const std::string& c : columns) read(c);
  }
  void read(const std::vector<AggregateSpec>& aggregates) {
    for (const AggregateSpec& a : aggregates)
      if (!a.column.empty()) read(a.column);
  }

  void operator()(const FilterStep& s) {
    // Precondition: verified, so that it parses.
    const auto spec = parse_trigger("*[" + s.predicate + "]");
    if (!spec.ok()) return;
    for (const auto& node : spec->steps[0].any_of[0].predicate.nodes)
      if (!node.field.empty()) read(node.field);
  }
  void operator()(const MapStep& s) {
    read(s.left);
    double constant = 0;
    const char* end = s.right.data() + s.right.size();
    const auto number = read_number(s.right.data(), end, constant);
    if (s.op != '=' && (number.ec != std::errc() || number.ptr != end)) read(s.right);
    made.insert(s.out);
  }
  void operator()(const SelectStep& s) { read(s.columns); }
  void operator()(const DedupeStep& s) { read(s.keys); }
  void operator()(const WindowSpec& s) {
    read(s.keys);
    read(s.aggregates);
    closed = true;
    for (const AggregateSpec& a : s.aggregates) made.insert(a.out);
  }
  void operator()(const StateSpec& s) {
    read(s.keys);
    if (!s.column.empty()) read(s.column);
    made.insert(s.out);
  }
  void operator()(const EncodeStep& s) {
    read(s.columns);
    made.insert(s.out);
  }
  void operator()(const NoiseStep& s) { read(s.noise.column); }
  void operator()(const IpvSpec& s) {
    read(s.depth);
    read(s.item);
    closed = true;
  }
  void operator()(const JoinStep& s) {
    read(s.keys);
    Names elsewhere;
    ReadColumns right{s.second_input ? elsewhere : outside};
    for (const GraphStep& step : s.right) std::visit(right, step.what);
    right.read(s.keys);
    for (const std::string& name : right.made) {
      made.insert(name);
      made.insert(name + "_right");
    }
    // What a second input brings has no names here: what later operators read may be its columns.
    closed = closed || (s.second_input && !right.closed);
  }
};

}  // namespace

std::vector<std::string> fields_read(const GraphSpec& spec) {
  Names outside;
  ReadColumns reader{outside};
  for (const GraphStep& step : spec.steps) std::visit(reader, step.what);
  for (const char* name : {"event", "page", "session", "page_instance"}) outside.erase(name);
  return {outside.begin(), outside.end()};
}

}  // namespace walle::stream
