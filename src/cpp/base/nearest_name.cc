#include "base/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace walle::base {

namespace {

constexpr size_t kLongestName = 256;
constexpr size_t kShortNameSlack = 2;  // lets names of one or two letters have suggestions at all

// Levenshtein's distance by rows (Wagner and Fischer, 1974), one row kept.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] != b[j] ? 1 : 0);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j + 1] + 1, row[j] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest_name(std::string_view given, std::span<const std::string> known) {
  if (given.size() > kLongestName) return {};
  std::string_view best;
  size_t least = given.size() / 2 + kShortNameSlack;
  for (const std::string& name : known) {
    if (name.size() > kLongestName) continue;
    const size_t distance = edit_distance(given, name);
    if (distance >= least) continue;
    least = distance;
    best = name;
  }
  return best;
}

std::string did_you_mean(std::string_view given, std::span<const std::string> known, Text otherwise) {
  const std::string_view near = nearest_name(given, known);
  return near.empty() ? otherwise.str() : Text{"did you mean '", near, "'?"}.str();
}

}  // namespace walle::base
