#include "ops/op_set.h"

#include <algorithm>
#include <vector>

#include "base/hash.h"
#include "ops/registry.h"

namespace walle::ops {

std::string op_set_id() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::vector<std::string_view> names;
  for (const ir::OpDef* op : all_ops()) names.push_back(op->name);
  std::ranges::sort(names);
  base::Hasher hasher;
  for (const std::string_view name : names) hasher.text(name);
  std::string out(16, '0');
  uint64_t rest = hasher.finish();
  for (auto digit = out.rbegin(); digit != out.rend(); ++digit, rest >>= 4) *digit = kDigits[rest & 15];
  return out;
}

}  // namespace walle::ops
