// Families of kernels that stand on single capabilities: products of int8, bf16 or fp16. Each has a list of
// its own of the forms it was written in, because their order is the family's and not the processor's.
//
//   constexpr std::array<Variant<Table>, 3> kFamily{{{"scalar", {}, &scalar::kTable}, ...}};
//   static_assert(in_order<Table>(kFamily));
//   WALLE_ASSIGN(const base::Capabilities usable, usable_capabilities());
//   const Variant<Table>& best = pick<Table>(kFamily, usable);
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/capabilities.h"

namespace walle::kernels {

template <class Table>
struct Variant {
  std::string_view name;  // in the names of kernels, as that of a set
  base::Capabilities needs;
  const Table* table = nullptr;
};

// The last one whose needs are met; of a family in order there is always one.
template <class Table>
constexpr const Variant<Table>& pick(std::span<const Variant<Table>> family, base::Capabilities usable) {
  size_t best = 0;
  for (size_t i = 1; i < family.size(); ++i)
    if (usable.has(family[i].needs)) best = i;
  return family[best];
}

// Whether the first one runs everywhere and each is picked by some processor: one that needs all that a later
// one needs never is.
template <class Table>
constexpr bool in_order(std::span<const Variant<Table>> family) {
  if (family.empty() || !family[0].needs.empty()) return false;
  for (size_t i = 0; i < family.size(); ++i)
    for (size_t later = i + 1; later < family.size(); ++later)
      if (family[i].needs.has(family[later].needs)) return false;
  return true;
}

}  // namespace walle::kernels
