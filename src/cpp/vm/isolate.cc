#include "vm/isolate.h"

#include <array>

#include "vm/convert.h"
#include "vm/fork.h"
#include "vm/reaper.h"

namespace walle::vm {

// What the reaper destroys: the interpreter and everything it may still ask for while it ends.
struct Isolate::Body {
  std::shared_ptr<const Vm> vm;
  TaskContext context;
  wvm_isolate* handle = nullptr;
  std::unique_ptr<Watched> watched;

  Status limit(const Limits& limits) const;
  // What the host gave, without what calls have added to it.
  void start_from(const TaskContext& given, const Limits& limits) {
    std::vector<std::shared_ptr<const Bundle>> attached = std::move(context.bundles);
    context = given;
    context.bundles = std::move(attached);
    context.log_quota = LogQuota(limits.log_bytes);
  }

  ~Body() {
    if (handle == nullptr || is_forked_child()) return;
    // First: the watchdog stops calls through the handle, and does so with its lock held.
    Watchdog::instance().remove(watched.get());
    vm->api().destroy(handle);
  }
};

namespace {

Outcome refusal(const char* message) {
  Outcome out;
  out.failure.emplace();
  out.failure->type = "Busy";
  out.failure->message = message;
  return out;
}

}  // namespace

Result<std::shared_ptr<Isolate::Body>> Isolate::make_body(const std::shared_ptr<const Vm>& vm) {
  WALLE_TRY(refuse_forked_child("Isolate::create"));
  auto body = std::make_shared<Body>();
  body->vm = vm;
  wvm_result failure{};
  body->handle = vm->api().create(&body->context, &failure);
  if (body->handle == nullptr) {
    const Outcome outcome = incoming(failure);
    vm->api().release_result(&failure);
    return resource_error(
        {"another isolate (", outcome.failure->type, ": ", outcome.failure->message, ")"},
        "memory and stack for one more", "Isolate::create",
        "destroy isolates that are no longer needed, or call from a thread with a larger stack");
  }
  body->watched = std::make_unique<Watched>(vm->api(), body->handle);
  Watchdog::instance().add(body->watched.get());
  return body;
}

namespace {

Status check_imports(const Limits& limits) {
  if (!limits.imports) return {};
  for (const std::string& name : *limits.imports) {
    // The list is compared with top-level names, so a dotted one would silently allow nothing.
    if (name.empty() || name.find('.') != std::string::npos) {
      return argument_error({"import '", name, "'"}, "names of top-level modules", "Limits, imports",
                            "allow 'json' for json.decoder");
    }
  }
  return {};
}

}  // namespace

Status Isolate::check(const Vm& vm, const Limits& limits) {
  WALLE_TRY(check_imports(limits));
  return limits.host_calls ? vm.allowed(*limits.host_calls).status() : Status();
}

Status Isolate::Body::limit(const Limits& limits) const {
  WALLE_TRY(check_imports(limits));
  std::vector<const char*> imports;
  if (limits.imports) {
    for (const std::string& name : *limits.imports) imports.push_back(name.c_str());
  }
  std::vector<uint8_t> host_calls;
  if (limits.host_calls) {
    WALLE_ASSIGN(host_calls, vm->allowed(*limits.host_calls));
  }
  const wvm_limits plain{limits.heap_bytes,
                         limits.stack_bytes,
                         limits.python_depth,
                         !limits.imports,
                         imports.data(),
                         imports.size(),
                         limits.host_calls ? host_calls.data() : nullptr};
  if (vm->api().limit(handle, &plain) == 0) return {};
  return resource_error("an isolate's limits", "memory for their lists of names", "Isolate", "free memory");
}

Result<std::unique_ptr<Isolate>> Isolate::create_bare(std::shared_ptr<const Vm> vm) {
  std::unique_ptr<Isolate> isolate(new Isolate(std::move(vm)));
  WALLE_ASSIGN(isolate->body_, make_body(isolate->vm_));
  return isolate;
}

Result<std::unique_ptr<Isolate>> Isolate::create(std::shared_ptr<const Vm> vm, Limits limits,
                                                 TaskContext context) {
  WALLE_ASSIGN(std::unique_ptr<Isolate> isolate, create_bare(std::move(vm)));
  WALLE_TRY(isolate->give(std::move(limits), std::move(context)));
  return isolate;
}

Status Isolate::give(Limits limits, TaskContext context) {
  WALLE_TRY(refuse_forked_child("Isolate::give"));
  if (busy_.test_and_set(std::memory_order_acquire)) {
    return resource_error("an isolate that is running", "an idle isolate", "Isolate::give",
                          "wait for the call to end");
  }
  Status limited = body_->limit(limits);
  if (limited.ok()) {
    limits_ = std::move(limits);
    context_ = std::move(context);
    body_->start_from(context_, limits_);
  }
  busy_.clear(std::memory_order_release);
  return limited;
}

Isolate::~Isolate() {
  if (body_ != nullptr) Reaper::instance().bury(std::move(body_));
}

Status Isolate::attach(std::shared_ptr<const Bundle> bundle) {
  if (&bundle->vm() != vm_.get()) {
    return argument_error("a bundle opened by another VM library", "a bundle opened by this isolate's VM",
                          "Isolate::attach", "open the bytes again with this VM");
  }
  WALLE_TRY(refuse_forked_child("Isolate::attach"));
  // A call under way walks the list of bundles with every import.
  if (busy_.test_and_set(std::memory_order_acquire)) {
    return resource_error("an isolate that is running", "an idle isolate", "Isolate::attach",
                          "wait for the call to end");
  }
  wvm_result result{};
  const bool ok = vm_->api().attach(body_->handle, bundle->handle(), &result) == 0;
  vm_->api().release_result(&result);
  if (ok) {
    body_->context.bundles.push_back(bundle);
    const std::lock_guard lock(replacing_);
    bundles_.push_back(std::move(bundle));
  }
  busy_.clear(std::memory_order_release);
  if (!ok) return resource_error("a bundle", "memory to attach it", "Isolate::attach", "free memory");
  return {};
}

// What stands before and after the call is paid by every call, which takes 0.14 us in all: flags and clocks,
// as a rule no lock, never an allocation. `busy_` goes last: all before it belongs to the call that ends.
// Inline, so that what `run` names stays in registers.
template <class Run>
[[gnu::always_inline]] inline void Isolate::guarded(wvm_result& result, Attention* attention,
                                                    const Run& run) {
  if (is_forked_child()) [[unlikely]] {
    result = {};
    result.failure.type = "Forked";
    result.failure.message = "a child that fork() made cannot use its parent's isolates";
    return;
  }
  if (busy_.test_and_set(std::memory_order_acquire)) [[unlikely]] {
    result = {};
    result.failure.type = "Busy";
    result.failure.message = "another thread is using this isolate";
    return;
  }
  const bool timed = limits_.wall_ms != 0 || limits_.cpu_ms != 0;
  if (timed) Watchdog::instance().arm(*body_->watched, limits_.wall_ms, limits_.cpu_ms);
  if (attention != nullptr) {
    body_->context.attention = attention;
    Watchdog::attend(*body_->watched);
  }
  run(&result);
  if (attention != nullptr) {
    Watchdog::unattend(*body_->watched);
    body_->context.attention = nullptr;
  }
  if (timed) Watchdog::instance().disarm(*body_->watched);
  body_->context.log_quota.end_call(body_->context.log);
  busy_.clear(std::memory_order_release);
}

// Hot, as the other functions of a warm call on this side (pybind/vm_call.cc says why).
[[gnu::hot]] void Isolate::invoke_plain(const char* module, const char* function,
                                        std::span<const wvm_value> args, wvm_result& result,
                                        Attention* attention) {
  guarded(result, attention, [&](wvm_result* out) {
    vm_->api().call(body_->handle, module, function, args.data(), args.size(), out);
  });
}

[[gnu::hot]] void Isolate::release_held(wvm_result& result) const { vm_->api().release_result(&result); }

void Isolate::show_sources(Failure& failure) const {
  for (Frame& frame : failure.traceback) {
    if (frame.line <= 0) continue;
    if (const auto run = run_sources_.find(frame.file); run != run_sources_.end())
      frame.source = line_of(run->second, frame.line);
    for (size_t i = 0; frame.source.empty() && i < bundles_.size(); ++i)
      frame.source = bundles_[i]->source_line(frame.file, frame.line);
  }
  for (Failure& other : failure.related) show_sources(other);
}

Outcome Isolate::outcome_of(const wvm_result& result) const {
  Outcome out = incoming(result);
  if (out.ok()) return out;
  const std::lock_guard lock(replacing_);
  show_sources(*out.failure);
  return out;
}

Outcome Isolate::taken(wvm_result& result) const {
  Outcome out = outcome_of(result);
  release(result);
  return out;
}

Outcome Isolate::invoke(const char* module, const char* function, std::span<const Value> args,
                        Attention* attention) {
  BoundaryBuilder boundary;
  // As a rule no more; a longer list is worth its allocation.
  std::array<wvm_value, 8> few;
  std::vector<wvm_value> many(args.size() > few.size() ? args.size() : 0);
  wvm_value* plain = many.empty() ? few.data() : many.data();
  for (size_t i = 0; i < args.size(); ++i) plain[i] = visit(args[i], boundary);
  wvm_result result;
  invoke_plain(module, function, {plain, args.size()}, result, attention);
  return taken(result);
}

Outcome Isolate::run(const Source& source, Attention* attention) {
  if (vm_->api().run_source == nullptr)
    return refusal("this VM has no compiler: source text needs the full flavour");
  const wvm_source plain{source.name.c_str(), source.file.c_str(), source.text.c_str(), source.text.size(),
                         source.is_package};
  // Enough for whoever types one cell after the other; a host that runs more sees the rest without lines.
  constexpr size_t kKeptSources = 64;
  {
    const std::lock_guard lock(replacing_);
    if (run_sources_.size() < kKeptSources || run_sources_.contains(source.file))
      run_sources_[source.file] = source.text;
  }
  wvm_result result;
  guarded(result, attention, [&](wvm_result* out) { vm_->api().run_source(body_->handle, &plain, out); });
  return taken(result);
}

void Isolate::cancel() {
  if (is_forked_child()) return;
  const std::lock_guard lock(replacing_);
  vm_->api().cancel(body_->handle, WVM_REASON_CANCELLED);
}

IsolateStats Isolate::stats() const {
  if (is_forked_child()) return {};
  const std::lock_guard lock(replacing_);
  wvm_stats s{};
  vm_->api().stats(body_->handle, &s);
  return {s.heap_bytes, s.heap_peak, s.calls, s.cancels, s.denied_allocations};
}

Status Isolate::reset() {
  WALLE_TRY(refuse_forked_child("Isolate::reset"));
  if (busy_.test_and_set(std::memory_order_acquire)) {
    return resource_error("an isolate that is running", "an idle isolate", "Isolate::reset",
                          "cancel the call and wait for it");
  }
  // Made before the old one is given up: where memory is short the isolate stays as it is.
  Result<std::shared_ptr<Body>> fresh = make_body(vm_);
  Status done = fresh.ok() ? (*fresh)->limit(limits_) : fresh.status();
  if (done.ok()) {
    (*fresh)->start_from(context_, limits_);
    std::shared_ptr<Body> old = std::move(fresh).value();
    {
      const std::lock_guard lock(replacing_);
      body_.swap(old);
    }
    Reaper::instance().bury(std::move(old));
    for (const auto& bundle : bundles_) {
      wvm_result result{};
      // Fails without memory for one pointer; the next call then says that its module is not there.
      vm_->api().attach(body_->handle, bundle->handle(), &result);
      vm_->api().release_result(&result);
      body_->context.bundles.push_back(bundle);
    }
  }
  busy_.clear(std::memory_order_release);
  return done;
}

}  // namespace walle::vm
