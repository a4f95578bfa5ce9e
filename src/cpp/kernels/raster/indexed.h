// The indexed movement loops (gather, scatter): indices checked and turned into offsets once, then one small copy per round.
#pragma once

#include <array>
#include <atomic>
#include <cstring>

#include "kernels/parallel.h"
#include "kernels/raster/box_copy.h"

namespace walle::kernels {

// One component of an index tuple, in elements.
struct IndexStep {
  int64_t stride, bound;
};

// Rounds as a row-major box with a step of the dense side (the one the index does not move) and of the indexed side.
struct Rounds {
  int rank = 0;
  std::array<int64_t, 8> size{}, dense{}, indexed{};

  int64_t count() const {
    int64_t n = 1;
    for (size_t a = 0; a < static_cast<size_t>(rank); ++a) n *= size[a];
    return n;
  }
};

// Walks rounds [begin, end) in order: body(round, sum of steps).
template <class Body>
void for_rounds(const Rounds& rounds, const std::array<int64_t, 8>& step, int64_t begin, int64_t end, Body&& body) {
  std::array<int64_t, 8> index{};
  int64_t offset = 0;
  int64_t rest = begin;
  for (int a = rounds.rank - 1; a >= 0; --a) {
    const auto k = static_cast<size_t>(a);
    index[k] = rest % rounds.size[k];
    rest /= rounds.size[k];
    offset += index[k] * step[k];
  }
  for (int64_t i = begin; i < end; ++i) {
    body(i, offset);
    for (int a = rounds.rank - 1; a >= 0; --a) {
      const auto k = static_cast<size_t>(a);
      offset += step[k];
      if (++index[k] < rounds.size[k]) break;
      offset -= step[k] * rounds.size[k];
      index[k] = 0;
    }
  }
}

// Fills offsets[round] with where the indexed side of the round starts, relative to the body. Returns -1, or the position
// of the first index out of bounds.
template <class Index>
int64_t resolve_indices(const Rounds& rounds, const IndexStep* steps, int depth, const Index* indices, int64_t* offsets, int threads) {
  std::atomic<int64_t> bad{INT64_MAX};
  parallel_ranges(rounds.count(), 16384, threads, [&](int64_t begin, int64_t end) {
    for_rounds(rounds, rounds.indexed, begin, end, [&](int64_t i, int64_t offset) {
      for (int c = 0; c < depth; ++c) {
        int64_t index = indices[i * depth + c];
        if (index < 0) index += steps[c].bound;
        if (index < 0 || index >= steps[c].bound) [[unlikely]] {
          const int64_t here = i * depth + c;
          for (int64_t seen = bad.load(); here < seen && !bad.compare_exchange_weak(seen, here);) {}
          index = 0;
        }
        offset += index * steps[c].stride;
      }
      offsets[i] = offset;
    });
  });
  const int64_t first = bad.load();
  return first == INT64_MAX ? -1 : first;
}

// One unit per round, the common embedding and element look-ups: typed loads and stores instead of memcpy calls.
template <class Unit>
void gather_units(const Rounds& rounds, const int64_t* offsets, int64_t element, const std::byte* src, std::byte* dst, int threads) {
  parallel_ranges(rounds.count(), 16384, threads, [&](int64_t begin, int64_t end) {
    for_rounds(rounds, rounds.dense, begin, end, [&](int64_t i, int64_t to) {
      Unit v;
      std::memcpy(&v, src + offsets[i] * element, sizeof v);
      std::memcpy(dst + to * element, &v, sizeof v);
    });
  });
}

// A box per round. Gather: rounds write disjoint places, so threads share them.
inline void gather_boxes(const BoxCopy& body, const Rounds& rounds, const int64_t* offsets, int64_t element, const std::byte* src, std::byte* dst,
                         int threads) {
  const int64_t grain = 1 + 65536 / (body.bytes() + 1);
  parallel_ranges(rounds.count(), grain, threads, [&](int64_t begin, int64_t end) {
    for_rounds(rounds, rounds.dense, begin, end, [&](int64_t i, int64_t to) { copy_box(body, src + offsets[i] * element, dst + to * element); });
  });
}

// Scatter: later rounds win, so they stay in order.
inline void scatter_boxes(const BoxCopy& body, const Rounds& rounds, const int64_t* offsets, int64_t element, const std::byte* src, std::byte* dst) {
  for_rounds(rounds, rounds.dense, 0, rounds.count(),
             [&](int64_t i, int64_t from) { copy_box(body, src + from * element, dst + offsets[i] * element); });
}

template <class Unit>
void scatter_units(const Rounds& rounds, const int64_t* offsets, int64_t element, const std::byte* src, std::byte* dst) {
  for_rounds(rounds, rounds.dense, 0, rounds.count(), [&](int64_t i, int64_t from) {
    Unit v;
    std::memcpy(&v, src + from * element, sizeof v);
    std::memcpy(dst + offsets[i] * element, &v, sizeof v);
  });
}

}  // namespace walle::kernels
