#include "raster/loop.h"

#include <algorithm>
#include <sstream>

namespace walle::raster {

Dim LoopSpec::count() const {
  Dim n = 1;
  for (int a = 0; a < rank; ++a) n *= size[a];
  return n;
}

std::string LoopSpec::text() const {
  static constexpr const char* kNames[] = {"assign", "add", "mul", "min", "max"};
  std::ostringstream out;
  const auto axes = [&](const char* name, const Axes& v) {
    out << ' ' << name << '[';
    for (int a = 0; a < rank; ++a) out << (a ? "," : "") << tensor::text(v[a]);
    out << ']';
  };
  out << (index_on_dst ? "scatter " : "gather ") << kNames[static_cast<int>(combine)];
  axes("rounds", size);
  axes("src", src_step);
  axes("dst", dst_step);
  for (const LoopIndex& i : index) out << " index*" << tensor::text(i.stride) << "<" << tensor::text(i.bound);
  Raster one;
  one.regions.push_back(body);
  out << ' ' << one.text();
  if (base) out << " base";
  return out.str();
}

namespace {
constexpr const char* kReportLoop = "report the operator that made this loop";

// Overflow-free products of the rounds, of the body's box and of the indices read; count() and elements() may
// be called afterwards.
bool countable(const LoopSpec& spec) {
  std::optional<Dim> rounds = 1;
  std::optional<Dim> body = 1;
  for (int a = 0; a < spec.rank && rounds; ++a) rounds = checked_mul(*rounds, spec.size[a]);
  for (int a = 0; a < spec.body.rank && body; ++a) body = checked_mul(*body, spec.body.size[a]);
  return rounds && body && checked_mul(*rounds, std::max<size_t>(spec.index.size(), 1));
}

// Nothing is moved, or nothing may be: with a bound of 0 every index is an error before its address is used.
// What such a loop would reach does not matter, and a Gather from an axis of no elements is legal as long as
// nothing is asked of it.
bool reaches_nothing(const LoopSpec& spec) {
  return spec.count() == 0 || spec.body.elements() == 0 ||
         std::ranges::any_of(spec.index, [](const LoopIndex& i) { return i.bound <= 0; });
}

// The loop as one region whose extra axes are the rounds and, on the side that the index moves, an axis of
// `bound` steps for each component of the tuple: a valid index, counted from the front, is one of 0 .. bound
// - 1, any of them may occur, so the corners of that box are exactly the extremes of what can be reached.
Status check_side(const LoopSpec& spec, bool dst, Dim elements) {
  const View& view = dst ? spec.body.dst : spec.body.src;
  const Axes& step = dst ? spec.dst_step : spec.src_step;
  std::optional<Dim> low = view.offset;
  std::optional<Dim> high = view.offset;
  const auto widen = [&](Dim size, Dim stride) {
    const auto reach = checked_mul(size - 1, stride);
    auto& end = reach && *reach < 0 ? low : high;
    end = reach && end ? checked_add(*end, *reach) : std::nullopt;
  };
  for (int a = 0; a < spec.body.rank; ++a) widen(spec.body.size[a], view.stride[a]);
  for (int a = 0; a < spec.rank; ++a) widen(spec.size[a], step[a]);
  if (dst == spec.index_on_dst)
    for (const LoopIndex& i : spec.index) widen(i.bound, i.stride);
  if (low && high && *low >= 0 && *high < elements) return {};
  return model_error({"a loop whose ", dst ? "destination" : "source", " leaves the tensor"},
                     {"addresses below ", elements.value()}, "loop", kReportLoop);
}
}  // namespace

Status check(const LoopSpec& spec, Dim src_elements, Dim index_elements, Dim dst_elements) {
  // First of all, because every later step walks the axes and multiplies the sizes.
  if (spec.rank < 0 || spec.rank > kRegionRank || spec.body.rank < 0 || spec.body.rank > kRegionRank ||
      !countable(spec))
    return model_error({"a loop of rank ", spec.rank, " over a body of rank ", spec.body.rank},
                       {"ranks up to ", kRegionRank, " and products of sizes that can be counted"}, "loop",
                       kReportLoop);
  if (!reaches_nothing(spec)) {
    WALLE_TRY(check_side(spec, false, src_elements));
    WALLE_TRY(check_side(spec, true, dst_elements));
  }
  if (spec.count() * spec.index.size() != index_elements)
    return model_error(
        {"a loop of ", spec.count().value(), " rounds over ", index_elements.value(), " indices"},
        "one index tuple per round", "loop", kReportLoop);
  return {};
}

}  // namespace walle::raster
