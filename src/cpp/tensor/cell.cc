#include "tensor/cell.h"

#include <cmath>
#include <cstring>

namespace walle::tensor {

namespace {
int sign(auto a, auto b) { return a < b ? -1 : a > b ? 1 : 0; }

int compare_whole(int64_t a, double b) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63, which no integer reaches
  if (static_cast<double>(a) != b) return sign(static_cast<double>(a), b);
  // Rounded to the same double: one of the two may still be larger.
  return b == kEnd ? -1 : sign(a, static_cast<int64_t>(b));
}

int compare_numbers(const Cell& a, const Cell& b) {
  const bool real_a = a.type == ColumnType::real;
  const bool real_b = b.type == ColumnType::real;
  const bool nan_a = real_a && std::isnan(a.d);
  const bool nan_b = real_b && std::isnan(b.d);
  if (nan_a || nan_b) return sign(nan_a, nan_b);
  if (real_a) return real_b ? sign(a.d, b.d) : -compare_whole(b.i, a.d);
  return real_b ? compare_whole(a.i, b.d) : sign(a.i, b.i);
}

// Where a cell stands among those that it is not compared with by its value.
int group_of(const Cell& c) {
  if (!c.present) return -1;
  return is_number(c.type) ? 0 : static_cast<int>(c.type);
}
}  // namespace

std::string_view column_type_name(ColumnType type) {
  switch (type) {
#define WALLE_COLUMN(number, id, word) \
  case ColumnType::id: return word;
#include "tensor/kinds/column.inc"
  }
  return "unknown";
}

std::optional<ColumnType> column_type(std::string_view word) {
#define WALLE_COLUMN(number, id, name) \
  if (word == name) return ColumnType::id;
#include "tensor/kinds/column.inc"
  return std::nullopt;
}

void Cell::append_floats(Floats& to) const {
  const size_t before = to.size();
  to.resize(before + floats());
  // Copied: bytes of a cell need not be aligned.
  if (!text.empty()) std::memcpy(to.data() + before, text.data(), text.size());
}

int compare(const Cell& a, const Cell& b) {
  const int group = group_of(a);
  if (const int order = sign(group, group_of(b))) return order;
  if (group < 0) return 0;
  return group == 0 ? compare_numbers(a, b) : sign(a.text.compare(b.text), 0);
}

bool identical(const Cell& a, const Cell& b) {
  if (!a.present || !b.present) return a.present == b.present;
  if (a.type != b.type) return false;
  if (a.type == ColumnType::real) return std::memcmp(&a.d, &b.d, sizeof a.d) == 0;
  return has_bytes(a.type) ? a.text == b.text : a.i == b.i;
}

}  // namespace walle::tensor
