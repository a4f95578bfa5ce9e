// AddressedMemory: a memory whose handles are host addresses. HostMemory: the host's own, where graph inputs,
// results and constants lie and the CPU computes. HostArgs: the operands of a kernel that computes in one.
//
// Stateless: every function may be called from any thread.
#pragma once

#include "backends/backend.h"

namespace walle::backends {

class AddressedMemory : public Memory {
 public:
  Result<Handle> allocate(int64_t bytes) override;
  void free(Handle block) override;
  Status copy_in(Handle to, const void* from, int64_t bytes) override;
  Status copy_out(void* to, Handle from, int64_t bytes) override;
  Status copy_within(Handle to, Handle from, int64_t bytes) override;
  Status flush() override { return {}; }
  void discard(Handle, int64_t) override {}

  // Memory that somebody else keeps alive: a tensor's.
  Handle of(const void* bytes) const { return handle(reinterpret_cast<uintptr_t>(bytes)); }
  // nullptr for a handle of another memory.
  std::byte* pointer(Handle h) const {
    return h.memory() == this ? reinterpret_cast<std::byte*>(static_cast<uintptr_t>(number(h))) : nullptr;
  }
  std::byte* visible(Handle h) const override { return pointer(h); }

 protected:
  ~AddressedMemory() = default;
};

class HostMemory final : public AddressedMemory {
 public:
  std::string_view name() const override { return "host"; }
};

namespace detail {
inline constinit HostMemory host_memory;
}
inline HostMemory& host_memory() { return detail::host_memory; }

// RunArgs whose operands all lie in host memory, as pointers. Only the adapter below makes one, once it has
// looked at every handle.
class HostArgs {
 public:
  // nullptr for an operand that was left out.
  template <class T>
  const T* input(int i) const {
    return reinterpret_cast<const T*>(static_cast<uintptr_t>(in_[i].at_));
  }
  template <class T>
  T* output(int i) const {
    return reinterpret_cast<T*>(static_cast<uintptr_t>(out_[i].at_));
  }

  std::byte* const workspace;
  const int threads;

 private:
  template <class Fn>
  friend class HostKernel;
  explicit HostArgs(const RunArgs& args)
      : workspace(reinterpret_cast<std::byte*>(static_cast<uintptr_t>(args.workspace.at_))),
        threads(args.threads),
        in_(args.in.data()),
        out_(args.out.data()) {}

  // In every step of every run, so inline and without a Status: about 2 ns a step of a 40-step model against
  // 14 for a call that returned one.
  static bool all_in(const Memory* source, const Memory* memory, const RunArgs& args) {
    bool all = !args.workspace || args.workspace.memory() == memory;
    for (const Handle& h : args.in) all &= !h || h.memory() == source;
    for (const Handle& h : args.out) all &= !h || h.memory() == memory;
    return all;
  }

  const Handle* in_;
  const Handle* out_;
};

// The internal error that names the operand which is not in its memory: inputs in `source`.
Error foreign_operand(const Memory& source, const Memory& memory, const RunArgs& args);

template <class Fn>
class HostKernel final : public Kernel {
 public:
  HostKernel(const Memory& source, const Memory& memory, uint32_t unread, Fn fn)
      : source_(&source), memory_(&memory), unread_(unread), fn_(std::move(fn)) {}
  Status run(const RunArgs& args) const override {
    if (!HostArgs::all_in(source_, memory_, args)) [[unlikely]]
      return foreign_operand(*source_, *memory_, args);
    return fn_(HostArgs(args));
  }
  bool reads(int i) const override { return i >= 32 || !(unread_ >> i & 1); }

 private:
  const Memory* source_;
  const Memory* memory_;
  uint32_t unread_;  // inputs, one bit each
  Fn fn_;
};

// A kernel in host memory from a callable Status(const HostArgs&).
template <class Fn>
std::unique_ptr<Kernel> make_kernel(Fn fn) {
  return std::make_unique<HostKernel<Fn>>(host_memory(), host_memory(), 0, std::move(fn));
}

// The same in a memory whose handles are host addresses; `unread`: inputs it does not look at, one bit each.
template <class Fn>
std::unique_ptr<Kernel> make_kernel_in(const Memory& memory, uint32_t unread, Fn fn) {
  return std::make_unique<HostKernel<Fn>>(memory, memory, unread, std::move(fn));
}

// The same for a backend that reads in `source` and writes in `memory`.
template <class Fn>
std::unique_ptr<Kernel> make_kernel_between(const Memory& source, const Memory& memory, uint32_t unread,
                                            Fn fn) {
  return std::make_unique<HostKernel<Fn>>(source, memory, unread, std::move(fn));
}

}  // namespace walle::backends
