// SessionOptions: what a session may be asked for.
#pragma once

#include <string>

#include "backends/backend.h"
#include "base/status.h"
#include "runtime/session_debug.h"

namespace walle::runtime {

struct SessionOptions {
#define WALLE_SESSION_OPTION(type, name, value) type name = value;
#include "runtime/session_option.inc"
  SessionDebug debug;
};

// An argument error where `tune` is out of [0, kTuneAll].
Status check_tune(int tune);

// An argument error where `max_plans` is out of [1, base::kMaxKeptPlans].
Status check_max_plans(int max_plans);

// An argument error where `max_plan_bytes` is negative.
Status check_max_plan_bytes(int64_t max_plan_bytes);

// Where a session keeps decisions; empty: nowhere.
std::string plan_folder(const SessionOptions& options);

// Where a session keeps packed weights; empty: nowhere.
std::string weights_folder(const SessionOptions& options);

// What "strict", "normal" or "fast" allows of backends::Candidate::error; an argument error for anything
// else.
Result<double> error_limit(const std::string& accuracy);

// What products of float32 may be made of beside it: "bf16" or "fp16"; nothing with "float32" or "auto",
// which is what the model says. An argument error for anything else.
Result<backends::Arithmetic> allowed_arithmetic(const std::string& precision);

// Whether values may be kept as bfloat16 between layers: where products may be made of them, but for
// accuracy="strict".
Result<bool> allows_rounded_values(const SessionOptions& options);

}  // namespace walle::runtime
