// The C API over vm::Vm, vm::Bundle and vm::Isolate.
#include "walle/vm.h"

#include <algorithm>
#include <cstring>

#include "capi/guard.h"
#include "capi/vm_result.h"
#include "container/host/host_calls.h"
#include "container/host/slots.h"
#include "container/host/task_state.h"
#include "vm/isolate.h"

namespace vm = walle::vm;
using walle::Result;
using walle::Status;
using walle::capi::guarded;
using walle::capi::null_argument;
using walle::capi::report;

struct walle_vm_t {
  std::shared_ptr<const vm::Vm> vm;
  std::string id;  // kept: the accessors hand out pointers
  std::string flavour;
  std::string python;
};

struct walle_vm_bundle_t {
  std::shared_ptr<const vm::Bundle> bundle;
};

struct walle_vm_isolate_t {
  std::unique_ptr<vm::Isolate> isolate;
};

namespace {

using Names = std::optional<std::vector<std::string>>;

Result<Names> read_names(const char* const* names, size_t count) {
  if (!names) return Names();  // NULL allows every name; an empty list allows none
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) {
    if (!names[i]) return null_argument("a name in options", "walle_vm_create");
    out.emplace_back(names[i]);
  }
  return Names(std::move(out));
}

Result<walle_vm_options_t> read_options(const walle_vm_options_t* given) {
  walle_vm_options_t options{};
  if (given) WALLE_TRY(walle::capi::copy_struct(*given, options, "walle_vm_options_t", "walle_vm_create"));
  return options;
}

Result<vm::Limits> limits_of(const walle_vm_options_t& options) {
  vm::Limits limits;
  limits.heap_bytes = options.heap_bytes;
  limits.wall_ms = options.wall_ms;
  limits.cpu_ms = options.cpu_ms;
  limits.python_depth = options.depth;
  limits.stack_bytes = options.stack_bytes;
  limits.state_bytes = options.state_bytes;
  limits.log_bytes = options.log_bytes;
  WALLE_ASSIGN(limits.imports, read_names(options.imports, options.import_count));
  WALLE_ASSIGN(limits.host_calls, read_names(options.host_calls, options.host_call_count));
  return limits;
}

Result<vm::TaskContext> context_of(const walle_vm_options_t& options) {
  vm::TaskContext context;
  // Text with a size and no zero behind it: lines of tasks may hold anything.
  if (options.log) {
    context.log = [log = options.log, user = options.log_user](walle::base::LogLevel level,
                                                               std::string_view text) {
      log(user, static_cast<int>(level), text.data(), text.size());
    };
  }
  if (options.state_path) {
    WALLE_ASSIGN(auto state, walle::container::TaskState::open(options.state_path, options.state_bytes));
    context.set(walle::container::kKvSlot, std::move(state));
  }
  return context;
}

std::unique_ptr<walle_vm_result_t> result_of(vm::Outcome outcome) {
  auto out = std::make_unique<walle_vm_result_t>();
  if (outcome.ok()) {
    out->value = std::make_unique<walle::capi::PlainValue>(std::move(outcome.value));
    return out;
  }
  out->failure = std::move(outcome.failure);
  out->limit = vm::reason_name(out->failure->reason);
  out->text = out->failure->text();
  // The pointers go into out->failure, which does not move any more.
  for (const vm::Frame& frame : out->failure->traceback)
    out->frames.push_back({frame.file.c_str(), frame.function.c_str(), frame.line});
  return out;
}

}  // namespace

extern "C" {

walle_status_t walle_vm_open(const char* library_path, walle_vm_t** out, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!library_path || !out) return null_argument(library_path ? "vm" : "library_path", "walle_vm_open");
    // Here and below: who overlooks the status finds NULL and not what was there before.
    *out = nullptr;
    WALLE_ASSIGN(std::shared_ptr<const vm::Vm> opened,
                 vm::Vm::open(library_path, walle::container::host_calls()));
    *out = new walle_vm_t{
        .vm = opened, .id = opened->id(), .flavour = opened->flavour(), .python = opened->python()};
    return {};
  });
}

void walle_vm_free(walle_vm_t* vm) { delete vm; }
const char* walle_vm_id(const walle_vm_t* vm) { return vm ? vm->id.c_str() : ""; }
const char* walle_vm_flavour(const walle_vm_t* vm) { return vm ? vm->flavour.c_str() : ""; }
const char* walle_vm_python(const walle_vm_t* vm) { return vm ? vm->python.c_str() : ""; }

walle_status_t walle_vm_bundle_load(walle_vm_t* vm, const char* path, walle_vm_bundle_t** bundle,
                                    walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!vm || !path || !bundle)
      return null_argument(!vm ? "vm" : !path ? "path" : "bundle", "walle_vm_bundle_load");
    *bundle = nullptr;
    WALLE_ASSIGN(auto opened, vm::Bundle::load(vm->vm, path));
    *bundle = new walle_vm_bundle_t{std::move(opened)};
    return {};
  });
}

walle_status_t walle_vm_bundle_parse(walle_vm_t* vm, const void* data, size_t bytes,
                                     walle_vm_bundle_t** bundle, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!vm || !data || !bundle)
      return null_argument(!vm ? "vm" : !data ? "data" : "bundle", "walle_vm_bundle_parse");
    *bundle = nullptr;
    WALLE_ASSIGN(auto opened, vm::Bundle::open(vm->vm, std::string(static_cast<const char*>(data), bytes)));
    *bundle = new walle_vm_bundle_t{std::move(opened)};
    return {};
  });
}

void walle_vm_bundle_free(walle_vm_bundle_t* bundle) { delete bundle; }

walle_status_t walle_vm_create(walle_vm_t* vm, const walle_vm_options_t* options,
                               walle_vm_isolate_t** isolate, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!vm || !isolate) return null_argument(vm ? "isolate" : "vm", "walle_vm_create");
    *isolate = nullptr;
    WALLE_ASSIGN(const walle_vm_options_t given, read_options(options));
    WALLE_ASSIGN(vm::Limits limits, limits_of(given));
    WALLE_ASSIGN(vm::TaskContext context, context_of(given));
    WALLE_ASSIGN(auto made, vm::Isolate::create(vm->vm, std::move(limits), std::move(context)));
    *isolate = new walle_vm_isolate_t{std::move(made)};
    return {};
  });
}

void walle_vm_destroy(walle_vm_isolate_t* isolate) { delete isolate; }

walle_status_t walle_vm_load(walle_vm_isolate_t* isolate, const walle_vm_bundle_t* bundle,
                             walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!isolate || !bundle) return null_argument(isolate ? "bundle" : "isolate", "walle_vm_load");
    return isolate->isolate->attach(bundle->bundle);
  });
}

walle_status_t walle_vm_call(walle_vm_isolate_t* isolate, const char* module, const char* function,
                             const walle_vm_value_t* args, size_t count, walle_vm_result_t** result,
                             walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!isolate || !module || !function || !result || (count && !args))
      return null_argument(!isolate    ? "isolate"
                           : !module   ? "module"
                           : !function ? "function"
                           : !result   ? "result"
                                       : "args",
                           "walle_vm_call");
    *result = nullptr;
    std::vector<vm::Value> values;
    for (size_t i = 0; i < count; ++i) {
      WALLE_ASSIGN(values.emplace_back(), walle::capi::read_value(args[i]));
    }
    auto made = result_of(isolate->isolate->call(module, function, values));
    // Given out on failure too: type, message and traceback are in it, and the status alone says little.
    *result = made.release();
    const std::optional<vm::Failure>& failure = (*result)->failure;
    if (failure) return vm::task_error(*failure, {module, ".", function});
    return {};
  });
}

// From any thread, mostly while another is inside: whether the call ended by it, that call says.
void walle_vm_cancel(walle_vm_isolate_t* isolate) {
  if (isolate) isolate->isolate->cancel();
}

walle_status_t walle_vm_reset(walle_vm_isolate_t* isolate, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!isolate) return null_argument("isolate", "walle_vm_reset");
    return isolate->isolate->reset();
  });
}

walle_status_t walle_vm_get_stats(const walle_vm_isolate_t* isolate, walle_vm_stats_t* stats,
                                  walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!isolate || !stats) return null_argument(isolate ? "stats" : "isolate", "walle_vm_get_stats");
    const vm::IsolateStats s = isolate->isolate->stats();
    *stats = {.heap_bytes = s.heap_bytes,
              .heap_peak = s.heap_peak,
              .calls = s.calls,
              .cancels = s.cancels,
              .denied_allocations = s.denied_allocations};
    return {};
  });
}

const walle_vm_value_t* walle_vm_result_value(const walle_vm_result_t* result) {
  return result && result->value ? &result->value->plain() : nullptr;
}

walle_status_t walle_vm_result_failure(const walle_vm_result_t* result, walle_vm_failure_t* failure,
                                       walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!result || !failure) return null_argument(result ? "failure" : "result", "walle_vm_result_failure");
    if (!result->failure)
      return walle::argument_error("the result of a call that returned", "the result of a failed call",
                                   "walle_vm_result_failure", "use walle_vm_result_value");
    *failure = {.type = result->failure->type.c_str(),
                .message = result->failure->message.c_str(),
                .limit = result->limit.c_str(),
                .frames = result->frames.data(),
                .frame_count = result->frames.size()};
    return {};
  });
}

const char* walle_vm_result_text(const walle_vm_result_t* result) {
  return result ? result->text.c_str() : "";
}

void walle_vm_result_free(walle_vm_result_t* result) { delete result; }

walle_status_t walle_vm_buffer_allocate(size_t bytes, walle_vm_buffer_t** buffer, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!buffer) return null_argument("buffer", "walle_vm_buffer_allocate");
    *buffer = nullptr;
    WALLE_ASSIGN(walle::Buffer made, walle::Buffer::allocate(bytes));
    *buffer = new walle_vm_buffer_t{std::move(made)};
    return {};
  });
}

walle_status_t walle_vm_buffer_wrap(void* data, size_t bytes, int writable, void (*release)(void*),
                                    void* user, walle_vm_buffer_t** buffer, walle_error_t* error) {
  return guarded(error, [&]() -> Status {
    if (!buffer || (bytes && !data)) return null_argument(buffer ? "data" : "buffer", "walle_vm_buffer_wrap");
    *buffer = nullptr;
    auto made = std::make_unique<walle_vm_buffer_t>();
    std::function<void()> done;
    if (release) done = [release, user] { release(user); };
    made->buffer = walle::Buffer::wrap(data, bytes, std::move(done), writable != 0);
    *buffer = made.release();
    return {};
  });
}

void* walle_vm_buffer_data(const walle_vm_buffer_t* buffer) {
  return buffer ? buffer->buffer.data() : nullptr;
}
size_t walle_vm_buffer_size(const walle_vm_buffer_t* buffer) { return buffer ? buffer->buffer.size() : 0; }
void walle_vm_buffer_free(walle_vm_buffer_t* buffer) { delete buffer; }

}  // extern "C"
