// Rasters that move whole blocks of channels: concatenations and slices along channels at multiples of
// sixteen, which stay runs of memory in this layout. All other movement is done row-major.
#include <cstring>

#include "backends/cpu/blocked/blocked_op.h"
#include "base/thread_pool.h"

namespace walle::backends::cpu {

namespace {
// Of one region and image, in floats.
struct Move {
  int source = 0;
  int64_t from = 0;
  int64_t to = 0;
  int64_t count = 0;
};

// The channels that a region's run of one image covers.
struct Run {
  int64_t from = 0, to = 0, count = 0;
};

bool on_blocks(int64_t first, int64_t count, int64_t channels) {
  return first % kernels::kBlock == 0 && first + count <= channels &&
         (count % kernels::kBlock == 0 || first + count == channels);
}

// The run of a region that takes the same channels of every image of x to every image of y.
std::optional<Run> run_of(const raster::Region& r, const Shape& x, const Shape& y) {
  const int64_t pixels = y[2] * y[3];
  if (x[2] * x[3] != pixels || x[0] != y[0]) return std::nullopt;
  const bool images = r.rank == 2 && r.size[0] == y[0] && r.src.stride[0] == x[1] * pixels &&
                      r.dst.stride[0] == y[1] * pixels;
  if (!images && !(r.rank == 1 && y[0] == 1)) return std::nullopt;
  const int last = r.rank - 1;
  if (r.src.stride[last] != 1 || r.dst.stride[last] != 1) return std::nullopt;
  if (r.size[last] % pixels || r.src.offset % pixels || r.dst.offset % pixels) return std::nullopt;
  const Run run{r.src.offset / pixels, r.dst.offset / pixels, r.size[last] / pixels};
  if (!on_blocks(run.from, run.count, x[1]) || !on_blocks(run.to, run.count, y[1])) return std::nullopt;
  return run;
}

std::optional<std::vector<Move>> moves_of(const NodeView& node) {
  const auto& raster = node.node().raster;
  if (!raster || raster->fill || raster->accumulate || !is_image(node.out_dtype(0), node.out_shape(0)))
    return std::nullopt;
  const Shape& y = node.out_shape(0);
  const int64_t block = y[2] * y[3] * kernels::kBlock;
  std::vector<Move> out;
  for (const raster::Region& r : raster->regions) {
    if (!node.has(r.source) || !is_image(node.dtype(r.source), node.shape(r.source))) return std::nullopt;
    const Shape& x = node.shape(r.source);
    const auto run = run_of(r, x, y);
    if (!run) return std::nullopt;
    for (int64_t n = 0; n < y[0]; ++n)
      out.push_back({.source = r.source,
                     .from = (n * kernels::blocks_of(x[1]) + run->from / kernels::kBlock) * block,
                     .to = (n * kernels::blocks_of(y[1]) + run->to / kernels::kBlock) * block,
                     .count = kernels::blocks_of(run->count) * block});
  }
  return out;
}

bool supports(const NodeView& node) { return moves_of(node).has_value(); }

void candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  Candidate c = single_candidate(node, "blocked_raster", threads);
  c.features[Quantity::tiles] = static_cast<double>(node.node().raster->regions.size());
  out.push_back(std::move(c));
}

Result<std::unique_ptr<Kernel>> prepare(const NodeView& node, const Candidate&, PrepareContext&) {
  return make_blocked_kernel([moves = *moves_of(node)](const HostArgs& a) -> Status {
    base::parallel_for(static_cast<int64_t>(moves.size()), a.threads, [&](int64_t i) {
      const Move& m = moves[i];
      std::memcpy(a.output<float>(0) + m.to, a.input<float>(m.source) + m.from, m.count * sizeof(float));
    });
    return {};
  });
}
}  // namespace

extern const CpuOp kBlockedRaster{
    .op = "raster", .supports = supports, .candidates = candidates, .prepare = prepare};

}  // namespace walle::backends::cpu
