#include "runtime/own_results.h"

#include <algorithm>

#include "base/copy.h"

namespace walle::runtime {

Result<Tensor> copied(const Tensor& t) {
  WALLE_ASSIGN(Tensor copy, Tensor::allocate(t.dtype(), t.shape()));
  base::copy_bytes(copy.mutable_data(), t.data(), t.bytes());
  return copy;
}

bool lent(const Tensor& t, const Borrowed& borrowed) {
  return std::ranges::find(borrowed, t.buffer().data()) != borrowed.end();
}

namespace {

bool own(const Tensor& t, const Borrowed& borrowed, const ResultPool& pool) {
  return pool.sole(t) && !lent(t, borrowed);
}

}  // namespace

Status make_own(ir::RuntimeValue& value, const Borrowed& borrowed, const ResultPool& pool) {
  if (auto* t = std::get_if<Tensor>(&value.state)) {
    if (own(*t, borrowed, pool)) return {};
    WALLE_ASSIGN(*t, copied(*t));
    return {};
  }
  auto* s = std::get_if<std::shared_ptr<const ir::Sequence>>(&value.state);
  if (!s || !*s) return {};
  // The items of a sequence that two results share are theirs both, however few handles each item has.
  const bool shared = s->use_count() > 1;
  const auto keeps = [&](const Tensor& t) { return !shared && own(t, borrowed, pool); };
  if (std::ranges::all_of((*s)->items, keeps)) return {};
  auto mine = std::make_shared<ir::Sequence>();
  mine->dtype = (*s)->dtype;
  for (const Tensor& item : (*s)->items) {
    WALLE_ASSIGN(Tensor kept, keeps(item) ? Result<Tensor>(item) : copied(item));
    mine->items.push_back(std::move(kept));
  }
  value = std::shared_ptr<const ir::Sequence>(std::move(mine));
  return {};
}

void add_buffers(const ir::RuntimeValue& value, Borrowed& borrowed) {
  if (const Tensor* t = value.tensor()) {
    borrowed.push_back(t->buffer().data());
  } else if (const ir::Sequence* s = value.sequence()) {
    for (const Tensor& item : s->items) borrowed.push_back(item.buffer().data());
  }
}

Status make_booleans_plain(ir::RuntimeValue& value) {
  if (const Tensor* t = value.tensor()) {
    if (!t->has_plain_booleans()) {
      WALLE_ASSIGN(value, t->with_plain_booleans());
    }
  } else if (const ir::Sequence* s = value.sequence();
             s && !std::ranges::all_of(s->items, &Tensor::has_plain_booleans)) {
    auto plain = std::make_shared<ir::Sequence>(*s);
    for (Tensor& item : plain->items) {
      WALLE_ASSIGN(item, item.with_plain_booleans());
    }
    value = std::shared_ptr<const ir::Sequence>(std::move(plain));
  }
  return {};
}

}  // namespace walle::runtime
