// The indexed movement loops (gather, scatter): indices are checked and turned into offsets once, then every
// round is one small copy; rounds of a single element do both at once.
#pragma once

#include <array>
#include <atomic>
#include <cstring>

#include "base/copy.h"
#include "kernels/parallel.h"
#include "kernels/raster/box_copy.h"

namespace walle::kernels {

inline constexpr int64_t kCopyGrainBytes = 65536;  // a piece of copying that is worth another thread
// Indices checked before any of them is used: as many lie in the first-level cache when they are read again.
inline constexpr int64_t kCheckBlock = 256;

// One component of an index tuple, in elements.
struct IndexStep {
  int64_t stride, bound;
};

// Rounds as a row-major box with a step of the dense side
// (the one the index does not move) and of the indexed side.
struct Rounds {
  int rank = 0;
  std::array<int64_t, kBoxRank> size{}, dense{}, indexed{};

  int64_t count() const {
    int64_t n = 1;
    for (int a = 0; a < rank; ++a) n *= size[a];
    return n;
  }
};

// Walks rounds [begin, end) in order by lines of the innermost
// axis: body(first round, count, dense offset, indexed offset).
template <class Body>
void for_lines(const Rounds& rounds, int64_t begin, int64_t end, Body&& body) {
  if (begin >= end) return;
  std::array<int64_t, kBoxRank> index{};
  int64_t dense = 0;
  int64_t indexed = 0;
  int64_t rest = begin;
  for (int a = rounds.rank - 1; a >= 0; --a) {
    index[a] = rest % rounds.size[a];
    rest /= rounds.size[a];
    dense += index[a] * rounds.dense[a];
    indexed += index[a] * rounds.indexed[a];
  }
  const int last = rounds.rank > 0 ? rounds.rank - 1 : 0;
  const int64_t line = rounds.rank > 0 ? rounds.size[last] : 1;
  for (int64_t i = begin; i < end;) {
    const int64_t n = std::min(line - index[last], end - i);
    body(i, n, dense, indexed);
    i += n;
    dense -= index[last] * rounds.dense[last];
    indexed -= index[last] * rounds.indexed[last];
    index[last] = 0;
    for (int a = rounds.rank - 2; a >= 0; --a) {
      dense += rounds.dense[a];
      indexed += rounds.indexed[a];
      if (++index[a] < rounds.size[a]) break;
      dense -= rounds.dense[a] * rounds.size[a];
      indexed -= rounds.indexed[a] * rounds.size[a];
      index[a] = 0;
    }
  }
}

// Walks rounds [begin, end) in order: body(round, dense offset).
template <class Body>
void for_rounds(const Rounds& rounds, int64_t begin, int64_t end, Body&& body) {
  const int64_t step = rounds.rank > 0 ? rounds.dense[rounds.rank - 1] : 0;
  for_lines(rounds, begin, end, [&](int64_t i, int64_t n, int64_t dense, int64_t) {
    for (int64_t j = 0; j < n; ++j) body(i + j, dense + j * step);
  });
}

// The offset of one tuple, or -1 when a component is out
// of bounds (offsets of valid tuples are never negative).
template <class Index>
int64_t tuple_offset(const IndexStep* steps, int depth, const Index* tuple) {
  int64_t offset = 0;
  for (int c = 0; c < depth; ++c) {
    const int64_t given = tuple[c];
    const int64_t index = given < 0 ? given + steps[c].bound : given;
    // As unsigned, one comparison finds both ends.
    if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(steps[c].bound)) [[unlikely]]
      return -1;
    offset += index * steps[c].stride;
  }
  return offset;
}

// Lowers `bad` to `position`; the first wrong index is reported whichever thread meets one first.
inline void note_bad(std::atomic<int64_t>& bad, int64_t position) {
  // An atomic minimum, which C++20 does not have.
  for (int64_t seen = bad.load(); position < seen && !bad.compare_exchange_weak(seen, position);) {
  }
}

// Fills offsets[round] with where the indexed side of the round starts, relative to the body. Returns -1, or
// the position of the first index out of bounds.
template <class Index>
int64_t resolve_indices(const Rounds& rounds, const IndexStep* steps, int depth, const Index* indices,
                        int64_t* offsets, int threads) {
  std::atomic<int64_t> bad{INT64_MAX};
  const int64_t move = rounds.rank > 0 ? rounds.indexed[rounds.rank - 1] : 0;
  parallel_ranges(rounds.count(), kScalarGrain, threads, [&](int64_t begin, int64_t end) {
    for_lines(rounds, begin, end, [&](int64_t i, int64_t n, int64_t, int64_t indexed) {
      const Index* tuple = indices + i * depth;
      for (int64_t j = 0; j < n; ++j, tuple += depth) {
        const int64_t moved = tuple_offset(steps, depth, tuple);
        if (moved < 0) [[unlikely]]
          note_bad(bad, i + j);
        offsets[i + j] = indexed + j * move + std::max<int64_t>(moved, 0);
      }
    });
  });
  const int64_t round = bad.load();
  if (round == INT64_MAX) return -1;
  const int64_t position = round * depth;
  for (int c = 0; c < depth; ++c)
    if (tuple_offset(steps + c, 1, indices + position + c) < 0) return position + c;
  return position;
}

// One unit and one index per round (GatherElements, Gather of
// scalars): no offsets are stored. Returns as resolve_indices.
template <class Unit, class Index>
int64_t gather_elements(const Rounds& rounds, IndexStep step, const Index* indices, const Unit* src,
                        Unit* dst, int threads) {
  std::atomic<int64_t> bad{INT64_MAX};
  const int last = rounds.rank > 0 ? rounds.rank - 1 : 0;
  const int64_t to_step = rounds.rank > 0 ? rounds.dense[last] : 0;
  const int64_t from_step = rounds.rank > 0 ? rounds.indexed[last] : 0;
  parallel_ranges(rounds.count(), kScalarGrain, threads, [&](int64_t begin, int64_t end) {
    for_lines(rounds, begin, end, [&, step](int64_t i, int64_t n, int64_t dense, int64_t indexed) {
      const Index* at = indices + i;
      const Unit* from = src + indexed;
      Unit* to = dst + dense;
      const auto bound = static_cast<uint64_t>(step.bound);
      // Checked in blocks by sign bits alone (adds and ors, which
      // every instruction set vectorises), then copied unchecked.
      const auto outside = [bound](Index given) {
        const auto index = static_cast<uint64_t>(int64_t{given});
        return ((index + bound) | (bound - 1 - index)) >> 63;
      };
      // Embedding tables and plain Gather: without the three products the loop is a load, an add and a store.
      const bool plain = to_step == 1 && from_step == 0 && step.stride == 1;
      for (int64_t block = 0; block < n; block += kCheckBlock) {
        const int64_t stop = std::min(n, block + kCheckBlock);
        uint64_t any = 0;
        for (int64_t j = block; j < stop; ++j) any |= outside(at[j]);
        if (any) [[unlikely]] {
          int64_t j = block;
          while (!outside(at[j])) ++j;
          return note_bad(bad, i + j);
        }
        // The sign bit as a mask: adds the bound to negative indices without a branch.
        const auto wrapped = [&](int64_t j) {
          return int64_t{at[j]} + ((int64_t{at[j]} >> 63) & step.bound);
        };
        if (plain)
          for (int64_t j = block; j < stop; ++j) to[j] = from[wrapped(j)];
        else
          for (int64_t j = block; j < stop; ++j)
            to[j * to_step] = from[j * from_step + wrapped(j) * step.stride];
      }
    });
  });
  const int64_t first = bad.load();
  return first == INT64_MAX ? -1 : first;
}

// A box per round. Gather: rounds write disjoint places, so threads share them.
inline void gather_boxes(const BoxCopy& body, const Rounds& rounds, const int64_t* offsets, int64_t element,
                         const std::byte* src, std::byte* dst, int threads) {
  // Rounds, by their size: one of 64 KB or more is a piece of its own.
  const int64_t grain = 1 + kCopyGrainBytes / (body.bytes() + 1);
  const size_t bytes = body.unit;
  parallel_ranges(rounds.count(), grain, threads, [&](int64_t begin, int64_t end) {
    if (body.rank == 0)
      for_rounds(rounds, begin, end, [&](int64_t i, int64_t to) {
        base::copy_bytes(dst + to * element, src + offsets[i] * element, bytes);
      });
    else
      for_rounds(rounds, begin, end, [&](int64_t i, int64_t to) {
        copy_box(body, src + offsets[i] * element, dst + to * element);
      });
  });
}

// Scatter: later rounds win, so they stay in order.
inline void scatter_boxes(const BoxCopy& body, const Rounds& rounds, const int64_t* offsets, int64_t element,
                          const std::byte* src, std::byte* dst) {
  const size_t bytes = body.unit;
  if (body.rank == 0)
    return for_rounds(rounds, 0, rounds.count(), [&](int64_t i, int64_t from) {
      base::copy_bytes(dst + offsets[i] * element, src + from * element, bytes);
    });
  for_rounds(rounds, 0, rounds.count(), [&](int64_t i, int64_t from) {
    copy_box(body, src + from * element, dst + offsets[i] * element);
  });
}

template <class Unit>
void scatter_units(const Rounds& rounds, const int64_t* offsets, int64_t element, const std::byte* src,
                   std::byte* dst) {
  for_rounds(rounds, 0, rounds.count(), [&](int64_t i, int64_t from) {
    Unit v;
    std::memcpy(&v, src + from * element, sizeof v);
    std::memcpy(dst + offsets[i] * element, &v, sizeof v);
  });
}

}  // namespace walle::kernels
