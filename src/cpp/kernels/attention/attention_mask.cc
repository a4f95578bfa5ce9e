#include "kernels/attention/attention_mask.h"

#include <algorithm>
#include <limits>

namespace walle::kernels {

namespace {
// Keys that are asked together whether any is seen: a few vectors.
constexpr int64_t kTogether = 64;

class Masks {
 public:
  Masks(const AttentionTable& table, const Attention& a, const AttentionHead& h)
      : table_(table), a_(a), h_(h), keep_(h.keep && a.fill <= kHiddenBelow ? h.keep : nullptr) {}

  bool any() const { return h_.bias || h_.more || keep_; }
  // All queries alike.
  bool of_keys() const {
    return (!h_.bias || a_.bias.row == 0) && (!h_.more || a_.more.row == 0) && (!keep_ || a_.keep.row == 0);
  }

  // One of the masks hides all keys of the range.
  bool hide(int64_t q, KeyRange r) const {
    return (h_.bias && hides(h_.bias, a_.bias, q, r)) || (h_.more && hides(h_.more, a_.more, q, r)) ||
           (keep_ && !keeps_one(q, r));
  }

  // Seen by all masks and by the band.
  bool shows_one(int64_t q, KeyRange r) const {
    r.from = std::max(r.from, q + a_.band.first);
    r.to = std::min(r.to, q + a_.band.last + 1);
    // Of two masks each may show a key that the other hides.
    const bool one = (h_.bias != nullptr) + (h_.more != nullptr) + (keep_ != nullptr) == 1;
    const int64_t step = one ? kTogether : 1;
    for (int64_t to = r.to; to > r.from; to -= step)
      if (!hide(q, {std::max(r.from, to - step), to})) return true;
    return false;
  }

 private:
  bool hides(const float* bias, Steps steps, int64_t q, KeyRange r) const {
    const float* at = bias + q * steps.row + r.from * steps.col;
    if (steps.col == 1) return !table_.exceeds(at, r.count(), kHiddenBelow);
    for (int64_t i = 0; i < r.count(); ++i)
      if (!(at[i * steps.col] <= kHiddenBelow)) return false;
    return true;
  }
  bool keeps_one(int64_t q, KeyRange r) const {
    const bool* at = keep_ + q * a_.keep.row + r.from * a_.keep.col;
    for (int64_t i = 0; i < r.count(); ++i)
      if (at[i * a_.keep.col] == a_.keep_value) return true;
    return false;
  }

  const AttentionTable& table_;
  const Attention& a_;
  const AttentionHead& h_;
  const bool* keep_;
};
}  // namespace

KeyRange seen_keys(const AttentionTable& table, const Attention& a, const AttentionHead& h, int64_t q,
                   int64_t count) {
  const KeyRange all{std::max<int64_t>(0, q + a.band.first),
                     std::min(a.keys, q + count - 1 + a.band.last + 1)};
  const Masks masks(table, a, h);
  if (!masks.any() || all.count() <= 0) return all;
  const int64_t rows = masks.of_keys() ? 1 : count;
  // The last query first: under a causal mask it sees most, and ends the search.
  const auto hidden = [&](KeyRange r) {
    for (int64_t i = rows; i-- > 0;)
      if (!masks.hide(q + i, r)) return false;
    return true;
  };
  KeyRange seen = all;
  while (seen.count() > 0) {
    const KeyRange end{std::max(seen.from, (seen.to - 1) / kTogether * kTogether), seen.to};
    if (!hidden(end)) break;
    seen.to = end.from;
  }
  while (seen.count() > 0) {
    const KeyRange start{seen.from, std::min(seen.to, (seen.from / kTogether + 1) * kTogether)};
    if (!hidden(start)) break;
    seen.from = start.to;
  }
  if (seen.count() == all.count()) return all;
  for (int64_t i = 0; i < count; ++i)
    if (!masks.shows_one(q + i, seen)) return all;
  return seen;
}

bool sees_none(const Attention& a, const AttentionHead& h, int64_t q) {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  for (int64_t key = std::max<int64_t>(0, q + a.band.first); key <= std::min(a.keys - 1, q + a.band.last);
       ++key) {
    const bool hidden =
        (h.bias && h.bias[q * a.bias.row + key * a.bias.col] == kHidden) ||
        (h.more && h.more[q * a.more.row + key * a.more.col] == kHidden) ||
        (h.keep && a.fill == kHidden && h.keep[q * a.keep.row + key * a.keep.col] != a.keep_value);
    if (!hidden) return false;
  }
  return true;
}

bool becomes_zero(const Attention& a, const AttentionHead& h, int64_t q) {
  return a.empty == Empty::never_nan || (a.empty == Empty::zero && sees_none(a, h, q));
}

}  // namespace walle::kernels
