// The indexed movement atom (gather, scatter) on the CPU.
//
// Indices are data, so they are all checked before anything is written, and the kernels behind the check look
// no further. Workspace: one checked offset per round; gathers of single elements need none, because they
// check and copy a block of indices at a time (kernels/raster/indexed.h).
#include "backends/cpu/cpu_op.h"
#include "base/copy.h"
#include "kernels/raster/accumulate.h"
#include "kernels/raster/indexed.h"
#include "kernels/unit.h"

namespace walle::backends::cpu {

namespace {
struct Plan {
  raster::LoopSpec spec;
  kernels::Rounds rounds;
  std::vector<kernels::IndexStep> steps;
  kernels::BoxCopy body;  // source and destination at offset 0 of the round
  DType dtype = DType::undefined;
  DType index_dtype = DType::undefined;
  int64_t element = 0;  // bytes
  int64_t src = 0;      // elements, of round 0
  int64_t dst = 0;
  int64_t out_bytes = 0;
};

Plan make_plan(const NodeView& node) {
  Plan p;
  p.spec = *node.node().loop;
  p.dtype = node.out_dtype(0);
  p.index_dtype = node.dtype(1);
  p.element = dtype_size(p.dtype);
  p.out_bytes = node.out_shape(0).elements() * p.element;
  p.rounds.rank = p.spec.rank;
  p.rounds.size = raster::plain(p.spec.size);
  // One side moves by the index, the other by steps alone.
  p.rounds.dense = raster::plain(p.spec.index_on_dst ? p.spec.src_step : p.spec.dst_step);
  p.rounds.indexed = raster::plain(p.spec.index_on_dst ? p.spec.dst_step : p.spec.src_step);
  for (const raster::LoopIndex& i : p.spec.index) p.steps.push_back({i.stride, i.bound});
  const raster::Region& b = p.spec.body;
  p.src = b.src.offset;
  p.dst = b.dst.offset;
  p.body = kernels::plan_box(b.rank, raster::plain(b.size).data(), 0, raster::plain(b.src.stride).data(), 0,
                             raster::plain(b.dst.stride).data(), p.element);
  return p;
}

// A round moves what fits a register, or one element: loads and stores instead of a call of memcpy.
bool single_unit(const Plan& p) { return p.body.rank == 0 && (p.body.unit <= 8 || p.body.unit == p.element); }

bool supports(const NodeView& node) {
  if (!node.node().loop || (node.dtype(1) != DType::int32 && node.dtype(1) != DType::int64)) return false;
  // Indices are of ONNX's two index types. Moving needs no arithmetic, so it is for every dtype.
  return node.node().loop->combine == raster::Combine::assign ||
         tensor::visit_numeric(node.out_dtype(0), [](auto) {});
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const Plan p = make_plan(node);
  const char* way = p.spec.combine != raster::Combine::assign ? "loop_combine"
                    : p.spec.index_on_dst                     ? "loop_scatter"
                                                              : "loop_gather";
  // Scatters stay on one thread: two rounds may meet in one element, and then the later one must win.
  Candidate c = single_candidate(node, way, p.spec.index_on_dst ? 1 : threads);
  c.algorithm += (single_unit(p) ? "_units" : p.body.rank == 0 ? "_rows" : "_boxes");
  const auto count = static_cast<double>(p.spec.count());
  const double moved = count * static_cast<double>(p.body.bytes());
  // Not the operands: of a large table few rows may be read. The level is that of the whole all the same,
  // because nobody knows which.
  Features& f = c.features;
  const double held = node.cost().bytes;
  f = {.kernel = f.kernel, .isa = f.isa, .threads = f.threads};
  f[Quantity::calls] = 1;
  f[Quantity::tiles] = count;
  f[level_of(held)] += 2 * moved;
  if (p.spec.base) f[level_of(held)] += 2 * static_cast<double>(p.out_bytes);
  c.workspace_bytes = p.spec.count() * static_cast<int64_t>(sizeof(int64_t));
  out.push_back(std::move(c));
}

template <class Index>
Status out_of_bounds(const Plan& p, const Index* indices, int64_t position) {
  const int64_t bound = p.steps[position % std::ssize(p.steps)].bound;  // which entry of its tuple it is
  return model_error({"index ", indices[position], " at position ", position},
                     {"an index in [", -bound, ", ", bound - 1, "]"}, "indices",
                     "clip or correct the indices");
}

template <class T>
void combine(const Plan& p, const int64_t* offsets, const T* src, T* dst) {
  const raster::Region& b = p.spec.body;
  const raster::PlainAxes size = raster::plain(b.size);
  const raster::PlainAxes from_stride = raster::plain(b.src.stride);
  const raster::PlainAxes to_stride = raster::plain(b.dst.stride);
  const auto each = [&](auto how) {
    if (b.elements() == 1)  // ScatterElements: a loop over a box would cost more than the sum
      return kernels::for_rounds(p.rounds, 0, p.rounds.count(),
                                 [=](int64_t i, int64_t from) { how(dst[offsets[i]], src[from]); });
    kernels::for_rounds(p.rounds, 0, p.rounds.count(), [&](int64_t i, int64_t from) {
      kernels::combine_box(b.rank, size.data(), src + from, from_stride.data(), dst + offsets[i],
                           to_stride.data(), how);
    });
  };
  switch (p.spec.combine) {
    case raster::Combine::add: return each([](T& to, T from) { to = kernels::wrapping_sum(to, from); });
    case raster::Combine::mul:
      return each([](T& to, T from) {
        if constexpr (std::is_integral_v<T>)  // signed overflow is undefined in C++; NumPy and ONNX wrap
          to = kernels::wrap_mul(to, from);
        else
          to *= from;
      });
    case raster::Combine::min: return each([](T& to, T from) { to = from < to ? from : to; });
    case raster::Combine::max: return each([](T& to, T from) { to = to < from ? from : to; });
    case raster::Combine::assign: return;
  }
}

// Elements looked up one by one; false when the body is more than one.
template <class Index>
bool gathered_elements(const Plan& p, const std::byte* src, std::byte* dst, const Index* indices, int threads,
                       int64_t& bad) {
  // A unit may be several elements together, and an index a tuple; the kernel knows neither.
  if (!single_unit(p) || p.body.unit != p.element || p.steps.size() != 1) return false;
  kernels::visit_unit(p.element, [&](auto unit) {
    using Unit = decltype(unit);
    bad = kernels::gather_elements(p.rounds, p.steps[0], indices, reinterpret_cast<const Unit*>(src),
                                   reinterpret_cast<Unit*>(dst), threads);
  });
  return true;
}

bool is_gather(const Plan& p) { return !p.spec.index_on_dst && p.spec.combine == raster::Combine::assign; }

void scatter(const Plan& p, const int64_t* offsets, const std::byte* src, std::byte* dst) {
  if (!single_unit(p)) return kernels::scatter_boxes(p.body, p.rounds, offsets, p.element, src, dst);
  kernels::visit_unit(p.body.unit, [&](auto unit) {
    kernels::scatter_units<decltype(unit)>(p.rounds, offsets, p.element, src, dst);
  });
}

template <class Index>
Status run_typed(const Plan& p, const Index* indices, const HostArgs& a) {
  const auto* src = a.input<std::byte>(0) + p.src * p.element;
  auto* dst = a.output<std::byte>(0) + p.dst * p.element;
  int64_t bad = -1;
  if (is_gather(p) && gathered_elements(p, src, dst, indices, a.threads, bad))
    return bad < 0 ? Status() : out_of_bounds(p, indices, bad);
  auto* offsets = reinterpret_cast<int64_t*>(a.workspace);
  bad = kernels::resolve_indices(p.rounds, p.steps.data(), static_cast<int>(p.steps.size()), indices, offsets,
                                 a.threads);
  if (bad >= 0) return out_of_bounds(p, indices, bad);
  if (is_gather(p)) {
    kernels::gather_boxes(p.body, p.rounds, offsets, p.element, src, dst, a.threads);
  } else if (p.spec.combine == raster::Combine::assign) {
    scatter(p, offsets, src, dst);
  } else {
    tensor::visit_numeric(p.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      combine(p, offsets, reinterpret_cast<const T*>(src), reinterpret_cast<T*>(dst));
    });
  }
  return {};
}

Status run(const Plan& p, const HostArgs& a) {
  auto* dst = a.output<std::byte>(0);
  // memcpy may not be given one block twice, nor the null pointers of an empty tensor.
  if (p.spec.base && p.out_bytes > 0 && a.input<void>(2) != a.output<void>(0))
    base::copy_bytes(dst, a.input<void>(2), p.out_bytes);
  if (p.spec.count() == 0 || p.spec.body.elements() == 0) return {};  // what is left is the base
  return p.index_dtype == DType::int32 ? run_typed(p, a.input<int32_t>(1), a)
                                       : run_typed(p, a.input<int64_t>(1), a);
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  return make_kernel([p = make_plan(node)](const HostArgs& a) { return run(p, a); });
}
}  // namespace

extern const CpuOp kLoopCpu{.op = "loop", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
