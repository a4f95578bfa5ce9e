// The movement atom on the CPU: every region one planned box copy, the fill only where no region writes.
//
// Regions of one raster write different elements, so they run in any order and on any thread. Only
// where overlapping windows are summed (ConvTranspose, Col2Im) may two meet: such a raster stays on
// one thread, in order.
#include <algorithm>

#include "backends/cpu/cpu_op.h"
#include "base/thread_pool.h"
#include "kernels/raster/accumulate.h"
#include "kernels/raster/box_copy.h"
#include "raster/uncovered.h"

namespace walle::backends::cpu {

namespace {
// Below it a second thread costs more than it copies: 128 KiB are some 15 us at 8 GB/s, and a parked helper
// takes 10 us to come (kernels/parallel.h).
constexpr int64_t kTaskBytes = int64_t{128} << 10;
// A region's part is cut finer than there are threads, so that one who comes late leaves its
// share to the others.
constexpr int64_t kTasksPerThread = 4;
// Holes beyond which the whole destination is filled first: each is a copy of its own to plan and start, and
// with so many they are small beside what is copied.
constexpr size_t kMaxFillRegions = 256;

struct Step {
  kernels::BoxCopy box;
  int source = 0;  // -1: the fill value
  int64_t tasks = 1;
};

kernels::BoxCopy plan(const raster::Region& r, int64_t element) {
  return kernels::plan_box(r.rank, raster::plain(r.size).data(), r.src.offset,
                           raster::plain(r.src.stride).data(), r.dst.offset,
                           raster::plain(r.dst.stride).data(), element);
}

struct Fills {
  std::vector<kernels::BoxCopy> boxes;  // copies from a single element
  bool everywhere = false;              // they also write where regions will: they must be done first
};

Fills fill_boxes(const raster::Raster& raster, int64_t elements, int64_t element) {
  Fills out;
  if (!raster.fill || elements == 0) return out;
  // Sums need their zeros first, in every element.
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

// What one region adds, by its inner loop: calls of memcpy, units that are loaded and stored one by one,
// bytes that are transposed in registers.
void count_box(const kernels::BoxCopy& box, Features& f) {
  using Inner = kernels::BoxCopy::Inner;
  const auto bytes = static_cast<double>(box.bytes());
  f[level_of(2 * bytes)] += 2 * bytes;  // read and written
  f[Quantity::tiles] += 1;              // the loops of a region are set up
  const double units = bytes / static_cast<double>(std::max<int64_t>(box.unit, 1));
  switch (box.inner) {
    case Inner::rows: f[Quantity::tiles] += units; break;
    case Inner::repeat: break;
    case Inner::transpose:
      f[Quantity::tails] += bytes;
      // Lines of two or three units, as two interleaved phases have: 0.65 ns a unit (Zen 4, 37 thousand to a
      // million units), which four of them as a tile are within a tenth of.
      if (box.rank > 1 && std::min(box.size[box.rank - 1], box.size[box.rank - 2]) < 4)
        f[Quantity::tiles] += units / 4;
      break;
    case Inner::strided: f[Quantity::flop] += units; break;
  }
}

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const raster::Raster& raster = *node.node().raster;
  const int64_t element = dtype_size(node.out_dtype(0));
  Candidate c;
  c.algorithm = "raster_fill";
  c.features = {.kernel = raster.accumulate ? "raster_sum" : "raster", .isa = {}, .threads = threads};
  c.features[Quantity::calls] = 1;
  int64_t largest = -1;
  for (const raster::Region& r : raster.regions) {
    const kernels::BoxCopy box = plan(r, element);
    count_box(box, c.features);
    if (box.bytes() <= largest) continue;  // the region that moves most names the whole
    largest = box.bytes();
    c.algorithm = raster.accumulate ? "raster_sum" : std::string("raster_") + kernels::inner_name(box);
  }
  c.parameters.emplace_back("regions", static_cast<int64_t>(raster.regions.size()));
  out.push_back(std::move(c));
}

void run_steps(const std::vector<Step>& steps, const raster::Fill& fill, const HostArgs& a) {
  auto* dst = a.output<std::byte>(0);
  int64_t tasks = 0;
  for (const Step& s : steps) tasks += s.tasks;
  // The fill is one element, which its box reads again and again (source strides 0).
  const auto source = [&](const Step& s) {
    return s.source < 0 ? fill.bytes.data() : a.input<std::byte>(s.source);
  };
  if (a.threads <= 1 || tasks <= 1) {  // spares the pool's 0.3 us
    for (const Step& s : steps) kernels::copy_box(s.box, source(s), dst);
    return;
  }
  base::parallel_for(tasks, a.threads, [&](int64_t task) {
    // Rasters of many steps have small ones, of one task each, and few threads walk them: no table of sums.
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
      kernels::combine_box(r.rank, raster::plain(r.size).data(), a.input<T>(r.source) + r.src.offset,
                           raster::plain(r.src.stride).data(), a.output<T>(0) + r.dst.offset,
                           raster::plain(r.dst.stride).data(),
                           [](T& to, T from) { to = kernels::wrapping_sum(to, from); });
    });
  return {};
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext& context) {
  raster::Raster raster = *node.node().raster;
  // Empty tensors leave regions of nothing, which plan_box() does not take.
  std::erase_if(raster.regions, [](const raster::Region& r) { return r.elements() <= 0; });
  const DType dtype = node.out_dtype(0);
  const Fills fills = fill_boxes(raster, node.out_shape(0).elements(), dtype_size(dtype));
  if (raster.accumulate)
    return make_kernel([=](const HostArgs& a) { return run_sums(raster, dtype, fills.boxes, a); });
  std::vector<Step> first;  // a fill of everything, which regions then write over
  std::vector<Step> steps;
  const auto add = [&](std::vector<Step>& to, const kernels::BoxCopy& box, int source) {
    const int64_t wanted = std::min<int64_t>(box.bytes() / kTaskBytes, kTasksPerThread * context.threads);
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

extern const CpuOp kRasterCpu{
    .op = "raster", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
