#include <algorithm>

#include "stream/operators/batch_rows.h"
#include "stream/operators/operators.h"

namespace walle::stream {

Result<Batch> as_of_join(const Batch& left, const Batch& right, const std::vector<std::string>& keys,
                         int64_t within_us) {
  WALLE_TRY(check_times(left, "as-of join, left"));
  WALLE_TRY(check_times(right, "as-of join, right"));
  WALLE_TRY(check_duration(within_us, "within", "as-of join"));
  WALLE_ASSIGN(const auto left_keys, columns_of(left, keys, "as-of join, left"));
  WALLE_ASSIGN(const auto right_keys, columns_of(right, keys, "as-of join, right"));
  std::map<Key, std::vector<std::pair<int64_t, size_t>>> rows;
  for (size_t r = 0; r < right.rows(); ++r) rows[key_of(right, r, right_keys)].emplace_back(right.ts[r], r);
  for (auto& [key, times] : rows)
    // Stable: of rows with equal times the one that arrived last is the newest.
    std::stable_sort(times.begin(), times.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  Batch out = left;
  std::vector<size_t> taken;
  for (size_t c = 0; c < right.columns.size(); ++c)
    // Keys are equal on both sides; once is enough.
    if (std::find(right_keys.begin(), right_keys.end(), c) == right_keys.end()) {
      taken.push_back(c);
      // Renamed rather than refused: both sides often have a "count".
      const bool clash = out.find(right.columns[c].name).has_value();
      out.columns.push_back({.name = right.columns[c].name + (clash ? "_right" : ""),
                             .sensitivity = right.columns[c].sensitivity,
                             .cells = tensor::Column(right.columns[c].cells.type()),
                             .path = path_through(right.columns[c], "as-of join")});
    }
  for (size_t r = 0; r < left.rows(); ++r) {
    const auto it = rows.find(key_of(left, r, left_keys));
    const std::pair<int64_t, size_t>* found = nullptr;
    if (it != rows.end()) {
      // The last row not younger than the left one lies just before the first that is.
      const auto after = std::upper_bound(it->second.begin(), it->second.end(), left.ts[r],
                                          [](int64_t ts, const auto& x) { return ts < x.first; });
      if (after != it->second.begin() && (!within_us || left.ts[r] - std::prev(after)->first <= within_us))
        found = &*std::prev(after);
    }
    for (size_t k = 0; k < taken.size(); ++k)
      // A left join: rows without a partner stay, with absent cells.
      put(out.columns[left.columns.size() + k],
          found ? right.columns[taken[k]].cells[found->second] : Cell());
  }
  return out;
}

}  // namespace walle::stream
