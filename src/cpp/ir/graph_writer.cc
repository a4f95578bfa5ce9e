// ir::ModelData -> FlatBuffers graph and weight area.
#include <flatbuffers/flatbuffers.h>

#include <iterator>
#include <map>

#include "base/checked.h"
#include "ir/walle_file.h"
#include "schemas/model_generated.h"

namespace walle::ir::detail {

namespace {

namespace fb = walle_rt::fb;
template <class T>
using Off = flatbuffers::Offset<T>;

// 64 KiB, chosen: small graphs fit, and for larger ones the builder doubles it.
constexpr size_t kFirstBuffer = 1 << 16;

// Tables are built leaves first, as FlatBuffers wants it: strings and vectors before the table that names
// them, bodies before the node that holds them. Everything is written in the order of the graph's own lists,
// never in that of a hash or an address, so that one graph gives the same bytes each time.
class Writer {
 public:
  Parts model(const ModelData& data) {
    const auto main = graph(data.graph);
    std::vector<Off<fb::Signature>> signatures;
    for (const Signature& s : data.signatures) {
      const auto inputs = pairs(s.inputs), outputs = pairs(s.outputs);
      signatures.push_back(fb::CreateSignature(b_, b_.CreateString(s.name), inputs, outputs));
    }
    const auto metadata = pairs({data.metadata.begin(), data.metadata.end()});
    const auto signature_list = b_.CreateVector(signatures);
    const auto segments = b_.CreateVectorOfStructs(segments_);
    const auto checksums = b_.CreateVector(std::vector<uint32_t>(segments_.size()));
    b_.Finish(fb::CreateModel(b_, kSchemaVersion, main, signature_list, metadata, segments, checksums),
              fb::ModelIdentifier());
    const uint8_t* begin = b_.GetBufferPointer();
    parts_.checksums = static_cast<size_t>(fb::GetModel(begin)->checksums()->Data() - begin);
    parts_.graph.assign(reinterpret_cast<const char*>(begin), b_.GetSize());
    return std::move(parts_);
  }

 private:
  Off<flatbuffers::Vector<Off<fb::Pair>>> pairs(
      const std::vector<std::pair<std::string, std::string>>& from) {
    std::vector<Off<fb::Pair>> out;
    for (const auto& [key, value] : from) {
      const auto k = b_.CreateString(key), v = b_.CreateString(value);
      out.push_back(fb::CreatePair(b_, k, v));
    }
    return b_.CreateVector(out);
  }

  // Equal memory is stored once: bodies share the constants of the graphs around them. The same memory, not
  // the same bytes: comparing every constant with every other would read all weights to find what converters
  // seldom make.
  uint32_t segment(const Tensor& t) {
    const size_t bytes = t.bytes();
    const auto [it, fresh] =
        known_.try_emplace({t.address(), bytes}, static_cast<uint32_t>(segments_.size()));
    if (!fresh) return it->second;
    const auto offset = static_cast<uint64_t>(
        base::round_up(static_cast<int64_t>(parts_.weights_bytes), base::kSegmentAlignment));
    segments_.emplace_back(offset, bytes);
    parts_.segments.push_back(t);
    parts_.offsets.push_back(offset);
    parts_.weights_bytes = offset + bytes;
    return it->second;
  }

  Off<fb::Constant> constant(const Tensor& t) {
    const std::vector<int64_t> dims(t.shape().begin(), t.shape().end());
    const auto list = b_.CreateVector(dims);
    return fb::CreateConstant(b_, static_cast<uint8_t>(t.dtype()), list, segment(t));
  }

  Off<fb::Value> value(const Value& v, bool used) {
    const auto name = b_.CreateSharedString(v.name);
    Off<flatbuffers::Vector<Off<fb::Dim>>> shape = 0;
    if (v.shape) {
      std::vector<Off<fb::Dim>> dims;
      for (const Dim& d : *v.shape) {
        const Off<flatbuffers::String> symbol = d.symbol.empty() ? 0 : b_.CreateSharedString(d.symbol);
        dims.push_back(fb::CreateDim(b_, d.size, symbol));
      }
      shape = b_.CreateVector(dims);
    }
    const Off<fb::Constant> held = v.constant && used ? constant(*v.constant) : 0;
    return fb::CreateValue(b_, name, static_cast<fb::ValueKind>(v.kind), static_cast<uint8_t>(v.dtype),
                           v.shape.has_value(), shape, held);
  }

  Off<fb::Attribute> attribute(const std::string& key, const AttrValue& v) {
    using Kind = fb::AttributeKind;
    const auto name = b_.CreateSharedString(key);
    if (const auto* i = std::get_if<int64_t>(&v)) return fb::CreateAttribute(b_, name, Kind::i, *i);
    if (const auto* f = std::get_if<double>(&v)) return fb::CreateAttribute(b_, name, Kind::f, 0, *f);
    if (const auto* s = std::get_if<std::string>(&v))
      return finish(name, Kind::s, &fb::AttributeBuilder::add_s, b_.CreateString(*s));
    if (const auto* l = std::get_if<std::vector<int64_t>>(&v))
      return finish(name, Kind::ints, &fb::AttributeBuilder::add_ints, b_.CreateVector(*l));
    if (const auto* l = std::get_if<std::vector<double>>(&v))
      return finish(name, Kind::floats, &fb::AttributeBuilder::add_floats, b_.CreateVector(*l));
    if (const auto* l = std::get_if<std::vector<std::string>>(&v)) {
      std::vector<Off<fb::Text>> texts;
      for (const std::string& s : *l) texts.push_back(fb::CreateText(b_, b_.CreateString(s)));
      return finish(name, Kind::strings, &fb::AttributeBuilder::add_texts, b_.CreateVector(texts));
    }
    if (const auto* t = std::get_if<Tensor>(&v))
      return finish(name, Kind::tensor, &fb::AttributeBuilder::add_tensor, constant(*t));
    return finish(name, Kind::graph, &fb::AttributeBuilder::add_graph,
                  graph(*std::get<std::shared_ptr<const Graph>>(v)));
  }

  template <class Add, class Value>
  Off<fb::Attribute> finish(Off<flatbuffers::String> name, fb::AttributeKind kind, Add add, Value value) {
    fb::AttributeBuilder out(b_);
    out.add_name(name);
    out.add_kind(kind);
    (out.*add)(value);
    return out.Finish();
  }

  Off<fb::Node> node(const Node& n) {
    std::vector<Off<fb::Attribute>> attributes;
    for (const auto& [key, v] : n.attributes.items()) attributes.push_back(attribute(key, v));
    const auto op = b_.CreateSharedString(n.op);
    const auto name = b_.CreateString(n.name);
    const auto inputs = b_.CreateVector(n.inputs), outputs = b_.CreateVector(n.outputs);
    const auto list = b_.CreateVector(attributes);
    return fb::CreateNode(b_, op, name, inputs, outputs, list);
  }

  // Folding leaves constants behind that nobody reads any more; their bytes stay out of the file. The values
  // stay, without their constants: taking them out would renumber all others.
  static std::vector<bool> uses(const Graph& g) {
    std::vector<bool> used(g.values.size(), false);
    for (const Node& n : g.nodes)
      for (const ValueId id : n.inputs)
        if (id != kNone) used[id] = true;
    for (const ValueId id : g.outputs) used[id] = true;
    for (const ValueId id : g.overridable) used[id] = true;
    for (const State& state : g.states) {
      used[state.value] = true;
      used[state.next] = true;
    }
    return used;
  }

  Off<fb::Graph> graph(const Graph& g) {
    std::vector<Off<fb::Value>> values;
    const std::vector<bool> used = uses(g);
    for (size_t i = 0; i < g.values.size(); ++i) values.push_back(value(g.values[i], used[i]));
    std::vector<Off<fb::Node>> nodes;
    for (const Node& n : g.nodes) nodes.push_back(node(n));
    const auto name = b_.CreateString(g.name);
    const auto value_list = b_.CreateVector(values);
    const auto node_list = b_.CreateVector(nodes);
    const auto inputs = b_.CreateVector(g.inputs), outputs = b_.CreateVector(g.outputs);
    const auto overridable = g.overridable.empty() ? 0 : b_.CreateVector(g.overridable);
    std::vector<fb::State> states;
    for (const State& state : g.states) states.emplace_back(state.value, state.next);
    const auto state_list = states.empty() ? 0 : b_.CreateVectorOfStructs(states);
    return fb::CreateGraph(b_, name, value_list, node_list, inputs, outputs, overridable, state_list);
  }

  flatbuffers::FlatBufferBuilder b_{kFirstBuffer};
  Parts parts_;
  std::vector<fb::Segment> segments_;
  std::map<std::pair<const void*, size_t>, uint32_t> known_;  // segments by address and size
};

// FlatBuffers addresses 2 GiB; beyond it the builder would stop the process, so the size is estimated first.
// From above: each figure is what the record takes with its fields, their offsets, an own vtable and padding,
// although records of one form share a vtable. A graph that is refused for the difference is far from any
// real one; one that is let through must fit.
constexpr int64_t kGraphRecord = 256;
constexpr int64_t kValueRecord = 128;
constexpr int64_t kDimRecord = 48;
constexpr int64_t kNodeRecord = 128;
constexpr int64_t kAttributeRecord = 96;
constexpr int64_t kTextRecord = 32;

int64_t estimate(const Graph& g, int depth);

struct AttributeBytes {
  int depth;
  int64_t operator()(int64_t) const { return 0; }  // in the record itself, as is the next
  int64_t operator()(double) const { return 0; }
  int64_t operator()(const std::string& s) const { return std::ssize(s); }
  int64_t operator()(const std::vector<int64_t>& v) const { return std::ssize(v) * 8; }
  int64_t operator()(const std::vector<double>& v) const { return std::ssize(v) * 8; }
  int64_t operator()(const std::vector<std::string>& v) const {
    int64_t total = 0;
    for (const std::string& s : v) total += kTextRecord + std::ssize(s);
    return total;
  }
  int64_t operator()(const Tensor&) const { return 0; }  // its bytes go to the weight area
  int64_t operator()(const std::shared_ptr<const Graph>& body) const {
    return body ? estimate(*body, depth + 1) : 0;
  }
};

int64_t estimate(const Graph& g, int depth) {
  if (depth > base::kMaxGraphDepth) return base::kMaxGraphBytes + 1;  // nothing that could be read again
  int64_t total = kGraphRecord;
  for (const Value& v : g.values)
    total += kValueRecord + std::ssize(v.name) + (v.shape ? kDimRecord * std::ssize(*v.shape) : 0);
  for (const Node& n : g.nodes) {
    total += kNodeRecord + std::ssize(n.name) + std::ssize(n.op) +
             static_cast<int64_t>(sizeof(ValueId)) * (std::ssize(n.inputs) + std::ssize(n.outputs));
    for (const auto& [key, v] : n.attributes.items()) {
      total += kAttributeRecord + std::ssize(key) + std::visit(AttributeBytes{depth}, v);
      if (total > base::kMaxGraphBytes) return total;  // bodies that are used twice may be 2^64
    }
  }
  return total;
}

}  // namespace

Result<Parts> serialize_parts(const ModelData& data) {
  const int64_t size = estimate(data.graph, 0);
  if (size > base::kMaxGraphBytes)
    return model_error({"a graph of about ", size, " bytes without its weights"},
                       {"at most ", base::kMaxGraphBytes}, "save", "split the model");
  return Writer().model(data);
}

}  // namespace walle::ir::detail
