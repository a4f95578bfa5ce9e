// The portable graph: what .walle files store. Values, nodes in topological order, nested graphs in
// attributes.
//
// Graphs are closed: a body (If, Loop, Scan, Gradient) names everything it takes from outside as an input of
// its own, after its formal inputs, and the node with the body lists the captured values after its own
// inputs (attribute "captures" counts them per body: "<attr>_captures"). So a graph can be planned, checked
// and run without its parent. Immutable once verified; shared by every session of a model.
//
// Values are numbers into the graph's own list, and nodes have none; no pointers. A number is what the file
// holds, one comparison makes it safe to use, a graph is copied by copying vectors, tables by value are plain
// vectors, and whatever walks a graph does so in the same order on every run. The price is that nothing is
// taken out: a value that no node uses any more keeps its place, because taking it out would renumber the
// others.
//
// The list of nodes is the order of execution. A file has to bring one (ir/verify.h proves it), so that no
// stage sorts, recurses along edges, or can meet a cycle.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attributes.h"

namespace walle::ir {

// 32 bits, as in the file: base::kMaxValues is far below what they count, and lists of operands stay half as
// long as with 64. Signed, so that "none" is a number too.
using ValueId = int32_t;
inline constexpr ValueId kNone = -1;  // an omitted optional input or output

struct Dim {
  int64_t size = -1;   // -1: not known before run time; 0 is a size, tensors may be empty
  std::string symbol;  // the name of a symbolic dimension, or empty
};

// The numbers are those of schemas/model.fbs.
enum class ValueKind : uint8_t { tensor = 0, sequence = 1, optional = 2 };
std::string_view value_kind_name(ValueKind kind);
std::optional<ValueKind> value_kind_from_name(std::string_view name);

struct Value {
  std::string name;
  ValueKind kind = ValueKind::tensor;
  DType dtype = DType::undefined;         // undefined: inferred
  std::optional<std::vector<Dim>> shape;  // absent: unknown rank
  std::optional<Tensor> constant;
};

// An operator is a name and not a number: files and dumps say it, an unknown one can be reported as itself,
// and adding one changes no schema. Planning looks it up once for each node.
struct Node {
  std::string op;
  std::string name;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes;
};

// A value that a session owns: what a run begins with, and what it leaves for the next one.
struct State {
  ValueId value = kNone;  // a constant: what a session begins with
  ValueId next = kNone;
};

struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  // Constants that a run may give another value: ONNX's initializers that are inputs too. Of the outermost
  // graph alone; bodies take such a value as an input.
  std::vector<ValueId> overridable;
  std::vector<State> states;  // of the outermost graph alone, too

  ValueId add_value(Value value) {
    values.push_back(std::move(value));
    return static_cast<ValueId>(values.size() - 1);
  }
  Value& at(ValueId id) { return values[id]; }
  const Value& at(ValueId id) const { return values[id]; }
};

struct Signature {
  std::string name;
  std::vector<std::pair<std::string, std::string>> inputs;  // public name -> value name
  std::vector<std::pair<std::string, std::string>> outputs;
};

struct ModelData {
  Graph graph;
  std::vector<Signature> signatures;
  std::map<std::string, std::string> metadata;  // ordered, so that a model is written the same each time
  std::vector<Buffer> files;                    // that constants are windows of: a window of each
};

// The error of the first file that was written to since it was mapped.
Status check_files(const ModelData& data);

std::string describe(const Node& node);  // "node 'conv1' (Conv)"
std::string dump(const Graph& graph);    // one line per node, for people and golden files

}  // namespace walle::ir
