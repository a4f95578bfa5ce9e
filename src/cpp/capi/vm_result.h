// What stands behind walle_vm_result_t: the answer of a call, or why there is none.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capi/vm_values.h"
#include "vm/outcome.h"

// The C structs that are handed out point into these members, which therefore live as long as the result.
struct walle_vm_result_t {
  std::unique_ptr<walle::capi::PlainValue> value;
  std::optional<walle::vm::Failure> failure;
  std::string limit, text;
  std::vector<walle_vm_frame_t> frames;
};
