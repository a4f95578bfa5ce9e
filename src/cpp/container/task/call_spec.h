// CallSpec: a function of a task that apps may call, as its manifest declares it (Device::call), or one of
// the app that the task may call (walle.app).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vm/value.h"

namespace walle::container {

enum class CallType : uint8_t {
#define WALLE_CALL_TYPE(member, word) member,
#include "container/task/call_type.inc"
};
inline constexpr int kCallTypes = 0
#define WALLE_CALL_TYPE(member, word) +1
#include "container/task/call_type.inc"
    ;
std::string_view call_type_name(CallType type);

inline constexpr size_t kMaxTaskCalls = 32;
inline constexpr size_t kMaxCallArguments = 16;
inline constexpr uint32_t kMaxAppPerFiring = 1'000'000;

struct PhaseLimits {
  uint32_t wall_ms = 1000;
  uint32_t cpu_ms = 0;  // 0: no limit of its own
};

struct CallSpec {
  std::string function;             // in the task's module, or of the app
  std::vector<CallType> arguments;  // by position, all of them
  CallType returns = CallType::any;
  PhaseLimits limits;
  bool keep = false;        // what it appends and sends stays
  uint32_t per_firing = 0;  // of [app]: how often one firing may call it
};

// An argument error that names the first argument that is not as declared. An int is a float as well.
Status check_arguments(const CallSpec& spec, std::span<const vm::Value> arguments, Text where);
bool is_of(const vm::Value& value, CallType type);
std::string_view type_name_of(const vm::Value& value);

}  // namespace walle::container
