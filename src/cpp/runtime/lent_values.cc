#include "runtime/lent_values.h"

#include <algorithm>

#include "base/copy.h"

namespace walle::runtime {

namespace {

bool lent(const Tensor& t, const Borrowed& borrowed) {
  return std::ranges::find(borrowed, t.buffer().data()) != borrowed.end();
}

Status detach(Tensor& t, const Borrowed& borrowed) {
  if (!lent(t, borrowed)) return {};
  WALLE_ASSIGN(Tensor copy, Tensor::allocate(t.dtype(), t.shape()));
  base::copy_bytes(copy.mutable_data(), t.data(), t.bytes());
  t = std::move(copy);
  return {};
}

}  // namespace

Status detach(ir::RuntimeValue& value, const Borrowed& borrowed) {
  if (auto* t = std::get_if<Tensor>(&value.state)) return detach(*t, borrowed);
  const ir::Sequence* s = value.sequence();
  if (!s || std::ranges::none_of(s->items, [&](const Tensor& t) { return lent(t, borrowed); })) return {};
  auto own = std::make_shared<ir::Sequence>(*s);
  for (Tensor& item : own->items) WALLE_TRY(detach(item, borrowed));
  value = std::shared_ptr<const ir::Sequence>(std::move(own));
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
