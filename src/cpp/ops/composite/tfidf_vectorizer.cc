// TfIdfVectorizer over integers: windows of the sequence (strided
// views) compared with the n-grams of the pool, matches counted.
#include <algorithm>

#include "ops/rules/views.h"

namespace walle::ops {

namespace {
// Each n-gram length and each skip becomes nodes of the
// decomposition, each output index an element of a result.
constexpr int64_t kMaxLength = 64;
constexpr int64_t kMaxSkips = 4096;
constexpr int64_t kMaxWidth = int64_t{1} << 24;

// The pool's n-grams of one length: elements [begin, end) of the pool, the first being n-gram `first` of all.
struct Grams {
  int64_t length = 1;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t first = 0;
  int64_t count() const { return (end - begin) / length; }
};

struct Pool {
  std::vector<Grams> grams;
  std::vector<int64_t> index;  // of the output each n-gram counts in
  int64_t width = 0;
  int64_t skips = 0;
};

Result<Pool> pool_of(const ir::Attributes& attrs) {
  const auto wrong = [](Text given, Text expected) {
    return model_error(given, expected, "TfIdfVectorizer", "check the attributes");
  };
  const std::vector<int64_t> pool = attrs.get_ints("pool_int64s");
  const std::vector<int64_t> starts = attrs.get_ints("ngram_counts");
  const int64_t shortest = attrs.get_int("min_gram_length", 1);
  const int64_t longest = attrs.get_int("max_gram_length", 1);
  if (shortest < 1 || longest < shortest || longest > kMaxLength)
    return wrong("gram lengths out of range", {"1 <= min <= max <= ", kMaxLength});
  Pool p;
  p.skips = attrs.get_int("max_skip_count", 0);
  p.index = attrs.get_ints("ngram_indexes");
  if (p.skips < 0 || p.skips > kMaxSkips) return wrong({"max_skip_count=", p.skips}, {"0 to ", kMaxSkips});
  int64_t seen = 0;
  const auto size = static_cast<int64_t>(pool.size());
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto length = static_cast<int64_t>(i) + 1;
    const Grams g{.length = length,
                  .begin = starts[i],
                  .end = i + 1 < starts.size() ? starts[i + 1] : size,
                  .first = seen};
    if (g.begin < 0 || g.end < g.begin || g.end > size || (g.end - g.begin) % length != 0)
      return wrong("ngram_counts that do not split the pool", "increasing starts, whole n-grams");
    // Also of lengths that are not asked for: indexes and weights count all n-grams of the pool.
    seen += g.count();
    if (length >= shortest && length <= longest && g.count() > 0) p.grams.push_back(g);
  }
  if (static_cast<int64_t>(p.index.size()) != seen) return wrong({p.index.size(), " ngram_indexes"}, seen);
  for (int64_t i : p.index) {
    if (i < 0 || i >= kMaxWidth) return wrong({"ngram index ", i}, "0 to 2^24");
    // As many columns as the highest index says: n-grams may share one.
    p.width = std::max(p.width, i + 1);
  }
  const std::string mode = attrs.get_string("mode", "TF");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return wrong({"mode '", mode, "'"}, "TF, IDF or TFIDF");
  const size_t weights = attrs.get_floats("weights").size();
  if (weights != 0 && weights != p.index.size()) return wrong({weights, " weights"}, "one per n-gram");
  return p;
}

Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const Pool pool, pool_of(c.attrs()));
  if (c.rank(0) < 1 || c.rank(0) > 2 || (c.dtype(0) != DType::int32 && c.dtype(0) != DType::int64))
    return model_error({"input of shape ", c.shape(0).text()}, "int32 or int64 of [n] or [batch, n]",
                       "TfIdfVectorizer", "check the input");
  c.output(0, DType::float32, c.rank(0) == 1 ? Shape{pool.width} : Shape{c.shape(0)[0], pool.width});
  return {};
}

// [batch, grams] counts of one length.
Ref counts(LowerContext& c, Ref x, const Grams& g, int64_t skips) {
  const int64_t batch = c.shape(x)[0];
  const int64_t n = c.shape(x)[1];
  const std::vector<int64_t> pool = c.attrs().get_ints("pool_int64s");
  const Ref wanted =
      c.reshape(c.ints({pool.begin() + g.begin, pool.begin() + g.end}), Shape{g.count(), g.length});
  Ref total = expand_to(c, c.scalar(DType::float32, 0), Shape{batch, g.count()});
  // A single word has nothing to skip between.
  for (int64_t skip = 0; skip <= (g.length == 1 ? 0 : skips); ++skip) {
    const int64_t places = n - (g.length - 1) * (skip + 1);
    // Longer skips leave fewer places still.
    if (places <= 0) break;
    const int64_t stride[] = {n, 1, 0, skip + 1};
    const Ref windows = strided_view(c, x, Shape{batch, places, 1, g.length}, stride);
    // All elements of the window equal: the minimum of booleans is `and`.
    const Ref equal = c.reduce("ReduceMin", c.emit("Equal", {windows, wanted}), {3}, false);
    total = c.add(total, c.reduce("ReduceSum", c.cast(equal, DType::float32), {1}, false));
  }
  return total;
}

Ref weighted(LowerContext& c, Ref count, const Grams& g) {
  const std::string mode = c.attrs().get_string("mode", "TF");
  if (mode == "TF") return count;
  std::vector<double> weights = c.attrs().get_floats("weights");
  // ONNX: without weights each counts 1.
  if (weights.empty()) weights.assign(g.first + g.count(), 1.0);
  const Ref scale = constant_of(c, DType::float32, Shape{g.count()}, std::span(weights).subspan(g.first));
  // IDF alone asks whether the n-gram occurs, not how often.
  if (mode == "IDF") count = c.cast(c.emit("Greater", {count, c.scalar(DType::float32, 0)}), DType::float32);
  return c.mul(count, scale);
}

Status lower(LowerContext& c) {
  WALLE_ASSIGN(const Pool pool, pool_of(c.attrs()));
  const Shape in = c.shape(c.in(0));
  const int64_t batch = in.rank() == 1 ? 1 : in[0];
  const Ref x = c.reshape(c.cast(c.in(0), DType::int64), Shape{batch, in.back()});
  raster::Raster placed;
  // Columns that no n-gram counts in are 0.
  placed.fill.emplace();
  std::vector<Ref> sources;
  for (const Grams& g : pool.grams) {
    const Ref values = weighted(c, counts(c, x, g, pool.skips), g);
    for (int64_t i = 0; i < g.count(); ++i) {
      const int64_t size[] = {batch};
      const int64_t from[] = {g.count()};
      const int64_t to[] = {pool.width};
      placed.regions.push_back(raster::strided_region(static_cast<int>(sources.size()), size, i, from,
                                                      pool.index[g.first + i], to));
    }
    sources.push_back(values);
  }
  c.result(0, c.raster(std::move(placed), DType::float32, c.out_shape(0), sources));
  return {};
}
}  // namespace

extern const ir::OpDef kTfIdfVectorizerOp{
    .name = "TfIdfVectorizer", .op_class = ir::OpClass::composite, .infer = infer, .lower = lower};

}  // namespace walle::ops
