#include "ops/registry.h"

#include <unordered_map>
#include <vector>

namespace walle::ops {

#define WALLE_OP(name) extern const ir::OpDef k##name##Op;
#define WALLE_OP_LIST(name) extern const std::span<const ir::OpDef> k##name##Ops;
#include "ops/op_list.inc"
#undef WALLE_OP
#undef WALLE_OP_LIST

namespace {
// A hash table beside the rows: find_op() is asked for every node and every step of a decomposition.
struct Table {
  std::vector<const ir::OpDef*> rows;
  std::unordered_map<std::string_view, const ir::OpDef*> by_name;

  Table() {
#define WALLE_OP(name) add(k##name##Op);
#define WALLE_OP_LIST(name) \
  for (const ir::OpDef& row : k##name##Ops) add(row);
#include "ops/op_list.inc"
#undef WALLE_OP
#undef WALLE_OP_LIST
  }
  void add(const ir::OpDef& row) {
    rows.push_back(&row);
    // Views of string literals: the rows are static.
    by_name.emplace(row.name, &row);
  }
};

const Table& table() {
  // Made when first asked, not when the library is loaded.
  static const Table instance;
  return instance;
}
}  // namespace

const ir::OpDef* find_op(std::string_view name) {
  const auto it = table().by_name.find(name);
  return it == table().by_name.end() ? nullptr : it->second;
}

std::span<const ir::OpDef* const> all_ops() { return table().rows; }

}  // namespace walle::ops
