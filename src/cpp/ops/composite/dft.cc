// DFT along one axis of [..., n, 1 or 2] (real or complex numbers). Short
// lengths are one MatMul with a constant table; longer ones are split into
// two factors (Cooley and Tukey, 1965), each transformed the same way.
#include <cmath>
#include <numbers>

#include "ops/composite/dft_spec.h"
#include "ops/rules/views.h"

namespace walle::ops {

namespace {
Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const DftSpec spec, dft_spec(c));
  Shape out = c.shape(0);
  out[spec.axis] = spec.bins();
  out[out.rank() - 1] = spec.onesided && spec.inverse ? 1 : 2;
  c.output(0, c.dtype(0), out);
  return {};
}

double angle_of(const DftSpec& s, int64_t j, int64_t k, int64_t n) {
  // The remainder is exact, where the sine of a large angle would not be.
  const double turn = static_cast<double>((j * k) % n) / static_cast<double>(n);
  return (s.inverse ? 2 : -2) * std::numbers::pi * turn;
}

// [rows, n, parts] -> [rows, bins, 2] by one product; parts is 1 for real input.
Ref direct(LowerContext& c, const DftSpec& s, Ref x, int64_t n, int64_t bins) {
  if (c.failed()) return kNoRef;
  const Shape in = c.shape(x);
  const int64_t parts = in[2];
  if (!c.may_tabulate(in[1] * parts * bins * 2, kNumberWork)) return kNoRef;
  std::vector<double> table(in[1] * parts * bins * 2);
  for (int64_t j = 0; j < in[1]; ++j) {
    for (int64_t k = 0; k < bins; ++k) {
      const double a = angle_of(s, j, k, n);
      double* real = &table[(j * parts * bins + k) * 2];
      real[0] = std::cos(a);
      real[1] = std::sin(a);
      // A real signal has no imaginary rows: half of the product is left out.
      if (parts == 1) continue;
      real[2 * bins] = -std::sin(a);
      real[2 * bins + 1] = std::cos(a);
    }
  }
  const Ref matrix = constant_of(c, c.dtype(x), Shape{in[1] * parts, bins * 2}, table);
  return c.reshape(c.emit("MatMul", {c.reshape(x, Shape{in[0], in[1] * parts}), matrix}),
                   Shape{in[0], bins, 2});
}

// x times exp(i angle) of a constant table over [m, k], x of shape [rows, m, k, 2].
Ref twiddled(LowerContext& c, const DftSpec& s, Ref x, int64_t n) {
  if (c.failed()) return kNoRef;
  const Shape shape = c.shape(x);
  if (!c.may_tabulate(shape[1] * shape[2] * 4, kNumberWork)) return kNoRef;
  std::vector<double> straight, crossed;
  for (int64_t j = 0; j < shape[1]; ++j) {
    for (int64_t k = 0; k < shape[2]; ++k) {
      const double a = angle_of(s, j, k, n);
      straight.insert(straight.end(), {std::cos(a), std::cos(a)});
      crossed.insert(crossed.end(), {-std::sin(a), std::sin(a)});
    }
  }
  const Shape table{shape[1], shape[2], 2};
  const Shape own = shape.strides();
  const int64_t flipped[] = {own[0], own[1], own[2], -1};
  const Ref swapped = strided_view(c, x, shape, flipped, 1);  // imaginary part first
  return c.add(c.mul(x, constant_of(c, c.dtype(x), table, straight)),
               c.mul(swapped, constant_of(c, c.dtype(x), table, crossed)));
}

// [rows, n, 2] -> [rows, n, 2], n of any size.
Ref complex_dft(LowerContext& c, const DftSpec& s, Ref x, int64_t n) {
  // Recursion ends at a length that one table serves, or that has no factors (dft_spec.cc bounds those).
  const int64_t n1 = n <= kDirectDft ? 1 : balanced_factor(n);
  if (n1 == 1 || c.failed()) return direct(c, s, x, n, n);
  const int64_t n2 = n / n1;
  const int64_t rows = c.shape(x)[0];
  // j = n2 j1 + j2 and k = k1 + n1 k2: first over j1, then over j2.
  const Ref columns = c.transpose(c.reshape(x, Shape{rows, n1, n2, 2}), {0, 2, 1, 3});
  const Ref inner =
      c.reshape(complex_dft(c, s, c.reshape(columns, Shape{rows * n2, n1, 2}), n1), Shape{rows, n2, n1, 2});
  const Ref turned = c.transpose(twiddled(c, s, inner, n), {0, 2, 1, 3});
  const Ref outer = complex_dft(c, s, c.reshape(turned, Shape{rows * n1, n2, 2}), n2);
  return c.reshape(c.transpose(c.reshape(outer, Shape{rows, n1, n2, 2}), {0, 2, 1, 3}), Shape{rows, n, 2});
}

// [rows, m, 1 or 2] as [rows, n, 2], cut or filled with zeros.
Ref as_complex(LowerContext& c, Ref x, int64_t n) {
  const Shape in = c.shape(x);
  const int64_t m = std::min(in[1], n);
  raster::Raster r;
  const int64_t size[] = {in[0], m, in[2]};
  const int64_t from[] = {in[1] * in[2], in[2], 1};
  const int64_t to[] = {n * 2, 2, 1};
  r.regions.push_back(raster::strided_region(0, size, 0, from, 0, to));
  r.fill.emplace();
  return c.raster(std::move(r), c.dtype(x), Shape{in[0], n, 2}, {x});
}

Ref first(LowerContext& c, Ref x, int64_t count) {
  Shape shape = c.shape(x);
  const Shape own = shape.strides();
  shape[1] = count;
  return shape == c.shape(x) ? x : strided_view(c, x, shape, own.dims());
}

// The inverse of half a spectrum: the other half is its conjugate in mirror order, and the signal is real.
Status lower_half(LowerContext& c, const DftSpec& s) {
  const Shape in = c.shape(c.in(0));
  const int64_t have = std::min(s.half(), in[s.axis]);
  if (!c.may_tabulate(s.n * 2, kNumberWork)) return {};
  std::vector<int64_t> from;
  std::vector<double> signs;
  for (int64_t k = 0; k < s.n; ++k) {
    const int64_t twin = k < s.half() ? k : s.n - k;
    from.push_back(std::min(twin, have - 1));
    const double there = twin < have ? 1 : 0;  // what a longer spectrum would have had is zero
    signs.insert(signs.end(), {there, k < s.half() ? there : -there});
  }
  Shape table;
  for (int i = 0; i < in.rank(); ++i) table.push_back(i == s.axis ? s.n : i == in.rank() - 1 ? 2 : 1);
  const DType work = c.dtype(c.in(0)) == DType::float64 ? DType::float64 : DType::float32;
  const Ref x = c.cast(c.in(0), work);
  const Ref mirrored = c.emit("Gather", {x, c.ints(from)}, {{"axis", static_cast<int64_t>(s.axis)}});
  const Ref whole = c.mul(mirrored, constant_of(c, work, table, signs));
  const Ref axis = c.reshape(c.ints({s.axis}), Shape{});
  const Ref signal =
      c.emit("DFT", {whole, c.reshape(c.ints({s.n}), Shape{}), axis}, {{"inverse", int64_t{1}}});
  if (c.failed()) return {};
  const Shape own = c.shape(signal).strides();
  c.result(0, c.cast(strided_view(c, signal, c.out_shape(0), own.dims()), c.out_dtype(0)));
  return {};
}

Status lower(LowerContext& c) {
  const Ref x = c.in(0);
  const Shape in = c.shape(x);
  WALLE_ASSIGN(const DftSpec s, dft_spec(c));
  // No rows or an empty batch: the tables below need at least one element.
  if (c.out_shape(0).elements() == 0) {
    c.result(0, expand_to(c, c.scalar(c.dtype(x), 0), c.out_shape(0)));
    return {};
  }
  if (s.onesided && s.inverse) return lower_half(c, s);
  // 16-bit floats are computed in float32: sums of n terms.
  const DType work = c.dtype(x) == DType::float64 ? DType::float64 : DType::float32;
  const int last = in.rank() - 1;
  std::vector<int64_t> perm;
  std::vector<int64_t> back(in.rank());
  for (int i = 0; i < last; ++i)
    if (i != s.axis) perm.push_back(i);
  perm.push_back(s.axis);
  perm.push_back(last);
  for (size_t i = 0; i < perm.size(); ++i) back[perm[i]] = static_cast<int64_t>(i);
  // The axis becomes the last but one: rows are then independent transforms, one matrix product for all.
  const Ref moved = c.transpose(c.cast(x, work), perm);
  const int64_t rows = in.product(0, s.axis) * in.product(s.axis + 1, last);
  const Ref flat = c.reshape(moved, Shape{rows, in[s.axis], in[last]});
  Ref y;
  // Directly, zeros beyond the signal need no rows in the table, nor bins beyond the half.
  if (s.n <= kDirectDft || balanced_factor(s.n) == 1)
    y = direct(c, s, first(c, flat, std::min(in[s.axis], s.n)), s.n, s.bins());
  else
    y = first(c, complex_dft(c, s, as_complex(c, flat, s.n), s.n), s.bins());
  // ONNX DFT scales the inverse by 1 / n and the forward transform not at all.
  if (s.inverse) y = c.mul(y, c.scalar(work, 1.0 / static_cast<double>(s.n)));
  Shape arranged;
  for (int64_t p : perm) arranged.push_back(c.out_shape(0)[static_cast<int>(p)]);
  c.result(0, c.cast(c.transpose(c.reshape(y, arranged), back), c.dtype(x)));
  return {};
}
}  // namespace

extern const ir::OpDef kDFTOp{.name = "DFT",
                              .op_class = ir::OpClass::composite,
                              .inputs = {1, 3},
                              .infer = infer,
                              .lower = lower,
                              .numeric = ir::NumericClass::accumulation};

}  // namespace walle::ops
