// Rasters that keep channels in their lanes: concatenations and slices along channels at multiples of
// sixteen, interleaved phases of transposed convolutions, slices and repetitions of pixels. Each region is
// one box copy of 16 elements or more at a time. All other movement is done row-major.
#include <algorithm>

#include "backends/cpu/blocked/block_boxes.h"
#include "backends/cpu/blocked/blocked_op.h"
#include "base/thread_pool.h"
#include "kernels/raster/box_copy.h"

namespace walle::backends::cpu {

namespace {
// As backends/cpu/raster.cc: below it a second thread costs more than it copies.
constexpr int64_t kTaskBytes = int64_t{128} << 10;

struct Step {
  kernels::BoxCopy box;
  int source = 0;
};

std::optional<std::vector<Step>> steps_of(const NodeView& node) {
  const auto& raster = node.node().raster;
  const DType dtype = node.out_dtype(0);
  const auto image = [dtype](DType of, const Shape& shape) {
    return of == dtype && (is_image(of, shape) || is_code_image(of, shape));
  };
  if (!raster || raster->fill || raster->accumulate || !image(dtype, node.out_shape(0))) return std::nullopt;
  std::vector<Step> out;
  for (const raster::Region& r : raster->regions) {
    if (!node.has(r.source) || !image(node.dtype(r.source), node.shape(r.source))) return std::nullopt;
    const auto box = block_box(r, node.shape(r.source), node.out_shape(0));
    if (!box) return std::nullopt;
    out.push_back({kernels::plan_box(static_cast<int>(box->size.size()), box->size.data(), box->from,
                                     box->src.data(), box->to, box->dst.data(), dtype_size(dtype)),
                   r.source});
  }
  return out;
}

bool supports(const NodeView& node) { return steps_of(node).has_value(); }

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  Candidate c = single_candidate(node, "blocked_raster", threads);
  const auto steps = steps_of(node);  // named: a loop over a temporary's value would outlive it
  for (const Step& s : *steps)
    c.features[Quantity::tiles] += 1 + static_cast<double>(s.box.bytes() / s.box.unit);
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  return make_blocked_kernel([steps = *steps_of(node)](const HostArgs& a) -> Status {
    auto* to = a.output<std::byte>(0);
    for (const Step& s : steps) {
      const auto* from = a.input<std::byte>(s.source);
      const int64_t parts = kernels::parts(s.box);
      const int64_t shares =
          std::clamp<int64_t>(s.box.bytes() / kTaskBytes, 1, std::min<int64_t>(parts, a.threads));
      if (shares == 1) {
        kernels::copy_box(s.box, from, to);
        continue;
      }
      base::parallel_for(shares, a.threads, [&](int64_t i) {
        kernels::copy_part(s.box, from, to, parts * i / shares, parts * (i + 1) / shares);
      });
    }
    return {};
  });
}
}  // namespace

extern const CpuOp kBlockedRaster{
    .op = "raster", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
