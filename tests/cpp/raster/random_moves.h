// Random movement rasters over small shapes, for property tests: transpose, slice with steps and flips, pad,
// tile, expand, concat of two parts, reshape, window (im2col) - each as one raster from a tensor of the given
// shape.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "raster/reference.h"

namespace walle::raster::testing {

using Dims = std::vector<int64_t>;
using Rng = std::mt19937;

inline int64_t pick(Rng& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

inline int64_t product(const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

inline Dims strides(const Dims& dims) {
  Dims s(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) s[i - 1] = s[i] * dims[i];
  return s;
}

struct Move {
  Raster raster;
  Dims shape;  // of the result
};

inline Move transpose(Rng& rng, const Dims& in) {
  std::vector<size_t> perm(in.size());
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = i;
  std::shuffle(perm.begin(), perm.end(), rng);
  Move m;
  Dims ss;
  for (size_t p : perm) {
    m.shape.push_back(in[p]);
    ss.push_back(strides(in)[p]);
  }
  m.raster.regions.push_back(strided_region(0, m.shape, 0, ss, 0, strides(m.shape)));
  return m;
}

inline Move slice(Rng& rng, const Dims& in) {
  Move m;
  Dims ss = strides(in);
  int64_t offset = 0;
  for (size_t a = 0; a < in.size(); ++a) {
    const int64_t step = pick(rng, 0, 3) == 0 ? pick(rng, 2, 3) : 1;
    const int64_t start = pick(rng, 0, in[a] - 1);
    const int64_t size = pick(rng, 1, (in[a] - 1 - start) / step + 1);
    const bool flip = pick(rng, 0, 3) == 0;
    offset += (flip ? start + (size - 1) * step : start) * ss[a];
    ss[a] *= flip ? -step : step;
    m.shape.push_back(size);
  }
  m.raster.regions.push_back(strided_region(0, m.shape, offset, ss, 0, strides(m.shape)));
  return m;
}

inline Move pad(Rng& rng, const Dims& in, Fill fill) {
  Move m;
  Dims before;
  for (int64_t d : in) {
    before.push_back(pick(rng, 0, 2));
    m.shape.push_back(d + before.back() + pick(rng, 0, 2));
  }
  const Dims ds = strides(m.shape);
  int64_t offset = 0;
  for (size_t a = 0; a < in.size(); ++a) offset += before[a] * ds[a];
  m.raster.regions.push_back(strided_region(0, in, 0, strides(in), offset, ds));
  m.raster.fill = fill;
  return m;
}

inline Move tile(Rng& rng, const Dims& in) {
  Move m;
  const auto axis = static_cast<size_t>(pick(rng, 0, static_cast<int64_t>(in.size()) - 1));
  const int64_t repeats = pick(rng, 2, 3);
  m.shape = in;
  m.shape[axis] *= repeats;
  Dims size = in, ss = strides(in), ds = strides(m.shape);
  size.push_back(repeats);
  ss.push_back(0);
  ds.push_back(ds[axis] * in[axis]);
  m.raster.regions.push_back(strided_region(0, size, 0, ss, 0, ds));
  return m;
}

// Two slices of the source, one after the other along an axis (a rotation, or a doubling).
inline Move concat(Rng& rng, const Dims& in) {
  Move m;
  const auto axis = static_cast<size_t>(pick(rng, 0, static_cast<int64_t>(in.size()) - 1));
  const int64_t cut = pick(rng, 0, in[axis]);
  m.shape = in;
  const Dims s = strides(in);
  const auto part = [&](int64_t from, int64_t count, int64_t to) {
    if (count == 0) return;
    Dims size = in;
    size[axis] = count;
    m.raster.regions.push_back(strided_region(0, size, from * s[axis], s, to * s[axis], s));
  };
  part(cut, in[axis] - cut, 0);
  part(0, cut, in[axis] - cut);
  return m;
}

inline Move reshape(Rng& rng, const Dims& in) {
  Move m;
  int64_t rest = product(in);
  while (rest > 1 && m.shape.size() < 4) {
    int64_t factor = std::min(pick(rng, 2, 6), rest);
    while (rest % factor != 0) ++factor;
    m.shape.push_back(factor);
    rest /= factor;
  }
  if (rest > 1 || m.shape.empty()) m.shape.push_back(rest);
  m.raster.regions.push_back(contiguous_region(0, product(in)));
  return m;
}

// Sliding windows of width 2 along the last axis: [..., n] -> [..., n - 1, 2].
inline Move window(Rng&, const Dims& in) {
  Move m;
  m.shape = in;
  Dims ss = strides(in);
  m.shape.back() -= 1;
  m.shape.push_back(2);
  ss.push_back(1);
  m.raster.regions.push_back(strided_region(0, m.shape, 0, ss, 0, strides(m.shape)));
  return m;
}

inline Move random_move(Rng& rng, const Dims& in, Fill fill) {
  if (product(in) > 600) return slice(rng, in);
  switch (pick(rng, 0, 7)) {
    case 0: return slice(rng, in);
    case 1: return pad(rng, in, fill);
    case 2: return tile(rng, in);
    case 3: return concat(rng, in);
    case 4: return reshape(rng, in);
    case 5:
      if (in.size() < 4 && in.back() > 1) return window(rng, in);
      [[fallthrough]];
    default: return transpose(rng, in);
  }
}

inline Dims random_shape(Rng& rng) {
  Dims dims;
  const int64_t rank = pick(rng, 1, 4);
  for (int64_t i = 0; i < rank; ++i) dims.push_back(pick(rng, 1, 5));
  return dims;
}

inline std::vector<int32_t> numbered(int64_t n) {
  std::vector<int32_t> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<int32_t>(i) + 1;
  return v;
}

inline std::vector<int32_t> apply(const Raster& raster, const std::vector<int32_t>& in,
                                  int64_t out_elements) {
  std::vector<int32_t> out(static_cast<size_t>(out_elements), -7);
  const void* sources[] = {in.data()};
  if (!copy_reference(raster, DType::int32, sources, out.data(), out_elements).ok()) out.clear();
  return out;
}

}  // namespace walle::raster::testing
