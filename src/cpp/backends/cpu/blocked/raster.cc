// Rasters that keep channels in their lanes: concatenations and slices along channels at multiples of
// sixteen, interleaved phases of transposed convolutions, slices and repetitions of pixels. Each region is
// one box copy of 16 elements or more at a time. All other movement is done row-major.
#include <algorithm>

#include "backends/cpu/blocked/block_boxes.h"
#include "backends/cpu/blocked/image_moves.h"
#include "base/thread_pool.h"

namespace walle::backends::cpu {

namespace {
// As backends/cpu/raster.cc: below it a second thread costs more than it copies.
constexpr int64_t kTaskBytes = int64_t{128} << 10;

}  // namespace

std::optional<std::vector<ImageMove>> image_moves(const NodeView& node, int64_t element) {
  const auto& raster = node.node().raster;
  const DType dtype = node.out_dtype(0);
  const auto image = [dtype](DType of, const Shape& shape) {
    return of == dtype && (is_image(of, shape) || is_code_image(of, shape));
  };
  if (!raster || raster->fill || raster->accumulate || !image(dtype, node.out_shape(0))) return std::nullopt;
  std::vector<ImageMove> out;
  for (const raster::Region& r : raster->regions) {
    if (!node.has(r.source) || !image(node.dtype(r.source), node.shape(r.source))) return std::nullopt;
    const auto box = block_box(r, node.shape(r.source), node.out_shape(0));
    if (!box) return std::nullopt;
    out.push_back({kernels::plan_box(static_cast<int>(box->size.size()), box->size.data(), box->from,
                                     box->src.data(), box->to, box->dst.data(), element),
                   r.source});
  }
  return out;
}

Candidate moves_candidate(const NodeView& node, const std::vector<ImageMove>& moves, int threads) {
  Candidate c = single_candidate(node, "blocked_raster", threads);
  for (const ImageMove& m : moves)
    c.features[Quantity::tiles] += 1 + static_cast<double>(m.box.bytes() / m.box.unit);
  return c;
}

void run_moves(const std::vector<ImageMove>& moves, const HostArgs& a) {
  auto* to = a.output<std::byte>(0);
  for (const ImageMove& m : moves) {
    const auto* from = a.input<std::byte>(m.source);
    const int64_t parts = kernels::parts(m.box);
    const int64_t shares =
        std::clamp<int64_t>(m.box.bytes() / kTaskBytes, 1, std::min<int64_t>(parts, a.threads));
    if (shares == 1) {
      kernels::copy_box(m.box, from, to);
      continue;
    }
    base::parallel_for(shares, a.threads, [&](int64_t i) {
      kernels::copy_part(m.box, from, to, parts * i / shares, parts * (i + 1) / shares);
    });
  }
}

namespace {
std::optional<std::vector<ImageMove>> moves_of(const NodeView& node) {
  return image_moves(node, dtype_size(node.out_dtype(0)));
}

bool supports(const NodeView& node) { return moves_of(node).has_value(); }

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  out.push_back(moves_candidate(node, *moves_of(node), threads));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  return make_blocked_kernel([moves = *moves_of(node)](const HostArgs& a) -> Status {
    run_moves(moves, a);
    return {};
  });
}
}  // namespace

extern const CpuOp kBlockedRaster{
    .op = "raster", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
