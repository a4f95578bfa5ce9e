// The activation memory of a session: one block per memory, grown to the largest plan that ran. Not
// thread-safe: a session runs one request at a time.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "backends/memory.h"

namespace walle::runtime {

class Arenas {
 public:
  // A block of `memory` of at least `bytes`; what was there before is lost when it has to grow.
  Result<backends::Handle> reserve(backends::Memory& memory, int64_t bytes) {
    if (const backends::Block* block = find(memory, bytes)) return block->handle();
    return grow(memory, bytes);
  }
  // The block if it is large enough, without the price of a Result: on the way of every run.
  const backends::Block* find(const backends::Memory& memory, int64_t bytes) const {
    for (const Arena& arena : arenas_)
      if (arena.memory == &memory)
        return arena.block && arena.block.bytes() >= bytes ? &arena.block : nullptr;
    return nullptr;
  }

  // Gives back blocks that are larger than `most` says of their memory. Handles into them are void.
  void shrink(const std::function<int64_t(const backends::Memory&)>& most) {
    for (Arena& arena : arenas_)
      if (arena.block && arena.block.bytes() > most(*arena.memory)) arena.block = {};
  }

  // Of all memories.
  int64_t bytes() const {
    int64_t sum = 0;
    for (const Arena& arena : arenas_) sum += arena.block ? arena.block.bytes() : 0;
    return sum;
  }

 private:
  struct Arena {
    const backends::Memory* memory;
    backends::Block block;
  };

  Result<backends::Handle> grow(backends::Memory& memory, int64_t bytes) {
    auto arena = std::ranges::find(arenas_, &memory, &Arena::memory);
    if (arena == arenas_.end()) arena = arenas_.insert(arena, Arena{&memory, {}});
    // Grown to what is asked for and no further: the sizes are those of plans, and a session settles on its
    // largest within a few runs. The old block is given back first: both need not fit.
    arena->block = {};
    WALLE_ASSIGN(arena->block, backends::Block::allocate(memory, bytes));
    return arena->block.handle();
  }

  std::vector<Arena> arenas_;  // searched by walking: a session has one memory, rarely two
};

}  // namespace walle::runtime
