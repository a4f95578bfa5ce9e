// ParamSpec: a value that a task's code reads in walle.params and that its application may set, as the
// manifest declares it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "container/task/call_spec.h"

namespace walle::container {

inline constexpr size_t kMaxTaskParams = 64;
inline constexpr size_t kMaxParamChoices = 64;
inline constexpr size_t kMaxParamText = 1024;  // bytes

struct ParamSpec {
  std::string name;
  CallType type = CallType::integer;  // boolean, integer, real or text
  vm::Value standard;                 // what it is unless somebody sets it
  vm::Value least, most;              // of a number; none: any
  std::vector<vm::Value> one_of;      // none: any
};

// Whether the declaration means something, its default included.
Status check_param(const ParamSpec& spec);
// `value`, an int for a float made one, or what it must be instead. Errors name the parameter.
Result<vm::Value> param_value(const ParamSpec& spec, vm::Value value);
// The same by name. `where` tells who gives it: an argument error of kind no_such_key for a name that `task`
// does not declare.
struct ParamsOf {
  const std::string& task;
  const std::vector<ParamSpec>& specs;
  const char* where;
  Status check_name(const std::string& name) const;
  Result<vm::Value> value(const std::string& name, vm::Value given) const;
};

// Values by name: of all that a version declares, in the order of their declaration. Immutable, and shared by
// the firings that began with them.
using Params = std::shared_ptr<const vm::Map>;
// What was set of what the version declares, and the defaults of the rest. What does not fit is left out of
// `set`, and its names are returned.
Params params_of(const std::vector<ParamSpec>& specs, vm::Map& set, std::vector<std::string>& unfit);

}  // namespace walle::container
