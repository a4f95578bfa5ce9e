#include "kernels/blocked/blocked_conv.h"

#include <algorithm>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "kernels/parallel.h"
#include "kernels/workspace.h"

namespace walle::kernels {

namespace {
using base::ceil_div;

// Inputs that one pass over the weights reads: a quarter of the smallest second-level cache in use.
constexpr int64_t kChunkFloats = 32 * 1024;

// 1 x 1 without stride or padding: rows need not be told apart.
bool flat(const ConvShape& s) {
  return s.taps() == 1 && s.sh == 1 && s.sw == 1 && s.pt == 0 && s.pl == 0 && s.oh == s.h && s.ow == s.w;
}
}  // namespace

namespace {
bool depthwise_fits(const ConvShape& s) {
  const bool window = s.kh == 3 || s.kh == 5 || (s.kh == 7 && s.sh == 1);
  return s.depthwise() && s.m == s.c && s.kh == s.kw && window && s.sh == s.sw && s.sh <= 2 && s.dh == 1 &&
         s.dw == 1;
}

// Groups of four that fill no vector by themselves.
bool in_fours(const ConvShape& s, int64_t lanes) { return s.m == 4 * s.groups && s.c == s.m && lanes > 4; }

// Channels of a panel of a dense convolution: one or two vectors, all of one group, because a weight of zero
// would carry another group's NaN over; or one of groups of four. 0: a group's outputs fill no vector.
int64_t panel_outputs(const ConvShape& s, int64_t lanes) {
  const int64_t of_group = s.m / s.groups;
  if (s.groups == 1 || of_group % (2 * lanes) == 0) return 2 * lanes;
  return of_group % lanes == 0 || in_fours(s, lanes) ? lanes : 0;
}
}  // namespace

bool blocked_conv_fits(const ConvShape& s, Isa isa) {
  return depthwise_fits(s) || panel_outputs(s, blocked_table(isa).lanes) > 0;
}

bool row_conv_fits(const ConvShape& s) { return s.groups == 1 && s.c <= kMostRowChannels; }

BlockedConv make_blocked_conv(const ConvShape& shape, Isa isa) {
  BlockedConv c{.shape = shape, .table = &blocked_table(isa), .columns = {}};
  ConvShape& s = c.shape;
  c.depthwise = depthwise_fits(s);
  c.inputs = s.c / s.groups;
  if (c.depthwise) return c;
  c.outputs = panel_outputs(s, c.table->lanes);
  c.fours = in_fours(s, c.table->lanes);
  c.flat = flat(s);
  if (c.flat) {
    s.w = s.ow = s.h * s.w;
    s.h = s.oh = 1;
  }
  c.columns = columns_of_blocks(s);
  c.by_panels = s.m * s.taps() > s.n * s.h * s.w;
  return c;
}

BlockedConv make_row_conv(const ConvShape& shape, Isa isa) {
  BlockedConv c{.shape = shape, .table = &blocked_table(isa), .columns = columns_of_rows(shape)};
  c.from_rows = true;
  c.inputs = shape.c;
  c.outputs = c.panel();
  return c;
}

namespace {
// A tile of one pixel waits for the latency of its multiply-adds and takes as long as one of two.
constexpr int64_t kLonePixel = 2;

// Too narrow for tiles along rows, so that its columns are walked downwards where that makes tiles at all.
bool is_border(const BlockedColumns& g, int64_t rows) { return g.count < 3 && rows > 2; }

int64_t same_rows(const ConvShape& s, int64_t row, int64_t end) {
  int64_t same = 1;
  while (row + same < end && window_rows(s, row + same) == window_rows(s, row)) ++same;
  return same;
}

// Taps of rows times the pixels that meet them, of one column group.
double pixel_taps(const ConvShape& s, const BlockedColumns& g) {
  double out = 0;
  for (int64_t row = 0; row < s.oh;) {
    const bool border = is_border(g, s.oh);
    const int64_t same = border ? same_rows(s, row, s.oh) : 1;
    const int64_t along = border ? same : g.count;
    const int64_t pixels = border ? (along + along % 2) * g.count : std::max(along, kLonePixel);
    out += static_cast<double>(pixels * window_rows(s, row).count());
    row += same;
  }
  return out;
}
}  // namespace

BlockedWork blocked_work(const BlockedConv& c) {
  const ConvShape& s = c.shape;
  // Of groups of four half of the work is moves between lanes.
  const auto lanes = static_cast<double>((c.fours ? 2 : 1) * s.n * blocks_of(s.m) * kBlock);
  if (c.columns.empty())
    return {.flops = 2 * lanes * static_cast<double>(s.oh * s.ow * s.taps()),
            .tiles = static_cast<double>(s.n * blocks_of(s.m) * s.oh) * std::max(1.0, s.ow / 14.0)};
  BlockedWork out;
  for (const BlockedColumns& g : c.columns) {
    out.flops += 2 * lanes * pixel_taps(s, g) * static_cast<double>(g.width * (c.from_rows ? 1 : c.inputs));
    out.tiles += static_cast<double>(s.n * c.panels() * s.oh * ceil_div(g.count, int64_t{c.table->rows}));
  }
  return out;
}

int64_t blocked_weight_elements(const BlockedConv& c) {
  const ConvShape& s = c.shape;
  if (c.depthwise) return blocks_of(s.m) * (s.taps() + 1) * kBlock;
  return c.panels() * c.panel() * (s.taps() * c.inputs + 1);
}

void blocked_weights(const BlockedConv& c, const float* weights, const float* bias, float* out) {
  const ConvShape& s = c.shape;
  const int64_t width = c.depthwise ? kBlock : c.panel();
  const int64_t filled = c.depthwise ? kBlock : c.outputs;
  const int64_t count = c.depthwise ? blocks_of(s.m) : c.panels();
  for (int64_t p = 0; p < count; ++p)
    for (int64_t row = -1; row < s.taps() * c.inputs; ++row)  // the bias first
      for (int64_t q = 0; q < width; ++q) {
        const int64_t m = p * filled + q;
        const float* from = weights + m * c.inputs * s.taps();
        *out++ = q >= filled || m >= s.m ? 0
                 : row < 0               ? bias ? bias[m] : 0
                                         : from[row % c.inputs * s.taps() + row / c.inputs];
      }
}

namespace {
struct Operands {
  const float* x;
  const float* weights;
  BlockedTail tail;
  float* y;
};

// Some outputs of one panel, from pixel (row, col) on.
void run_pixels(const BlockedConv& c, const Operands& o, int64_t n, int64_t panel, const BlockedColumns& g,
                Steps steps, int64_t row, int64_t col, int64_t pixels, bool down,
                const float* next = nullptr) {
  const ConvShape& s = c.shape;
  const int64_t width = c.panel();
  const int64_t first = panel * c.outputs;
  const int64_t plane = s.oh * s.ow * kBlock;
  // Of the group's first input channel; a panel behind the last channel has the last group's.
  const int64_t input = std::min(first / (s.m / s.groups), s.groups - 1) * c.inputs;
  const int64_t at =
      (n * blocks_of(s.m) + first / kBlock) * plane + (row * s.ow + col) * kBlock + first % kBlock;
  const float* weights = o.weights + panel * width * (s.taps() * c.inputs + 1);
  const int64_t pitch = c.from_rows ? 1 : kBlock;
  const int64_t planes = c.from_rows ? s.c : blocks_of(s.c);
  const int64_t block = n * planes + (c.from_rows ? 0 : input / kBlock);
  BlockedDense d{.x = o.x + (block * s.h * s.w + (row * s.sh - s.pt) * s.w + col * s.sw - s.pl) * pitch,
                 .x_step = (down ? s.sh * s.w : s.sw) * pitch,
                 .x_block = s.h * s.w * kBlock,
                 .channels = c.inputs,
                 .lane = input % kBlock,
                 .fours = c.fours,
                 .tap = g.tap.data() + steps.first * g.width,
                 .which = g.which.data() + steps.first * g.width,
                 .taps = steps.count() * g.width,
                 .pixels = pixels,
                 .weights = weights + width,
                 .next = next,
                 .bias = weights,
                 .narrow = std::min(c.outputs, blocks_of(s.m) * kBlock - first) < width,
                 .y = o.y + at,
                 .y_step = (down ? s.ow : 1) * kBlock,
                 .y_vector = c.table->lanes < kBlock ? c.table->lanes : plane,
                 .tail = o.tail};
  if (d.tail.residual) d.tail.residual += at;
  c.from_rows ? c.table->rows_to_blocks(d) : c.table->dense(d);
}

// A border is narrow: its columns are walked downwards where all rows of the window are met.
void run_border(const BlockedConv& c, const Operands& o, int64_t n, int64_t panel, const BlockedColumns& g,
                int64_t row, int64_t end) {
  const ConvShape& s = c.shape;
  while (row < end) {
    const Steps steps = window_rows(s, row);
    const int64_t same = same_rows(s, row, end);
    for (int64_t col = g.first; col < g.first + g.count; ++col)
      run_pixels(c, o, n, panel, g, steps, row, col, same, true);
    row += same;
  }
}

// Rows and panels [from, to) of one image.
void run_part(const BlockedConv& c, const Operands& o, int64_t n, Steps rows, Steps panels) {
  const ConvShape& s = c.shape;
  const int64_t pixel = c.from_rows ? s.c : blocks_of(s.c) * kBlock;
  const int64_t row_floats = std::max<int64_t>(1, s.sh * s.w * pixel);
  const int64_t chunk = std::max<int64_t>(1, kChunkFloats / row_floats);
  for (int64_t row = rows.first; row < rows.last; row += chunk)
    for (int64_t p = panels.first; p < panels.last; ++p)
      for (const BlockedColumns& g : c.columns) {
        const int64_t end = std::min(rows.last, row + chunk);
        if (is_border(g, end - row)) {
          run_border(c, o, n, p, g, row, end);
          continue;
        }
        for (int64_t r = row; r < end; ++r)
          run_pixels(c, o, n, p, g, window_rows(s, r), r, g.first, g.count, false);
      }
}

// Pixels and panels [from, to) of a flat image. As few passes over the weights as leave the inputs of each in
// half of the second-level cache: 49 pixels of 1,024 channels are one and not, in quarters, two. A window's
// weights are not fetched before their turn: they are read by many rows, and 6 networks lost 1 % by it.
void run_flat(const BlockedConv& c, const Operands& o, int64_t n, Steps pixels, Steps panels) {
  const int64_t bytes = std::max<int64_t>(blocks_of(c.shape.c) * kBlock * kFloatBytes, 1);
  const int64_t most = std::max<int64_t>(c.table->rows, base::cpu_features().l2_bytes / 2 / bytes);
  const int64_t passes = ceil_div(pixels.count(), most);
  const int64_t width = c.panel();
  for (int64_t i = 0; i < passes; ++i) {
    const int64_t from = pixels.first + pixels.count() * i / passes;
    const int64_t to = pixels.first + pixels.count() * (i + 1) / passes;
    for (int64_t p = panels.first; p < panels.last; ++p) {
      const float* next = o.weights + (p + 1) * width * (c.inputs + 1) + width;
      run_pixels(c, o, n, p, c.columns[0], {0, 1}, 0, from, to - from, false,
                 p + 1 < panels.last ? next : nullptr);
    }
  }
}

void run_depthwise(const BlockedConv& c, const Operands& o, int64_t block, Steps rows) {
  const ConvShape& s = c.shape;
  const int64_t out = block * s.oh * s.ow * kBlock;
  const float* weights = o.weights + block % blocks_of(s.m) * (s.taps() + 1) * kBlock;
  BlockedDepthwise d{.x = o.x + block * s.h * s.w * kBlock,
                     .h = s.h,
                     .w = s.w,
                     .pt = s.pt,
                     .pl = s.pl,
                     .ow = s.ow,
                     .row = rows.first,
                     .end = rows.last,
                     .weights = weights + kBlock,
                     .bias = weights,
                     .y = o.y + out,
                     .tail = o.tail};
  if (d.tail.residual) d.tail.residual += out;
  c.table->depthwise(s.kh, s.sh, d);
}

Steps share_of(int64_t n, int64_t share, int64_t shares) {
  return {n * share / shares, n * (share + 1) / shares};
}
}  // namespace

void run_blocked_conv(const BlockedConv& c, const float* x, const float* weights, const BlockedTail& tail,
                      float* y, int threads) {
  const ConvShape& s = c.shape;
  const Operands o{x, weights, tail, y};
  if (s.n * s.m * s.oh * s.ow == 0) return;
  if (c.depthwise) {
    const int64_t rows = s.n * blocks_of(s.m) * s.oh;
    const int64_t shares = std::min<int64_t>(threads, rows);
    base::parallel_for(shares, threads, [&](int64_t share) {
      const Steps mine = share_of(rows, share, shares);
      for (int64_t r = mine.first; r < mine.last;) {
        const int64_t row = r % s.oh;
        const int64_t count = std::min(mine.last - r, s.oh - row);
        run_depthwise(c, o, r / s.oh, {row, row + count});
        r += count;
      }
    });
    return;
  }
  const int64_t units = c.flat ? ceil_div(s.ow, int64_t{c.table->rows}) : s.oh;
  // Weights are most of what is read where c.by_panels says so; but a thread that waits costs more than
  // weights that are read twice.
  const bool even = unevenness(c.panels(), threads) <= kUnevenAtMost * unevenness(units, threads);
  const int64_t by_panels = c.by_panels && even ? std::min<int64_t>(threads, c.panels()) : 1;
  const int64_t by_units = std::clamp<int64_t>(units, 1, threads / by_panels);
  base::parallel_for(by_panels * by_units, threads, [&](int64_t share) {
    const Steps panels = share_of(c.panels(), share % by_panels, by_panels);
    const Steps mine = share_of(c.flat ? s.ow : s.oh, share / by_panels, by_units);
    for (int64_t n = 0; n < s.n; ++n)
      c.flat ? run_flat(c, o, n, mine, panels) : run_part(c, o, n, mine, panels);
  });
}

}  // namespace walle::kernels
