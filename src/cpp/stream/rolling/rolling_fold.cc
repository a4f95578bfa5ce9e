#include "stream/rolling/rolling_fold.h"

#include <algorithm>
#include <bit>

namespace walle::stream {

void RollingFold::add(uint64_t bits) {
  const bool first = count_++ == 0;
  if (kind_ == RollingKind::count) return;
  const bool extreme = kind_ == RollingKind::min || kind_ == RollingKind::max;
  const bool least = kind_ == RollingKind::min;
  if (whole_) {
    const auto v = std::bit_cast<int64_t>(bits);
    if (!extreme)
      wraps_ += __builtin_add_overflow(total_, v, &total_) ? (v < 0 ? -1 : 1) : 0;
    else if (first)
      whole_extreme_ = v;
    else
      whole_extreme_ = least ? std::min(whole_extreme_, v) : std::max(whole_extreme_, v);
    return;
  }
  const auto v = std::bit_cast<double>(bits);
  if (!extreme)
    real_ += v;
  else if (first)
    real_ = v;
  else
    real_ = least ? std::min(real_, v) : std::max(real_, v);
}

Value RollingFold::value() const {
  if (kind_ == RollingKind::count) return Value::of(count_);
  if (count_ == 0) return {};
  if (kind_ == RollingKind::min || kind_ == RollingKind::max)
    return whole_ ? Value::of(whole_extreme_) : Value::of(real_);
  const double total = whole_ ? static_cast<double>(wraps_) * 0x1p64 + static_cast<double>(total_) : real_;
  if (kind_ == RollingKind::mean) return Value::of(total / static_cast<double>(count_));
  return whole_ && wraps_ == 0 ? Value::of(total_) : Value::of(total);
}

}  // namespace walle::stream
