#include "runtime/backend_list.h"

#include <sstream>

// Declared from the list, so that no file of this room includes a backend.
namespace walle::backends {
#define WALLE_BACKEND(name)        \
  namespace name {                 \
  const Backend& name##_backend(); \
  }
#define WALLE_BACKEND_ON_HOST(name)                   \
  namespace name {                                    \
  const Backend& name##_backend(const Backend& host); \
  }
#include "runtime/backend_list.inc"
#undef WALLE_BACKEND
#undef WALLE_BACKEND_ON_HOST
}  // namespace walle::backends

namespace walle::runtime {

namespace {
// A function and not an instance: a backend comes to be when somebody first asks for it, because finding a
// device may take long and fail.
struct Row {
  const char* name;
  const backends::Backend& (*get)();
};
constexpr Row kRows[] = {
#define WALLE_BACKEND(name) {#name, backends::name::name##_backend},
#define WALLE_BACKEND_ON_HOST(name) \
  {#name, []() -> const backends::Backend& { return backends::name::name##_backend(host_backend()); }},
#include "runtime/backend_list.inc"
#undef WALLE_BACKEND
#undef WALLE_BACKEND_ON_HOST
};
}  // namespace

const backends::Backend& host_backend() { return kRows[0].get(); }

std::vector<std::string> backend_names() {
  std::vector<std::string> out;
  for (const Row& row : kRows) out.emplace_back(row.name);
  return out;
}

std::string backend_target(const std::string& name) {
  for (const Row& row : kRows)
    if (name == row.name) return row.get().target();
  return "";
}

Result<std::vector<const backends::Backend*>> backends_named(const std::string& names) {
  std::vector<const backends::Backend*> out;
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ',');) {
    const backends::Backend* found = nullptr;
    std::string known;
    for (const Row& row : kRows) {
      known += (known.empty() ? "" : ", ") + std::string(row.name);
      if (name == row.name) found = &row.get();
    }
    if (!found)
      return backend_error({"backend '", name, "'"}, {"one of: ", known}, "session",
                           "choose a backend of this build");
    // Now, while an error still says which name was meant, and not in the first run.
    WALLE_TRY(found->ready());
    out.push_back(found);
  }
  if (out.empty())
    return backend_error("an empty backend name", "for example 'cpu'", "session",
                         "leave backend at its default");
  return out;
}

}  // namespace walle::runtime
