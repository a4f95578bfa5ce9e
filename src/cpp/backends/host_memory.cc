#include "backends/host_memory.h"

#include <cstring>

#include "base/copy.h"
#include "base/memory.h"

namespace walle::backends {

Result<Handle> AddressedMemory::allocate(int64_t bytes) {
  // A negative size would become a huge one; it can only come of an overflow, which is no reason to crash.
  void* block = bytes < 0 ? nullptr : base::aligned_allocate(bytes);
  if (!block)
    return resource_error({"request for ", bytes, " bytes of ", name(), " memory was refused"},
                          "enough free memory", "allocate",
                          "use a smaller input or batch, or close other sessions");
  return of(block);
}

void AddressedMemory::free(Handle block) { base::aligned_free(pointer(block)); }

namespace {
Status move_bytes(void* to, const void* from, int64_t bytes, std::string_view memory) {
  // pointer() gives null for a handle of another memory, and a host pointer may be one of somebody else's.
  if (!to || !from)
    return internal_error("a copy between memories that neither side knows", {memory, " memory"});
  base::copy_bytes(to, from, bytes);
  return {};
}
}  // namespace

Status AddressedMemory::copy_in(Handle to, const void* from, int64_t bytes) {
  return move_bytes(pointer(to), from, bytes, name());
}

Status AddressedMemory::copy_out(void* to, Handle from, int64_t bytes) {
  return move_bytes(to, pointer(from), bytes, name());
}

Status AddressedMemory::copy_within(Handle to, Handle from, int64_t bytes) {
  return move_bytes(pointer(to), pointer(from), bytes, name());
}

namespace {
Error foreign(const Memory& own, Text what, size_t i, Handle h) {
  return internal_error({what, " ", i, " lies in ", h.memory()->name(), " memory"},
                        {"a kernel that computes in ", own.name(), " memory"});
}
}  // namespace

// Off the way of every run: all_in() has said that there is one, this finds which.
Error foreign_operand(const Memory& source, const Memory& memory, const RunArgs& args) {
  const auto outside = [](Handle h, const Memory& own) { return h && h.memory() != &own; };
  for (size_t i = 0; i < args.in.size(); ++i)
    if (outside(args.in[i], source)) return foreign(source, "input", i, args.in[i]);
  for (size_t i = 0; i < args.out.size(); ++i)
    if (outside(args.out[i], memory)) return foreign(memory, "output", i, args.out[i]);
  return foreign(memory, "workspace", 0, args.workspace);
}

}  // namespace walle::backends
