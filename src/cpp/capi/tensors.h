// Tensors of the C API, as programs give and get them.
#pragma once

#include "base/status.h"
#include "runtime/session.h"
#include "walle/walle.h"

namespace walle::capi {

// Borrows the memory; an error of group argument, which names `function` and "`role` 'name'", where the
// fields do not fit each other.
Result<runtime::NamedValue> read_tensor(const walle_tensor_t& in, Text function, Text role);
// The same, but with data NULL and bytes 0 it is a tensor without a buffer.
Result<runtime::NamedValue> read_shape(const walle_tensor_t& in, Text function, Text role);
// The same of memory that a run may write.
Result<runtime::NamedValue> read_tensor(const walle_result_memory_t& in, Text function, Text role);

// `out` points into both, which outlive it.
void show_tensor(const std::string& name, const Tensor& tensor, walle_tensor_t& out);

}  // namespace walle::capi
