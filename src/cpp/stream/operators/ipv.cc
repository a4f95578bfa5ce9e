#include "stream/operators/ipv.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace walle::stream {

namespace {
const Value* at(const Event& e, int position) {
  if (position < 0 || static_cast<size_t>(position) >= e.contents.size()) return nullptr;
  const Value& v = e.contents[static_cast<size_t>(position)];
  return v.present ? &v : nullptr;
}

double number(const Value& v) { return v.type == FieldType::f64 ? v.d : static_cast<double>(v.i); }

struct Item {
  int64_t id = 0;
  float exposures = 0, clicks = 0;
};

// A page shows at most a few hundred items; further ones are counted but not told apart.
class Items {
 public:
  Item* find(int64_t id, bool insert) {
    for (size_t probe = 0, i = static_cast<uint64_t>(id) * 0x9e3779b97f4a7c15ull >> 56; probe < table_.size();
         ++probe, i = (i + 1) % table_.size()) {
      if (used_[i] && table_[i].id == id) return &table_[i];
      if (used_[i]) continue;
      if (!insert || count_ == table_.size() / 2) return nullptr;
      used_[i] = true, table_[i] = {id, 0, 0}, order_[count_++] = static_cast<uint8_t>(i);
      return &table_[i];
    }
    return nullptr;
  }
  size_t top(std::array<Item, 128>& out) const {
    for (size_t k = 0; k < count_; ++k) out[k] = table_[order_[k]];
    const auto more = [](const Item& a, const Item& b) {
      return a.exposures != b.exposures ? a.exposures > b.exposures : a.id < b.id;
    };
    std::partial_sort(out.begin(), out.begin() + static_cast<long>(std::min(count_, kIpvItems)),
                      out.begin() + static_cast<long>(count_), more);
    return count_;
  }

 private:
  std::array<Item, 256> table_;
  std::array<uint8_t, 128> order_;
  std::array<bool, 256> used_{};
  size_t count_ = 0;
};

using Four = float __attribute__((vector_size(16)));
Four four(const float* p) {
  Four out;
  std::memcpy(&out, p, sizeof out);
  return out;
}

// The thirteenth convergent of Lambert's continued fraction x / (1 + x^2 / (3 + x^2 / (5 + ...))), within
// 4e-7 of tanh: only the basic operations, so the same bytes with every C library, and a loop over it becomes
// vector instructions (32 calls of std::tanh took 1.3 us). Not a number stays one.
float tanh_of(float value) {
  constexpr float kOver[] = {1.0f,           4095.0f,          2552550.0f,      523783260.0f,
                             41247931725.0f, 1159525191825.0f, 7905853580625.0f};
  constexpr float kUnder[] = {91.0f,           120120.0f,        41351310.0f,     5237832600.0f,
                              252070693875.0f, 3794809718700.0f, 7905853580625.0f};
  const float x = std::min(std::max(value, -9.0f), 9.0f), square = x * x;
  float over = kOver[0], under = kUnder[0];
  for (size_t k = 1; k < std::size(kOver); ++k)
    over = over * square + kOver[k], under = under * square + kUnder[k];
  const float inside = std::min(std::max(x * over / under, -1.0f), 1.0f);
  return value >= 9 ? 1.0f : value <= -9 ? -1.0f : inside;  // from 9 on it rounds to 1
}
}  // namespace

void ipv_feature(std::span<const Event> events, const Catalog& catalog, const IpvFields& fields,
                 std::span<float, kIpvFloats> out) {
  std::fill(out.begin(), out.end(), 0.0f);
  if (events.empty()) return;
  const int64_t start = events.front().ts, length = std::max<int64_t>(1, events.back().ts - start);
  const double to_bin = static_cast<double>(kIpvBins) / (static_cast<double>(length) * (1 + 1e-9));
  float* const scrolls = out.data() + 12;
  float* const exposures = scrolls + kIpvBins;
  float* const clicks = exposures + kIpvBins;
  float* const depths = clicks + kIpvBins;
  double n_scroll = 0, n_exposure = 0, n_click = 0, deepest = 0, sum = 0, sum2 = 0, last = 0, direction = 0,
         turns = 0;
  int64_t first_click = -1;
  Items items;
  for (const Event& e : events) {
    const auto bin = std::min(kIpvBins - 1, static_cast<size_t>(static_cast<double>(e.ts - start) * to_bin));
    switch (catalog.events()[e.event].kind) {
      case EventKind::page_scroll: {
        ++n_scroll, scrolls[bin] += 1;
        const Value* v = at(e, fields.scroll_depth);
        if (!v) break;
        const double depth = number(*v), step = depth - last;
        turns += step * direction < 0, direction = step != 0 ? step : direction, last = depth;
        deepest = std::max(deepest, depth), sum += depth, sum2 += depth * depth;
        depths[bin] = std::max(depths[bin], static_cast<float>(depth));
        break;
      }
      case EventKind::exposure:
        ++n_exposure, exposures[bin] += 1;
        if (const Value* v = at(e, fields.exposure_item))
          if (Item* item = items.find(v->i, true)) item->exposures += 1;
        break;
      case EventKind::click:
        ++n_click, clicks[bin] += 1;
        if (first_click < 0) first_click = e.ts - start;
        if (const Value* v = at(e, fields.click_item))
          if (Item* item = items.find(v->i, false)) item->clicks += 1;
        break;
      default: break;
    }
  }
  std::array<Item, 128> top;
  const size_t distinct = items.top(top);
  const double seconds = static_cast<double>(length) / 1e6, mean = n_scroll ? sum / n_scroll : 0;
  const double head[12] = {seconds,
                           n_scroll,
                           n_exposure,
                           n_click,
                           deepest,
                           mean,
                           n_scroll ? std::max(0.0, sum2 / n_scroll - mean * mean) : 0,
                           turns,
                           static_cast<double>(distinct),
                           n_exposure ? n_click / n_exposure : 0,
                           first_click < 0 ? -1 : static_cast<double>(first_click) / 1e6,
                           n_click / seconds};
  std::transform(std::begin(head), std::end(head), out.begin(),
                 [](double v) { return static_cast<float>(v); });
  for (size_t k = 0; k < std::min(distinct, kIpvItems); ++k)
    depths[kIpvBins + 2 * k] = top[k].exposures, depths[kIpvBins + 2 * k + 1] = top[k].clicks;
}

// Eight sums beside each other for every output: the order is fixed, so the bytes are the same on every
// machine without fused multiply-add. Four outputs at once, because the additions of one wait for each other:
// 0.8 us for the products.
void ipv_encode(std::span<const float, kIpvFloats> feature, std::span<const float> weights,
                std::span<const float> bias, std::span<float, kIpvCode> out) {
  constexpr size_t kRows = 4, kWhole = kIpvFloats / 8 * 8;
  static_assert(kIpvCode % kRows == 0);
  for (size_t o = 0; o < kIpvCode; o += kRows) {
    const float* w = weights.data() + o * kIpvFloats;
    Four sums[kRows][2] = {};
    for (size_t i = 0; i < kWhole; i += 8) {
      const Four low = four(feature.data() + i), high = four(feature.data() + i + 4);
      for (size_t r = 0; r < kRows; ++r) {
        sums[r][0] += four(w + r * kIpvFloats + i) * low;
        sums[r][1] += four(w + r * kIpvFloats + i + 4) * high;
      }
    }
    for (size_t r = 0; r < kRows; ++r) {
      float total = bias[o + r];
      for (size_t i = kWhole; i < kIpvFloats; ++i) total += w[r * kIpvFloats + i] * feature[i];
      for (const Four& part : sums[r])
        for (size_t k = 0; k < 4; ++k) total += part[k];
      out[o + r] = total;
    }
  }
  for (float& v : out) v = tanh_of(v);
}

}  // namespace walle::stream
