// The movement atom on the CPU: every region one planned box copy, the fill only where no region writes.
#include <algorithm>

#include "backends/cpu/cpu_op.h"
#include "base/thread_pool.h"
#include "kernels/raster/accumulate.h"
#include "kernels/raster/box_copy.h"
#include "raster/uncovered.h"

namespace walle::backends::cpu {

namespace {
constexpr int64_t kTaskBytes = int64_t{128} << 10;  // below it a second thread costs more than it copies
constexpr size_t kMaxFillRegions = 256;             // beyond it the whole destination is filled first

struct Step {
  kernels::BoxCopy box;
  int source = 0;  // -1: the fill value
  int64_t tasks = 1;
};

kernels::BoxCopy plan(const raster::Region& r, int64_t element) {
  return kernels::plan_box(r.rank, r.size.data(), r.src.offset, r.src.stride.data(), r.dst.offset,
                           r.dst.stride.data(), element);
}

struct Fills {
  std::vector<kernels::BoxCopy> boxes;  // copies from a single element
  bool everywhere = false;              // they also write where regions will: they must be done first
};

Fills fill_boxes(const raster::Raster& raster, int64_t elements, int64_t element) {
  Fills out;
  if (!raster.fill || elements == 0) return out;
  auto holes = raster.accumulate ? std::nullopt : raster::uncovered(raster, elements, kMaxFillRegions);
  out.everywhere = !holes;
  if (!holes) holes = std::vector<raster::Region>{raster::contiguous_region(0, elements)};
  for (raster::Region r : *holes) {
    r.src = {};
    out.boxes.push_back(plan(r, element));
  }
  return out;
}

bool supports(const NodeView& node) {
  return node.node().raster &&
         (!node.node().raster->accumulate || tensor::visit_numeric(node.out_dtype(0), [](auto) {}));
}

// Bytes per microsecond and thread by inner loop, from memory-resident copies on one core; the search scales
// them per device.
double bytes_per_us(const kernels::BoxCopy& box) {
  switch (box.inner) {
    case kernels::BoxCopy::Inner::rows: return box.unit >= 256 ? 8000 : 3000;
    case kernels::BoxCopy::Inner::repeat: return 8000;
    case kernels::BoxCopy::Inner::transpose: return box.unit >= 4 ? 3000 : 1000;
    case kernels::BoxCopy::Inner::strided: return 500.0 * static_cast<double>(std::min<int64_t>(box.unit, 4));
  }
  return 1000;
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const raster::Raster& raster = *node.node().raster;
  const int64_t element = dtype_size(node.out_dtype(0));
  Candidate c;
  c.algorithm = "raster_fill";
  double us = 0.5 + 0.1 * static_cast<double>(raster.regions.size());
  int64_t largest = -1;
  for (const raster::Region& r : raster.regions) {
    const kernels::BoxCopy box = plan(r, element);
    us += static_cast<double>(box.bytes()) / bytes_per_us(box) / threads;
    if (box.bytes() <= largest) continue;
    largest = box.bytes();
    c.algorithm = raster.accumulate ? "raster_sum" : std::string("raster_") + kernels::inner_name(box);
  }
  c.parameters.emplace_back("regions", static_cast<int64_t>(raster.regions.size()));
  c.cost_ms = us / 1e3;
  out.push_back(std::move(c));
}

void run_steps(const std::vector<Step>& steps, const raster::Fill& fill, const HostArgs& a) {
  auto* dst = a.output<std::byte>(0);
  int64_t tasks = 0;
  for (const Step& s : steps) tasks += s.tasks;
  const auto source = [&](const Step& s) {
    return s.source < 0 ? fill.bytes.data() : a.input<std::byte>(s.source);
  };
  if (a.threads <= 1 || tasks <= 1) {
    for (const Step& s : steps) kernels::copy_box(s.box, source(s), dst);
    return;
  }
  base::parallel_for(tasks, a.threads, [&](int64_t task) {
    const Step* s = steps.data();
    while (task >= s->tasks) task -= (s++)->tasks;
    const int64_t n = kernels::parts(s->box);
    kernels::copy_part(s->box, source(*s), dst, n * task / s->tasks, n * (task + 1) / s->tasks);
  });
}

Status run_sums(const raster::Raster& raster, DType dtype, const std::vector<kernels::BoxCopy>& fills,
                const HostArgs& a) {
  for (const kernels::BoxCopy& box : fills)
    kernels::copy_box(box, raster.fill->bytes.data(), a.output<std::byte>(0));
  for (const raster::Region& r : raster.regions)
    tensor::visit_numeric(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      kernels::combine_box(r.rank, r.size.data(), a.input<T>(r.source) + r.src.offset, r.src.stride.data(),
                           a.output<T>(0) + r.dst.offset, r.dst.stride.data(),
                           [](T& to, T from) { to = kernels::wrapping_sum(to, from); });
    });
  return {};
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext& context) {
  raster::Raster raster = *node.node().raster;
  std::erase_if(raster.regions, [](const raster::Region& r) { return r.elements() <= 0; });
  const DType dtype = node.out_dtype(0);
  const Fills fills = fill_boxes(raster, node.out_shape(0).elements(), dtype_size(dtype));
  if (raster.accumulate)
    return make_kernel([=](const HostArgs& a) { return run_sums(raster, dtype, fills.boxes, a); });
  std::vector<Step> first, steps;
  const auto add = [&](std::vector<Step>& to, const kernels::BoxCopy& box, int source) {
    const int64_t wanted = std::min<int64_t>(box.bytes() / kTaskBytes, int64_t{4} * context.threads);
    to.push_back({box, source, std::clamp<int64_t>(wanted, 1, kernels::parts(box))});
  };
  for (const kernels::BoxCopy& box : fills.boxes) add(fills.everywhere ? first : steps, box, -1);
  for (const raster::Region& r : raster.regions) add(steps, plan(r, dtype_size(dtype)), r.source);
  return make_kernel([first = std::move(first), steps = std::move(steps),
                      fill = raster.fill.value_or(raster::Fill{})](const HostArgs& a) {
    run_steps(first, fill, a);
    run_steps(steps, fill, a);
    return Status();
  });
}
}  // namespace

extern const CpuOp kRasterCpu{"raster", supports, candidates, prepare};

}  // namespace walle::backends::cpu
