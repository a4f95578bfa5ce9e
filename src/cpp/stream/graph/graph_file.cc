// A graph as bytes: an envelope with a checksum around FlatBuffers (schemas/graph.fbs). Three checks in this
// order: the checksum finds accidents, FlatBuffers' verifier finds what would be read outside the bytes, and
// verify() finds what means nothing.
#include <algorithm>
#include <optional>

#include "base/bytes.h"
#include "schemas/graph_generated.h"
#include "stream/graph/graph_check.h"

namespace walle::stream {

namespace {

namespace fb = walle_rt::fb;

constexpr std::string_view kMagic = "WALGRAP1";
// Other versions are refused, not guessed at: an operator that this build does not know might be the noise.
constexpr uint32_t kVersion = 1;
constexpr size_t kIdentifierEnd = 8;  // the root's offset and the identifier

// ---- writing ----

std::unique_ptr<fb::StreamAggregateT> pack(const AggregateSpec& a) {
  auto out = std::make_unique<fb::StreamAggregateT>();
  out->function = static_cast<uint8_t>(a.kind);
  out->column = a.column;
  out->out = a.out;
  out->k = a.k;
  out->low = a.low;
  out->high = a.high;
  return out;
}

std::vector<std::unique_ptr<fb::StreamStepT>> pack(const std::vector<GraphStep>& steps);

struct Packer {
  fb::StreamOperatorUnion operator()(const FilterStep& s) const {
    fb::StreamFilterT out;
    out.predicate = s.predicate;
    return made(std::move(out));
  }
  fb::StreamOperatorUnion operator()(const MapStep& s) const {
    fb::StreamMapT out;
    out.out = s.out;
    out.left = s.left;
    out.op = static_cast<uint8_t>(s.op);
    out.right = s.right;
    return made(std::move(out));
  }
  fb::StreamOperatorUnion operator()(const SelectStep& s) const {
    fb::StreamSelectT out;
    out.columns = s.columns;
    return made(std::move(out));
  }
  fb::StreamOperatorUnion operator()(const DedupeStep& s) const {
    fb::StreamDedupeT out;
    out.keys = s.keys;
    out.within_us = s.within_us;
    out.max_keys = s.max_keys;
    return made(std::move(out));
  }
  fb::StreamOperatorUnion operator()(const WindowSpec& s) const {
    fb::StreamWindowT out;
    out.kind = static_cast<uint8_t>(s.kind);
    out.size_us = s.size_us;
    out.slide_us = s.slide_us;
    out.disorder_us = s.disorder_us;
    out.lateness_us = s.lateness_us;
    out.keys = s.keys;
    for (const AggregateSpec& a : s.aggregates) out.aggregates.push_back(pack(a));
    return made(std::move(out));
  }
  fb::StreamOperatorUnion operator()(const StateSpec& s) const {
    fb::StreamStateT out;
    out.kind = static_cast<uint8_t>(s.kind);
    out.keys = s.keys;
    out.column = s.column;
    if (s.kind == StateKind::running) out.aggregate = pack(s.aggregate);
    out.out = s.out;
    out.max_keys = s.max_keys;
    return made(std::move(out));
  }
  fb::StreamOperatorUnion operator()(const EncodeStep& s) const {
    fb::StreamEncodeT out;
    out.columns = s.columns;
    out.out = s.out;
    out.model = s.model;
    return made(std::move(out));
  }
  fb::StreamOperatorUnion operator()(const NoiseStep& s) const {
    fb::StreamNoiseT out;
    out.kind = static_cast<uint8_t>(s.noise.kind);
    out.column = s.noise.column;
    out.low = s.noise.low;
    out.high = s.noise.high;
    out.epsilon = s.noise.epsilon;
    out.delta = s.noise.delta;
    out.resolution = s.noise.resolution;
    out.account = s.account;
    out.limit = s.limit;
    return made(std::move(out));
  }
  fb::StreamOperatorUnion operator()(const IpvSpec& s) const {
    fb::StreamIpvT out;
    out.depth = s.depth;
    out.item = s.item;
    out.out = s.out;
    out.idle_us = s.idle_us;
    out.disorder_us = s.disorder_us;
    return made(std::move(out));
  }
  fb::StreamOperatorUnion operator()(const JoinStep& s) const {
    fb::StreamJoinT out;
    out.keys = s.keys;
    out.within_us = s.within_us;
    out.second_input = s.second_input;
    out.right = pack(s.right);
    return made(std::move(out));
  }

  template <class T>
  static fb::StreamOperatorUnion made(T table) {
    fb::StreamOperatorUnion out;
    out.Set(std::move(table));
    return out;
  }
};

std::vector<std::unique_ptr<fb::StreamStepT>> pack(const std::vector<GraphStep>& steps) {
  std::vector<std::unique_ptr<fb::StreamStepT>> out;
  for (const GraphStep& step : steps) {
    out.push_back(std::make_unique<fb::StreamStepT>());
    out.back()->op = std::visit(Packer(), step.what);
  }
  return out;
}

// ---- reading ----

using Texts = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;
using Steps = flatbuffers::Vector<flatbuffers::Offset<fb::StreamStep>>;

// FlatBuffers checks that a byte is there, not that it is one of the enumeration's.
template <class Enum>
bool number_of(uint8_t given, Enum last, Enum& out) {
  out = static_cast<Enum>(given);
  return given <= static_cast<uint8_t>(last);
}

// Verified bytes to steps. One table or text may be named a thousand times: 1 MB of bytes must not become a
// thousand times as much, so operators and bytes of text are counted as they are copied.
class Reader {
 public:
  // False where a number stands for nothing, or where there is more than a graph may have.
  bool read(const Steps* in, std::vector<GraphStep>& out) {
    if (!in) return true;
    out.reserve(std::min<size_t>(in->size(), kMaxGraphSteps));
    for (const auto* step : *in)
      if (steps_++ == kMaxGraphSteps || !step || !read_step(*step, out.emplace_back())) return false;
    return true;
  }

  bool fits() const { return fits_; }

 private:
  std::string text(const flatbuffers::String* s) {
    if (!s) return {};
    fits_ = fits_ && s->size() <= text_left_;
    if (!fits_) return {};
    text_left_ -= s->size();
    return s->str();
  }

  std::vector<std::string> texts(const Texts* given) {
    std::vector<std::string> out;
    if (!given) return out;
    out.reserve(std::min<size_t>(given->size(), kMaxGraphNames));
    for (const auto* s : *given) {
      // One more than may be, so that it is noticed.
      if (out.size() > kMaxGraphNames) break;
      out.push_back(text(s));
    }
    return out;
  }

  bool read(const fb::StreamAggregate* in, AggregateSpec& out) {
    if (!in) return false;
    out.column = text(in->column());
    out.out = text(in->out());
    out.k = in->k();
    out.low = in->low();
    out.high = in->high();
    return number_of(in->function(), kLastAggregate, out.kind);
  }

  // False where a number stands for nothing.
  bool read(const fb::StreamFilter& in, FilterStep& out) {
    out.predicate = text(in.predicate());
    return true;
  }
  bool read(const fb::StreamMap& in, MapStep& out) {
    out.out = text(in.out());
    out.left = text(in.left());
    out.op = static_cast<char>(in.op());
    out.right = text(in.right());
    return true;
  }
  bool read(const fb::StreamSelect& in, SelectStep& out) {
    out.columns = texts(in.columns());
    return true;
  }
  bool read(const fb::StreamDedupe& in, DedupeStep& out) {
    out.keys = texts(in.keys());
    out.within_us = in.within_us();
    out.max_keys = in.max_keys();
    return true;
  }
  bool read(const fb::StreamWindow& in, WindowSpec& out) {
    out.size_us = in.size_us();
    out.slide_us = in.slide_us();
    out.disorder_us = in.disorder_us();
    out.lateness_us = in.lateness_us();
    out.keys = texts(in.keys());
    if (!number_of(in.kind(), WindowKind::whole, out.kind)) return false;
    if (!in.aggregates()) return true;
    out.aggregates.reserve(std::min<size_t>(in.aggregates()->size(), kMaxGraphNames));
    for (const auto* a : *in.aggregates())
      if (out.aggregates.size() == kMaxGraphNames || !read(a, out.aggregates.emplace_back())) return false;
    return true;
  }
  bool read(const fb::StreamState& in, StateSpec& out) {
    out.keys = texts(in.keys());
    out.column = text(in.column());
    out.out = text(in.out());
    out.max_keys = in.max_keys();
    if (!number_of(in.kind(), StateKind::running, out.kind)) return false;
    return out.kind != StateKind::running || read(in.aggregate(), out.aggregate);
  }
  bool read(const fb::StreamEncode& in, EncodeStep& out) {
    out.columns = texts(in.columns());
    out.out = text(in.out());
    out.model = text(in.model());
    return true;
  }
  bool read(const fb::StreamNoise& in, NoiseStep& out) {
    out.noise.column = text(in.column());
    out.noise.low = in.low();
    out.noise.high = in.high();
    out.noise.epsilon = in.epsilon();
    out.noise.delta = in.delta();
    out.noise.resolution = in.resolution();
    out.account = text(in.account());
    out.limit = in.limit();
    return number_of(in.kind(), NoiseKind::response, out.noise.kind);
  }
  bool read(const fb::StreamIpv& in, IpvSpec& out) {
    out.depth = text(in.depth());
    out.item = text(in.item());
    out.out = text(in.out());
    out.idle_us = in.idle_us();
    out.disorder_us = in.disorder_us();
    return true;
  }
  bool read(const fb::StreamJoin& in, JoinStep& out) {
    out.keys = texts(in.keys());
    out.within_us = in.within_us();
    out.second_input = in.second_input();
    return read(in.right(), out.right);
  }

  template <class Table, class Step>
  bool read_as(const fb::StreamStep& in, GraphStep& out) {
    const auto* table = in.op_as<Table>();
    return table && read(*table, out.what.emplace<Step>());
  }

  bool read_step(const fb::StreamStep& in, GraphStep& out) {
    switch (in.op_type()) {
      case fb::StreamOperator::StreamFilter: return read_as<fb::StreamFilter, FilterStep>(in, out);
      case fb::StreamOperator::StreamMap: return read_as<fb::StreamMap, MapStep>(in, out);
      case fb::StreamOperator::StreamSelect: return read_as<fb::StreamSelect, SelectStep>(in, out);
      case fb::StreamOperator::StreamDedupe: return read_as<fb::StreamDedupe, DedupeStep>(in, out);
      case fb::StreamOperator::StreamWindow: return read_as<fb::StreamWindow, WindowSpec>(in, out);
      case fb::StreamOperator::StreamState: return read_as<fb::StreamState, StateSpec>(in, out);
      case fb::StreamOperator::StreamEncode: return read_as<fb::StreamEncode, EncodeStep>(in, out);
      case fb::StreamOperator::StreamNoise: return read_as<fb::StreamNoise, NoiseStep>(in, out);
      case fb::StreamOperator::StreamIpv: return read_as<fb::StreamIpv, IpvSpec>(in, out);
      case fb::StreamOperator::StreamJoin: return read_as<fb::StreamJoin, JoinStep>(in, out);
      case fb::StreamOperator::NONE: break;
    }
    // The verifier lets a union's unknown members pass: a later version's operator.
    return false;
  }

  size_t steps_ = 0;
  size_t text_left_ = kMaxGraphBytes;
  bool fits_ = true;
};

Error damaged(Text given) {
  return model_error(given, "a graph as Graph.to_bytes() writes it, version 1", "stream graph",
                     "write it again, with this version of walle_rt");
}

// The FlatBuffers part, out of its envelope.
std::optional<std::string_view> opened(std::string_view bytes) {
  base::ByteReader in(bytes);
  in.expect(kMagic);
  const std::string_view content = in.text();
  in.checksum();
  if (!in.done()) return std::nullopt;
  return content;
}

}  // namespace

Result<std::string> graph_bytes(const GraphSpec& spec) {
  WALLE_TRY(verify(spec));
  fb::StreamGraphT out;
  out.version = kVersion;
  out.steps = pack(spec.steps);
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishStreamGraphBuffer(builder, fb::StreamGraph::Pack(builder, &out));
  base::ByteWriter writer;
  writer.put_bytes(kMagic);
  writer.put_text({reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()});
  writer.put_checksum();
  if (writer.size() > kMaxGraphBytes)
    return argument_error({"a graph of ", writer.size(), " bytes"}, {"at most ", kMaxGraphBytes}, "graph",
                          "split the graph");
  return writer.take();
}

Result<GraphSpec> parse_graph(std::string_view bytes) {
  if (bytes.size() > kMaxGraphBytes) return damaged({bytes.size(), " bytes"});
  const auto content = opened(bytes);
  if (!content) return damaged({bytes.size(), " bytes that are no graph, or a damaged one"});
  // FlatBuffers reads numbers where they are aligned.
  const std::vector<uint64_t> aligned = [&] {
    std::vector<uint64_t> words((content->size() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
    if (!content->empty()) std::memcpy(words.data(), content->data(), content->size());
    return words;
  }();
  const auto* data = reinterpret_cast<const uint8_t*>(aligned.data());
  flatbuffers::Verifier verifier(data, content->size());
  if (content->size() < kIdentifierEnd || !fb::VerifyStreamGraphBuffer(verifier))
    return damaged({bytes.size(), " bytes, a damaged graph"});
  const auto* in = fb::GetStreamGraph(data);
  if (in->version() != kVersion) return damaged({"a graph of version ", in->version()});
  GraphSpec out;
  Reader reader;
  if (!reader.read(in->steps(), out.steps) || !reader.fits())
    return damaged("a graph with too many operators, or with one that this version does not know");
  if (Status status = verify(out); !status.ok()) {
    const base::ErrorText& why = status.error().text();
    return model_error(why.given, why.expected, {"stream graph: ", why.where}, why.next);
  }
  return out;
}

}  // namespace walle::stream
