// FlatBuffers -> ir::ModelData. Everything read here may be hostile: the structure verifier has passed,
// nothing else.
//
// What is checked here is what decoding itself stands on: numbers that become enums, sizes that are
// allocated, ranges that become windows of the map, depth that becomes recursion. What the graph means
// (order, producers, operators) is checked by ir/verify.h on the decoded graph, so that graphs from
// converters and from files pass through the same checks.
#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "base/crc32c.h"
#include "ir/paid_reader.h"
#include "ir/walle_file.h"
#include "schemas/model_generated.h"

namespace walle::ir::detail {

namespace {

namespace fb = walle_rt::fb;

constexpr size_t kShownName = 64;  // bytes of a name not checked yet that a message quotes

class Reader : PaidReader {
 public:
  Reader(std::span<const std::byte> graph, const Buffer& weights, std::string where)
      : PaidReader(graph.size(), std::move(where)), weights_(weights) {}

  Result<ModelData> model(const fb::Model& m, Check check) {
    if (m.version() == 0 || m.version() > kSchemaVersion)
      return model_error({"schema version ", m.version()}, {"1..", kSchemaVersion}, where(),
                         "use a runtime as new as the converter");
    segments_ = m.segments();
    WALLE_TRY(aligned<fb::Segment>(segments_));
    if (check == Check::weights) WALLE_TRY(checksums(m.checksums()));
    ModelData out;
    WALLE_TRY(graph(*m.graph(), 0, out.graph));
    if (m.signatures()) {
      for (const fb::Signature* s : *m.signatures()) {
        Signature signature;
        WALLE_ASSIGN(signature.name, text(s->name()));
        WALLE_TRY(pairs(s->inputs(), signature.inputs));
        WALLE_TRY(pairs(s->outputs(), signature.outputs));
        out.signatures.push_back(std::move(signature));
      }
    }
    std::vector<std::pair<std::string, std::string>> metadata;
    WALLE_TRY(pairs(m.metadata(), metadata));
    for (auto& [key, value] : metadata) out.metadata[key] = std::move(value);
    return out;
  }

 private:
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  Status pairs(const flatbuffers::Vector<flatbuffers::Offset<fb::Pair>>* from, Pairs& to) {
    if (!from) return {};
    for (const fb::Pair* p : *from) {
      WALLE_ASSIGN(std::string key, text(p->key()));
      WALLE_ASSIGN(std::string value, text(p->value()));
      to.emplace_back(std::move(key), std::move(value));
    }
    return {};
  }

  Result<Tensor> constant(const fb::Constant& c) {
    const std::string place = where() + ", segment " + std::to_string(c.segment());
    if (c.dtype() == 0 || c.dtype() >= tensor::kDTypeCount)  // 0 is `undefined`: no constant has it
      return model_error({"dtype number ", c.dtype()}, {"1..", tensor::kDTypeCount - 1}, place,
                         kConvertAgain);
    const auto dtype = static_cast<DType>(c.dtype());
    WALLE_ASSIGN(const std::vector<int64_t> dims, list(c.dims()));
    WALLE_ASSIGN(const Shape shape, Shape::checked(dims, dtype_size(dtype), place));
    WALLE_ASSIGN(const Buffer bytes, segment(c.segment(), place));
    const auto want = static_cast<uint64_t>(shape.elements() * dtype_size(dtype));
    if (bytes.size() != want)
      return model_error({bytes.size(), " bytes for ", dtype_name(dtype), shape.text()}, {want, " bytes"},
                         place, kConvertAgain);
    // A window and no copy: weights stay in the mapped file, and pages nobody reads are never loaded.
    Tensor out(dtype, shape, bytes);
    if (dtype == DType::boolean) WALLE_TRY(plain_booleans(out, c.segment(), place));
    return out;
  }

  // Ranges are compared by subtraction from the area's size: a sum of two numbers of the file could overflow.
  Result<Buffer> segment(uint32_t number, const std::string& place) const {
    if (!segments_ || number >= segments_->size())
      return model_error({"segment ", number}, {"a number below ", segments_ ? segments_->size() : 0},
                         where(), kConvertAgain);
    const fb::Segment& s = *segments_->Get(number);
    if (s.offset() % static_cast<uint64_t>(base::kSegmentAlignment) != 0 || s.offset() > weights_.size() ||
        s.bytes() > weights_.size() - s.offset())
      return model_error({"bytes ", s.offset(), "+", s.bytes(), " of a weight area of ", weights_.size()},
                         "an aligned range inside it", place, kConvertAgain);
    return weights_.part(s.offset(), s.bytes());
  }

  // Of all segments, used or not: what is damaged may be what a later reader uses. Reads no more bytes than
  // there are.
  Status checksums(const flatbuffers::Vector<uint32_t>* sums) const {
    WALLE_TRY(aligned<uint32_t>(sums));
    const size_t count = segments_ ? segments_->size() : 0;
    if ((sums ? sums->size() : 0) != count)
      return model_error({sums ? sums->size() : 0, " checksums of weights"},
                         {"one for each of ", count, " segments"}, where(), kConvertAgain);
    uint64_t left = weights_.size();
    for (uint32_t i = 0; i < count; ++i) {
      const std::string place = where() + ", segment " + std::to_string(i);
      WALLE_ASSIGN(const Buffer bytes, segment(i, place));
      if (bytes.size() > left)
        return model_error("segments that overlap", "segments apart from each other", place, kConvertAgain);
      left -= bytes.size();
      if (base::crc32c(0, bytes.data(), bytes.size()) != sums->Get(i))
        return model_error(
            "weights with a wrong checksum",
            {"the CRC-32C of bytes ", segments_->Get(i)->offset(), "+", bytes.size(), " of the weight area"},
            place, kConvertAgain);
    }
    return {};
  }

  // The one dtype whose bytes are looked at: reading a bool that is neither 0 nor 1 is undefined behaviour in
  // C++, any bits are some number of the other dtypes. Reads each segment once, and no more bytes than there
  // are: segments of a hostile file may overlap.
  Status plain_booleans(const Tensor& t, uint32_t segment, const std::string& place) {
    if (!boolean_segments_.insert(segment).second) return {};
    boolean_bytes_ += t.bytes();
    if (boolean_bytes_ > static_cast<int64_t>(weights_.size()))
      return model_error("boolean segments that overlap", "segments apart from each other", place,
                         kConvertAgain);
    if (t.has_plain_booleans()) return {};
    return model_error("a boolean that is neither 0 nor 1", "0 or 1", place, kConvertAgain);
  }

  Result<Value> value(const fb::Value& v) {
    Value out;
    WALLE_TRY(pay(static_cast<int64_t>(sizeof(Value))));
    WALLE_ASSIGN(out.name, name(v.name()));
    if (v.kind() > fb::ValueKind::MAX || v.dtype() >= tensor::kDTypeCount)
      return model_error({"kind ", static_cast<int>(v.kind()), ", dtype ", v.dtype()}, "known ones",
                         place_of(out), kConvertAgain);
    out.kind = static_cast<ValueKind>(v.kind());
    out.dtype = static_cast<DType>(v.dtype());
    if (v.has_shape()) {  // a field of its own: an absent list is rank 0, which is not an unknown rank
      out.shape.emplace();
      if (v.shape()) WALLE_TRY(dims(*v.shape(), out));
    }
    if (v.constant()) {
      WALLE_ASSIGN(out.constant, constant(*v.constant()));
      out.dtype = out.constant->dtype();  // what the bytes are; the declaration could only repeat it
    }
    return out;
  }

  std::string place_of(const Value& v) const { return where() + ", value '" + v.name + "'"; }

  Status dims(const flatbuffers::Vector<flatbuffers::Offset<fb::Dim>>& from, Value& to) {
    if (from.size() > static_cast<size_t>(base::kMaxRank))
      return model_error({"rank ", from.size()}, {"at most ", base::kMaxRank}, place_of(to), kConvertAgain);
    for (const fb::Dim* d : from) {
      Dim dim{d->size(), {}};
      WALLE_ASSIGN(dim.symbol, name(d->symbol()));
      if (dim.size < -1)
        return model_error({"dimension ", dim.size}, "-1 or a size", place_of(to), kConvertAgain);
      to.shape->push_back(std::move(dim));
    }
    return {};
  }

  // `kind` alone says which field counts. A kind without its field is an error and never a default: an older
  // writer's lists of texts lay in another field, and would be read as empty ones.
  Result<AttrValue> attribute(const fb::Attribute& a, int depth) {
    using Kind = fb::AttributeKind;
    switch (a.kind()) {
      case Kind::i: return AttrValue(a.i());
      case Kind::f: return AttrValue(a.f());
      case Kind::s: return lift(text(a.s()));
      case Kind::ints: return lift(list(a.ints()));
      case Kind::floats: return lift(list(a.floats()));
      case Kind::strings:
        if (a.texts()) return lift(texts(*a.texts()));
        break;
      case Kind::tensor:
        if (a.tensor()) return lift(constant(*a.tensor()));
        break;
      case Kind::graph:
        if (a.graph()) {
          auto body = std::make_shared<Graph>();
          WALLE_TRY(graph(*a.graph(), depth + 1, *body));
          return AttrValue(std::shared_ptr<const Graph>(std::move(body)));
        }
        break;
      case Kind::none: break;
    }
    return model_error({"attribute '", a.name()->str().substr(0, kShownName), "' of kind ",
                        static_cast<int>(a.kind()), " without a value"},
                       "a known kind and its value", where(), kConvertAgain);
  }

  Result<std::vector<std::string>> texts(const flatbuffers::Vector<flatbuffers::Offset<fb::Text>>& from) {
    std::vector<std::string> out;
    for (const fb::Text* t : from) {
      WALLE_ASSIGN(out.emplace_back(), text(t->value()));
    }
    return out;
  }

  template <class T>
  static Result<AttrValue> lift(Result<T> r) {
    if (!r.ok()) return r.take_error();
    return AttrValue(std::move(r).value());
  }

  Status node(const fb::Node& n, int depth, Node& out) {
    WALLE_TRY(pay(static_cast<int64_t>(sizeof(Node))));
    WALLE_ASSIGN(out.op, name(n.op()));
    WALLE_ASSIGN(out.name, name(n.name()));
    WALLE_ASSIGN(out.inputs, list(n.inputs()));
    WALLE_ASSIGN(out.outputs, list(n.outputs()));
    if (!n.attributes()) return {};
    // Before they are read and not only in ir/verify.h: finding one by name looks at all, so a node with very
    // many of them would take their square.
    if (n.attributes()->size() > base::kMaxAttributes)
      return model_error({n.attributes()->size(), " attributes"}, {"at most ", base::kMaxAttributes},
                         {where(), ", ", describe(out)}, kConvertAgain);
    for (const fb::Attribute* a : *n.attributes()) {
      WALLE_ASSIGN(std::string key, name(a->name()));
      WALLE_ASSIGN(AttrValue value, attribute(*a, depth));
      out.attributes.set(std::move(key), std::move(value));
    }
    return {};
  }

  Status graph(const fb::Graph& g, int depth, Graph& out) {
    if (depth >= base::kMaxGraphDepth)
      return model_error({"graphs nested ", depth + 1, " deep"}, {"at most ", base::kMaxGraphDepth}, where(),
                         kConvertAgain);
    WALLE_ASSIGN(out.name, name(g.name()));
    if (g.values())
      for (const fb::Value* v : *g.values()) {
        WALLE_ASSIGN(out.values.emplace_back(), value(*v));
      }
    if (g.nodes())
      for (const fb::Node* n : *g.nodes()) WALLE_TRY(node(*n, depth, out.nodes.emplace_back()));
    WALLE_ASSIGN(out.inputs, list(g.inputs()));
    WALLE_ASSIGN(out.outputs, list(g.outputs()));
    WALLE_ASSIGN(out.overridable, list(g.overridable()));
    if (g.states()) {
      WALLE_TRY(pay(static_cast<int64_t>(sizeof(State)) * g.states()->size()));
      for (const fb::State* state : *g.states()) out.states.push_back({state->value(), state->next()});
    }
    return {};
  }

  Buffer weights_;
  std::set<uint32_t> boolean_segments_;  // those looked at
  int64_t boolean_bytes_ = 0;
  const flatbuffers::Vector<const fb::Segment*>* segments_ = nullptr;
};

// Less than a root offset, the identifier and a table with its own offset holds no model.
constexpr size_t kSmallestGraph = 16;
// A level of nested graphs is three tables deep (Graph, Node, Attribute), and the innermost ends in two more
// (Value, Constant). Twice and more what the reader itself accepts, because this limit keeps the verifier's
// stack, and the reader's gives the better message.
constexpr uint32_t kTablesPerLevel = 8;
// A table takes 8 bytes, its reference included: more visits than that are of tables used twice, which no
// writer makes. The few more let tiny files fail by their real fault. The cap bounds the verifier's time for
// the largest file; it is above kMaxValues and kMaxNodes together with an attribute for each node.
constexpr size_t kBytesPerTable = 8;
constexpr size_t kSpareTables = 64;
constexpr size_t kMaxTables = size_t{1} << 24;

}  // namespace

Result<ModelData> parse_graph(std::span<const std::byte> graph, const Buffer& weights,
                              const std::string& where, Check check) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(graph.data());
  flatbuffers::Verifier::Options options;
  options.max_depth = kTablesPerLevel * base::kMaxGraphDepth;
  options.max_tables = static_cast<flatbuffers::uoffset_t>(
      std::min<size_t>(graph.size() / kBytesPerTable + kSpareTables, kMaxTables));
  flatbuffers::Verifier verifier(bytes, graph.size(), options);
  if (graph.size() < kSmallestGraph || !fb::VerifyModelBuffer(verifier))
    return model_error("a graph whose structure is broken", "a FlatBuffer of schemas/model.fbs", where,
                       kConvertAgain);
  return Reader(graph, weights, where).model(*fb::GetModel(bytes), check);
}

}  // namespace walle::ir::detail
