// FlatBuffers -> ir::ModelData. Everything read here may be hostile: the structure verifier has passed,
// nothing else.
#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "base/utf8.h"
#include "ir/walle_file.h"
#include "schemas/model_generated.h"

namespace walle::ir::detail {

namespace {

namespace fb = walle_rt::fb;

constexpr uint32_t kSchemaVersion = 1;
constexpr const char* kAgain = "the file is damaged: copy or convert it again";

// FlatBuffers may name one table many times, so that a small file can describe a huge graph. Every byte
// decoded is paid for from a budget proportional to the file.
class Reader {
 public:
  Reader(std::span<const std::byte> graph, std::span<const std::byte> weights,
         std::shared_ptr<const void> owner, std::string where)
      : weights_(weights),
        owner_(std::move(owner)),
        where_(std::move(where)),
        budget_(static_cast<int64_t>(graph.size()) * 16 + (int64_t{16} << 20)) {}

  Result<ModelData> model(const fb::Model& m) {
    if (m.version() == 0 || m.version() > kSchemaVersion)
      return model_error("schema version " + std::to_string(m.version()),
                         "1.." + std::to_string(kSchemaVersion), where_,
                         "use a runtime as new as the converter");
    segments_ = m.segments();
    WALLE_TRY(aligned<fb::Segment>(segments_));
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
  Status pay(int64_t bytes) {
    budget_ -= bytes;
    if (budget_ >= 0) return {};
    return model_error("a graph that expands far beyond its file", "tables that are used once", where_,
                       kAgain);
  }

  Result<std::string> text(const flatbuffers::String* s) {
    if (!s) return std::string();
    WALLE_TRY(pay(s->size() + 32));
    if (!base::valid_utf8(s->string_view()))
      return model_error("a text that is not UTF-8", "UTF-8", where_, kAgain);
    return s->str();
  }

  // A name: bounded, so that messages and traces stay readable.
  Result<std::string> name(const flatbuffers::String* s) {
    if (s && s->size() > base::kMaxNameBytes)
      return model_error("a name of " + std::to_string(s->size()) + " bytes",
                         "at most " + std::to_string(base::kMaxNameBytes), where_, kAgain);
    return text(s);
  }

  // The FlatBuffers verifier checks how a vector's length is aligned, not its elements.
  template <class T, class Vector>
  Status aligned(const Vector* v) {
    if (!v || v->size() == 0 || reinterpret_cast<uintptr_t>(v->Data()) % alignof(T) == 0) return {};
    return model_error("a list at an odd address", std::to_string(alignof(T)) + "-byte alignment", where_,
                       kAgain);
  }

  template <class T>
  Result<std::vector<T>> list(const flatbuffers::Vector<T>* v) {
    if (!v) return std::vector<T>();
    WALLE_TRY(aligned<T>(v));
    WALLE_TRY(pay(static_cast<int64_t>(v->size()) * static_cast<int64_t>(sizeof(T)) + 24));
    return std::vector<T>(v->begin(), v->end());
  }

  Status pairs(const flatbuffers::Vector<flatbuffers::Offset<fb::Pair>>* from,
               std::vector<std::pair<std::string, std::string>>& to) {
    if (!from) return {};
    for (const fb::Pair* p : *from) {
      WALLE_ASSIGN(std::string key, text(p->key()));
      WALLE_ASSIGN(std::string value, text(p->value()));
      to.emplace_back(std::move(key), std::move(value));
    }
    return {};
  }

  Result<Tensor> constant(const fb::Constant& c) {
    const std::string where = where_ + ", segment " + std::to_string(c.segment());
    if (c.dtype() == 0 || c.dtype() >= tensor::kDTypeCount)
      return model_error("dtype number " + std::to_string(c.dtype()),
                         "1.." + std::to_string(tensor::kDTypeCount - 1), where, kAgain);
    const auto dtype = static_cast<DType>(c.dtype());
    WALLE_ASSIGN(const std::vector<int64_t> dims, list(c.dims()));
    WALLE_ASSIGN(const Shape shape, Shape::checked(dims, dtype_size(dtype), where));
    if (!segments_ || c.segment() >= segments_->size())
      return model_error("segment " + std::to_string(c.segment()),
                         "a number below " + std::to_string(segments_ ? segments_->size() : 0), where_,
                         kAgain);
    const fb::Segment& s = *segments_->Get(c.segment());
    const auto want = static_cast<uint64_t>(shape.elements() * dtype_size(dtype));
    if (s.offset() % static_cast<uint64_t>(base::kSegmentAlignment) != 0 || s.offset() > weights_.size() ||
        s.bytes() > weights_.size() - s.offset())
      return model_error("bytes " + std::to_string(s.offset()) + "+" + std::to_string(s.bytes()) +
                             " of a weight area of " + std::to_string(weights_.size()),
                         "an aligned range inside it", where, kAgain);
    if (s.bytes() != want)
      return model_error(
          std::to_string(s.bytes()) + " bytes for " + std::string(dtype_name(dtype)) + shape.text(),
          std::to_string(want) + " bytes", where, kAgain);
    Tensor out(dtype, shape, Buffer::window(owner_, weights_.data() + s.offset(), s.bytes()));
    if (dtype == DType::boolean) WALLE_TRY(plain_booleans(out, c.segment(), where));
    return out;
  }

  // Reads each segment once, and no more bytes than there are: segments of a hostile file may overlap.
  Status plain_booleans(const Tensor& t, uint32_t segment, const std::string& where) {
    if (!boolean_segments_.insert(segment).second) return {};
    boolean_bytes_ += t.bytes();
    if (boolean_bytes_ > static_cast<int64_t>(weights_.size()))
      return model_error("boolean segments that overlap", "segments apart from each other", where, kAgain);
    if (t.has_plain_booleans()) return {};
    return model_error("a boolean that is neither 0 nor 1", "0 or 1", where, kAgain);
  }

  Result<Value> value(const fb::Value& v) {
    Value out;
    WALLE_TRY(pay(static_cast<int64_t>(sizeof(Value))));
    WALLE_ASSIGN(out.name, name(v.name()));
    if (v.kind() > fb::ValueKind::MAX || v.dtype() >= tensor::kDTypeCount)
      return model_error(
          "kind " + std::to_string(static_cast<int>(v.kind())) + ", dtype " + std::to_string(v.dtype()),
          "known ones", where_ + ", value '" + out.name + "'", kAgain);
    out.kind = static_cast<ValueKind>(v.kind());
    out.dtype = static_cast<DType>(v.dtype());
    if (v.has_shape()) {
      out.shape.emplace();
      if (v.shape()) {
        if (v.shape()->size() > static_cast<size_t>(base::kMaxRank))
          return model_error("rank " + std::to_string(v.shape()->size()),
                             "at most " + std::to_string(base::kMaxRank),
                             where_ + ", value '" + out.name + "'", kAgain);
        for (const fb::Dim* d : *v.shape()) {
          Dim dim{d->size(), {}};
          WALLE_ASSIGN(dim.symbol, name(d->symbol()));
          if (dim.size < -1)
            return model_error("dimension " + std::to_string(dim.size), "-1 or a size",
                               where_ + ", value '" + out.name + "'", kAgain);
          out.shape->push_back(std::move(dim));
        }
      }
    }
    if (v.constant()) {
      WALLE_ASSIGN(out.constant, constant(*v.constant()));
      out.dtype = out.constant->dtype();
    }
    return out;
  }

  Result<AttrValue> attribute(const fb::Attribute& a, int depth) {
    using Kind = fb::AttributeKind;
    switch (a.kind()) {
      case Kind::i: return AttrValue(a.i());
      case Kind::f: return AttrValue(a.f());
      case Kind::s: return lift(text(a.s()));
      case Kind::ints: return lift(list(a.ints()));
      case Kind::floats: return lift(list(a.floats()));
      case Kind::strings: {
        std::vector<std::string> out;
        if (!a.texts()) break;  // also files that hold them in the older field
        for (const fb::Text* t : *a.texts()) {
          WALLE_ASSIGN(out.emplace_back(), text(t->value()));
        }
        return AttrValue(std::move(out));
      }
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
    return model_error("attribute '" + a.name()->str().substr(0, 64) + "' of kind " +
                           std::to_string(static_cast<int>(a.kind())) + " without a value",
                       "a known kind and its value", where_, kAgain);
  }

  template <class T>
  static Result<AttrValue> lift(Result<T> r) {
    if (!r.ok()) return r.take_error();
    return AttrValue(std::move(r).value());
  }

  Status graph(const fb::Graph& g, int depth, Graph& out) {
    if (depth >= base::kMaxGraphDepth)
      return model_error("graphs nested " + std::to_string(depth + 1) + " deep",
                         "at most " + std::to_string(base::kMaxGraphDepth), where_, kAgain);
    WALLE_ASSIGN(out.name, name(g.name()));
    if (g.values())
      for (const fb::Value* v : *g.values()) {
        WALLE_ASSIGN(out.values.emplace_back(), value(*v));
      }
    if (g.nodes())
      for (const fb::Node* n : *g.nodes()) {
        WALLE_TRY(pay(static_cast<int64_t>(sizeof(Node))));
        Node& node = out.nodes.emplace_back();
        WALLE_ASSIGN(node.op, name(n->op()));
        WALLE_ASSIGN(node.name, name(n->name()));
        WALLE_ASSIGN(node.inputs, list(n->inputs()));
        WALLE_ASSIGN(node.outputs, list(n->outputs()));
        if (!n->attributes()) continue;
        if (n->attributes()->size() > base::kMaxAttributes)
          return model_error(std::to_string(n->attributes()->size()) + " attributes",
                             "at most " + std::to_string(base::kMaxAttributes),
                             where_ + ", " + describe(node), kAgain);
        for (const fb::Attribute* a : *n->attributes()) {
          WALLE_ASSIGN(std::string key, name(a->name()));
          WALLE_ASSIGN(AttrValue value, attribute(*a, depth));
          node.attributes.set(std::move(key), std::move(value));
        }
      }
    WALLE_ASSIGN(out.inputs, list(g.inputs()));
    WALLE_ASSIGN(out.outputs, list(g.outputs()));
    return {};
  }

  std::span<const std::byte> weights_;
  std::shared_ptr<const void> owner_;
  std::string where_;
  int64_t budget_;
  std::set<uint32_t> boolean_segments_;
  int64_t boolean_bytes_ = 0;
  const flatbuffers::Vector<const fb::Segment*>* segments_ = nullptr;
};

}  // namespace

Result<ModelData> parse_graph(std::span<const std::byte> graph, std::span<const std::byte> weights,
                              std::shared_ptr<const void> owner, const std::string& where) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(graph.data());
  flatbuffers::Verifier::Options options;
  options.max_depth = 8 * base::kMaxGraphDepth;
  // A table takes 8 bytes, its reference included: more visits than that are of tables used twice, which no
  // writer makes.
  options.max_tables =
      static_cast<flatbuffers::uoffset_t>(std::min<size_t>(graph.size() / 8 + 64, size_t{1} << 24));
  flatbuffers::Verifier verifier(bytes, graph.size(), options);
  if (graph.size() < 16 || !fb::VerifyModelBuffer(verifier))
    return model_error("a graph whose structure is broken", "a FlatBuffer of schemas/model.fbs", where,
                       kAgain);
  return Reader(graph, weights, std::move(owner), where).model(*fb::GetModel(bytes));
}

}  // namespace walle::ir::detail
