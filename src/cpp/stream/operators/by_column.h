// ByColumn: what an operator remembers of each column that it was given, by the column's name.
//
// Batches of one stream have one layout, so a column is looked for where it stood before: an operator that
// is made for one batch asks the allocator once, where a map makes a node for each column.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace walle::stream {

template <class Value>
class ByColumn {
 public:
  // Null where nothing is known of it. `place`: the column's, in its batch.
  const Value* find(std::string_view name, size_t place) const {
    const size_t i = index_of(name, place);
    return i < known_.size() ? &known_[i].second : nullptr;
  }
  // Is `first` where nothing was known.
  Value& at(std::string_view name, size_t place, Value first) {
    const size_t i = index_of(name, place);
    return i < known_.size() ? known_[i].second : known_.emplace_back(name, first).second;
  }
  void reserve(size_t columns) { known_.reserve(columns); }

 private:
  size_t index_of(std::string_view name, size_t place) const {
    if (place < known_.size() && known_[place].first == name) return place;
    size_t i = 0;
    while (i < known_.size() && known_[i].first != name) ++i;
    return i;
  }

  std::vector<std::pair<std::string, Value>> known_;
};

}  // namespace walle::stream
