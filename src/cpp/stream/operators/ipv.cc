#include "stream/operators/ipv.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace walle::stream {

namespace {
double number(const Value& v) { return v.type == ColumnType::real ? v.d : static_cast<double>(v.i); }

struct Item {
  int64_t id = 0;
  float exposures = 0, clicks = 0;
};

// A page shows at most a few hundred items; further ones are counted but not told apart. An open-addressing
// table, at most half full.
class Items {
 public:
  static constexpr size_t kSlots = 256;
  static constexpr size_t kMost = kSlots / 2;

  Item* find(int64_t id, bool insert) {
    const size_t first = static_cast<uint64_t>(id) * kGoldenRatio >> (64 - std::bit_width(kSlots - 1));
    for (size_t probe = 0; probe < kSlots; ++probe) {
      const size_t i = (first + probe) % kSlots;
      if (used_[i] && table_[i].id == id) return &table_[i];
      if (used_[i]) continue;
      if (!insert || count_ == kMost) return nullptr;
      used_[i] = true;
      table_[i] = {id, 0, 0};
      order_[count_++] = static_cast<uint8_t>(i);
      return &table_[i];
    }
    return nullptr;
  }
  // The most exposed ones first; returns how many there are.
  size_t top(std::array<Item, kMost>& out) const {
    for (size_t k = 0; k < count_; ++k) out[k] = table_[order_[k]];
    const auto more = [](const Item& a, const Item& b) {
      // Equal ones by id, or the feature would depend on the order of arrival.
      return a.exposures != b.exposures ? a.exposures > b.exposures : a.id < b.id;
    };
    std::partial_sort(out.begin(), out.begin() + static_cast<long>(std::min(count_, kIpvItems)),
                      out.begin() + static_cast<long>(count_), more);
    return count_;
  }

 private:
  static constexpr uint64_t kGoldenRatio =
      0x9e3779b97f4a7c15;  // 2^64 / phi: neighbours lie far apart (Knuth)
  std::array<Item, kSlots> table_;
  std::array<uint8_t, kMost> order_;  // slots in order of arrival
  std::array<bool, kSlots> used_{};
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
  for (size_t k = 1; k < std::size(kOver); ++k) {
    over = over * square + kOver[k];
    under = under * square + kUnder[k];
  }
  const float inside = std::min(std::max(x * over / under, -1.0f), 1.0f);
  return value >= 9 ? 1.0f : value <= -9 ? -1.0f : inside;  // from 9 on it rounds to 1
}
// What the events of one page add up to. Values by bin of the
// page's time are added where the feature has them.
class Page {
 public:
  Page(const IpvFields& fields, std::span<float, kIpvFloats> out)
      : fields_(fields),
        scrolls_(out.data() + kIpvHead),
        exposures_(scrolls_ + kIpvBins),
        clicks_(exposures_ + kIpvBins),
        depths_(clicks_ + kIpvBins),
        items_out_(depths_ + kIpvBins) {}

  void scroll(const Event& e, size_t bin) {
    ++n_scroll_;
    scrolls_[bin] += 1;
    const Value* v = e.content(fields_.scroll_depth);
    if (!v) return;
    const double depth = number(*v), step = depth - last_;
    // A turn is a change of direction; standing still is none and leaves the direction as it was.
    turns_ += step * direction_ < 0;
    if (step != 0) direction_ = step;
    last_ = depth;
    deepest_ = std::max(deepest_, depth);
    sum_ += depth;
    squares_ += depth * depth;
    depths_[bin] = std::max(depths_[bin], static_cast<float>(depth));
  }

  void exposure(const Event& e, size_t bin) {
    ++n_exposure_;
    exposures_[bin] += 1;
    const Value* v = e.content(fields_.exposure_item);
    Item* item = v ? items_.find(v->i, true) : nullptr;
    if (item) item->exposures += 1;
  }

  void click(const Event& e, size_t bin, int64_t since_enter) {
    ++n_click_;
    clicks_[bin] += 1;
    // -1 where nobody clicked: 0 would be a click at once.
    if (first_click_ < 0) first_click_ = since_enter;
    const Value* v = e.content(fields_.click_item);
    // A click on what was never shown belongs to no item of the page.
    Item* item = v ? items_.find(v->i, false) : nullptr;
    if (item) item->clicks += 1;
  }

  // What is known only at the end: the head, and the items by their exposures.
  void finish(int64_t length_us, std::span<float, kIpvFloats> out) {
    std::array<Item, Items::kMost> top;
    const size_t distinct = items_.top(top);
    const double seconds = static_cast<double>(length_us) / kSecondUs;
    const double mean = n_scroll_ ? sum_ / n_scroll_ : 0;
    const double head[kIpvHead] = {
        seconds,
        n_scroll_,
        n_exposure_,
        n_click_,
        deepest_,
        mean,
        // Rounding may leave the variance of equal depths just below 0.
        n_scroll_ ? std::max(0.0, squares_ / n_scroll_ - mean * mean) : 0,
        turns_,
        static_cast<double>(distinct),
        n_exposure_ ? n_click_ / n_exposure_ : 0,
        first_click_ < 0 ? -1 : static_cast<double>(first_click_) / kSecondUs,
        n_click_ / seconds,
    };
    std::transform(std::begin(head), std::end(head), out.begin(),
                   [](double v) { return static_cast<float>(v); });
    for (size_t k = 0; k < std::min(distinct, kIpvItems); ++k) {
      items_out_[2 * k] = top[k].exposures;
      items_out_[2 * k + 1] = top[k].clicks;
    }
  }

 private:
  const IpvFields& fields_;
  float *scrolls_, *exposures_, *clicks_, *depths_, *items_out_;
  double n_scroll_ = 0, n_exposure_ = 0, n_click_ = 0;
  double deepest_ = 0, sum_ = 0, squares_ = 0;  // of scroll depths
  double last_ = 0, direction_ = 0, turns_ = 0;
  int64_t first_click_ = -1;  // us after the page's first event
  Items items_;
};
}  // namespace

void ipv_feature(std::span<const Event> events, const Catalog& catalog, const IpvFields& fields,
                 std::span<float, kIpvFloats> out) {
  std::fill(out.begin(), out.end(), 0.0f);
  if (events.empty()) return;
  const int64_t start = events.front().ts;
  // At least 1 us: a page of one event has no length, and rates divide by it.
  const int64_t length = std::max<int64_t>(1, events.back().ts - start);
  // A little less than the bins, so that the last event lies in the last one and not behind it.
  const double to_bin = static_cast<double>(kIpvBins) / (static_cast<double>(length) * (1 + 1e-9));
  Page page(fields, out);
  for (const Event& e : events) {
    const auto bin = std::min(kIpvBins - 1, static_cast<size_t>(static_cast<double>(e.ts - start) * to_bin));
    switch (catalog.events()[e.event].kind) {
      case EventKind::page_scroll: page.scroll(e, bin); break;
      case EventKind::exposure: page.exposure(e, bin); break;
      case EventKind::click: page.click(e, bin, e.ts - start); break;
      case EventKind::page_enter:
      case EventKind::page_exit:
      case EventKind::app_state:
      case EventKind::timer:
      case EventKind::custom: break;
    }
  }
  page.finish(length, out);
}

// Eight sums beside each other for every output: the order is fixed, so the bytes are the same on every
// machine without fused multiply-add. Four outputs at once, because the additions of one wait for each other:
// 0.8 us for the products.
void ipv_encode(std::span<const float, kIpvFloats> feature, std::span<const float> weights,
                std::span<const float> bias, std::span<float, kIpvCode> out) {
  // 332 floats are 41 times 8 and a rest of 4, which the last loop adds.
  constexpr size_t kRows = 4, kWhole = kIpvFloats / 8 * 8;
  static_assert(kIpvCode % kRows == 0);
  for (size_t o = 0; o < kIpvCode; o += kRows) {
    const float* w = weights.data() + o * kIpvFloats;
    // Unrolled, the sums are registers: g++'s -O2 keeps them in memory, which takes twice the time.
    Four sums[kRows][2] = {};
    for (size_t i = 0; i < kWhole; i += 8) {
      const Four low = four(feature.data() + i), high = four(feature.data() + i + 4);
#pragma GCC unroll 4
      for (size_t r = 0; r < kRows; ++r) {
        sums[r][0] += four(w + r * kIpvFloats + i) * low;
        sums[r][1] += four(w + r * kIpvFloats + i + 4) * high;
      }
    }
#pragma GCC unroll 4
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
