// Conv in bfloat16 or float16 over blocks of channels, and from rows to blocks: for sessions that ask for it.
// Depthwise windows have none, they wait for memory.
#include "backends/cpu/blocked/conv_bf16.h"

#include "backends/cpu/blocked/bf16_op.h"
#include "backends/cpu/conv_lanes.h"
#include "backends/cpu/conv_shape.h"
#include "backends/cpu/epilogue.h"
#include "kernels/conv_bf16/conv_bf16.h"

namespace walle::backends::cpu {

namespace {
// Of products of 16-bit numbers that take as long as one flop in float32.
constexpr double kFloatFlops = 2;

std::string_view kernel_name(Arithmetic arithmetic, const kernels::ConvShape& shape,
                             const Bf16Images& images) {
  const bool half = arithmetic == Arithmetic::float16;
  if (images.from == kernels::ConvBf16Image::rows)
    return half ? "blocked_from_rows_fp16" : "blocked_from_rows_bf16";
  if (shape.taps() == 1) return half ? "blocked_pointwise_fp16" : "blocked_pointwise_bf16";
  return half ? "blocked_window_fp16" : "blocked_window_bf16";
}

using Form = kernels::Variant<kernels::ConvBf16Table>;
const Form* form_for(Arithmetic arithmetic, const kernels::ConvShape& shape) {
  const auto usable = kernels::usable_capabilities();
  if (!usable.ok()) return nullptr;
  return arithmetic == Arithmetic::float16 ? kernels::conv_fp16_form(*usable)
                                           : kernels::conv_bf16_form_for(*usable, shape);
}

Result<SharedBlock> packed_weights(const NodeView& node, const kernels::ConvBf16& conv, std::string_view form,
                                   PrepareContext& context) {
  const Tensor& w = *node.constant(1);
  const Tensor* bias = node.has(2) ? node.constant(2) : nullptr;
  const auto make = [&]() -> Result<Block> {
    WALLE_ASSIGN(Block block, allocate_floats(kernels::conv_bf16_packed_words(conv)));
    WALLE_ASSIGN(const Tensor readable, w.for_one_reading());
    kernels::pack_conv_bf16(conv, readable.as<float>().data(), bias ? bias->as<float>().data() : nullptr,
                            reinterpret_cast<uint32_t*>(floats_of(block)));
    return block;
  };
  const std::string kind = "conv_bf16_" + std::string(form) + "_" + std::to_string(conv.shape.groups);
  return bias ? context.shared({&w, bias}, kind, make) : context.shared({&w}, kind, make);
}

const kernels::BlockedBf16Table* kept_table(const Bf16Images& images) {
  return images.kept ? bf16_form_here()->table : nullptr;
}
}  // namespace

const Memory& Bf16Images::source() const {
  if (from == kernels::ConvBf16Image::rows) return host_memory();
  if (from == kernels::ConvBf16Image::bf16_blocks) return bf16_memory();
  return blocked_memory();
}
const Memory& Bf16Images::memory() const {
  if (kept) return bf16_memory();
  return blocked_memory();
}

namespace {
// Direct sums.
void add_direct(const NodeView& node, Arithmetic arithmetic, const Form& form, const Bf16Images& images,
                int threads, std::vector<Candidate>& out) {
  const kernels::ConvShape shape = conv_shape(node);
  const kernels::ConvBf16 conv = kernels::make_conv_bf16(shape, *form.table, images.from);
  const kernels::ConvBf16Work work = kernels::conv_bf16_work(conv);
  // Priced by the same rows: what they read and write is counted, and what they round.
  Candidate c = variant_candidate(node, kernel_name(arithmetic, shape, images), form.name, threads, 0,
                                  images.kept                                          ? "kept"
                                  : images.from == kernels::ConvBf16Image::bf16_blocks ? "from_kept"
                                                                                       : "");
  const double idle =
      static_cast<double>(kernels::blocks_of(shape.m) * kernels::kBlock) / static_cast<double>(shape.m) - 1;
  // Functions are of float32, and of the lanes without a channel too.
  c.features[Quantity::flop] = work.flops + kFloatFlops * (1 + idle) * folded_flops(node);
  c.features[Quantity::tiles] = work.tiles;
  c.features[Quantity::l1_bytes] += work.rounded * static_cast<double>(sizeof(float));
  c.workspace_bytes = kernels::conv_bf16_workspace_bytes(conv, threads);
  c.arithmetic = arithmetic;
  out.push_back(std::move(c));
}
}  // namespace

void fp16_candidates(const NodeView& node, const Bf16Images& images, int threads,
                     std::vector<Candidate>& out) {
  const kernels::ConvShape shape = conv_shape(node);
  const Form* form = form_for(Arithmetic::float16, shape);
  if (form && kernels::conv_bf16_fits(shape))
    add_direct(node, Arithmetic::float16, *form, images, threads, out);
}

void bf16_candidates(const NodeView& node, const Bf16Images& images, int threads,
                     std::vector<Candidate>& out) {
  const kernels::ConvShape shape = conv_shape(node);
  const Form* form = form_for(Arithmetic::bfloat16, shape);
  if (!form || !kernels::conv_bf16_fits(shape)) return;
  add_direct(node, Arithmetic::bfloat16, *form, images, threads, out);
  const bool from_rows = images.from == kernels::ConvBf16Image::rows;
  const auto isa = kernels::select_isa();
  if (from_rows || !isa.ok() || images.source().exact() != images.memory().exact()) return;
  for (const int unit : kernels::kWinogradBf16Units)
    if (auto winograd =
            winograd_candidate(node, shape, unit, *isa, threads, unit, true, form, kept_table(images)))
      out.push_back(std::move(*winograd));
}

Result<std::unique_ptr<Kernel>> short_conv_kernel(const NodeView& node, Arithmetic arithmetic,
                                                  const Bf16Images& images, int unit,
                                                  PrepareContext& context) {
  const Form* form = form_for(arithmetic, conv_shape(node));
  if (!form) return internal_error("a processor without products of 16-bit numbers", "cpu convolution");
  WALLE_ASSIGN(const kernels::Epilogue e, epilogue_of(node.attrs()));
  if (unit)
    return blocked_winograd_kernel(node, conv_shape(node), unit, e, context, form->table, kept_table(images));
  auto conv = std::make_shared<const kernels::ConvBf16>(
      kernels::make_conv_bf16(conv_shape(node), *form->table, images.from));
  WALLE_ASSIGN(const SharedBlock packed, packed_weights(node, *conv, form->name, context));
  const kernels::BlockedTail tail{.activation = e.activation, .alpha = e.alpha, .beta = e.beta};
  return make_kernel_between(images.source(), images.memory(), kConvConstants,
                             [=, has_residual = node.has(3)](const HostArgs& a) -> Status {
                               kernels::ConvBf16Run run{
                                   .packed = reinterpret_cast<const uint32_t*>(floats_of(*packed)),
                                   .tail = tail};
                               const bool reads_kept = images.from == kernels::ConvBf16Image::bf16_blocks;
                               if (reads_kept)
                                 run.x16 = a.input<uint16_t>(0);
                               else
                                 run.x = a.input<float>(0);
                               if (images.kept) {
                                 run.y16 = a.output<uint16_t>(0);
                                 if (has_residual) run.residual16 = a.input<uint16_t>(3);
                               } else {
                                 run.y = a.output<float>(0);
                                 if (has_residual) run.tail.residual = a.input<float>(3);
                               }
                               kernels::run_conv_bf16(*conv, run, a.threads, a.workspace);
                               return {};
                             });
}

namespace {
// With a residual, what is added lies where the result does.
bool has_images(const NodeView& node) {
  return is_image(node.dtype(0), node.shape(0)) && is_image(node.out_dtype(0), node.out_shape(0)) &&
         node.constant(1) && (!node.has(2) || node.constant(2));
}

constexpr Bf16Images kKept{.from = kernels::ConvBf16Image::bf16_blocks, .kept = true};
constexpr Bf16Images kFromKept{.from = kernels::ConvBf16Image::bf16_blocks};
constexpr Bf16Images kKeptFromRows{.from = kernels::ConvBf16Image::rows, .kept = true};

// Rows are staged in float32: a residual would be another operand to widen, for a node that no network has.
bool is_depthwise(const NodeView& node) {
  const auto isa = kernels::select_isa();
  const kernels::ConvShape shape = conv_shape(node);
  return isa.ok() && shape.depthwise() && shape.kh < 7 && !node.has(3) &&
         kernels::blocked_conv_fits(shape, *isa) && kernels::make_blocked_conv(shape, *isa).depthwise;
}

bool supports_kept(const NodeView& node) {
  return has_images(node) && bf16_form_here() &&
         (kernels::conv_bf16_fits(conv_shape(node)) || is_depthwise(node));
}
// A residual would lie where the image does, and is added where the result is.
bool supports_from_kept(const NodeView& node) {
  return has_images(node) && !node.has(3) && bf16_form_here() && kernels::conv_bf16_fits(conv_shape(node));
}
bool supports_rows_to_kept(const NodeView& node) {
  const kernels::ConvShape shape = conv_shape(node);
  return has_images(node) && !node.has(3) && bf16_form_here() && kernels::row_conv_fits(shape) &&
         kernels::conv_bf16_fits(shape);
}

// The row of float32 with what is more: an input vector is widened once for a row of a window and 14 outputs,
// an output rounded in two steps, each as long as a multiply-add.
void depthwise_candidate(const NodeView& node, int threads, std::vector<Candidate>& out) {
  const auto isa = kernels::select_isa();
  const kernels::ConvShape s = conv_shape(node);
  const kernels::BlockedWork work = kernels::blocked_work(kernels::make_blocked_conv(s, *isa));
  Candidate c = variant_candidate(node, "blocked_depthwise_bf16", bf16_form_here()->name, threads, 0, "kept");
  c.features.kernel = s.sh > 1 ? "blocked_depthwise_s2_f32" : "blocked_depthwise_f32";
  c.features.isa = isa_name(*isa);
  const double widened = static_cast<double>(s.kh * s.sw) + static_cast<double>(s.kh * (s.kw - s.sw)) / 14;
  const double results = static_cast<double>(blocked_shape(node.out_shape(0)).floats());
  const double idle = results / static_cast<double>(node.out_shape(0).elements()) - 1;
  c.features[Quantity::flop] = work.flops + idle * folded_flops(node) + 2 * results * (widened + 2);
  c.features[Quantity::tiles] = work.tiles;
  c.workspace_bytes = kernels::blocked_bf16_workspace_bytes(s.ow, threads);
  out.push_back(std::move(c));
}

// Winograd's filtering with products in float32, where it is faster than in bfloat16 or nearer: its unit and
// this.
constexpr int kFloatProducts = 16;

void kept_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  if (is_depthwise(node)) return depthwise_candidate(node, threads, out);
  bf16_candidates(node, kKept, threads, out);
  const auto isa = kernels::select_isa();
  if (!isa.ok()) return;
  for (const int unit : kernels::kWinogradUnits)
    if (auto winograd = winograd_candidate(node, conv_shape(node), unit, *isa, threads, unit + kFloatProducts,
                                           true, nullptr, kept_table(kKept)))
      out.push_back(std::move(*winograd));
}
void from_kept_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  bf16_candidates(node, kFromKept, threads, out);
}
void rows_to_kept_candidates(const NodeView& node, int threads, std::vector<Candidate>& out) {
  bf16_candidates(node, kKeptFromRows, threads, out);
}

Result<std::unique_ptr<Kernel>> depthwise_kernel(const NodeView& node, PrepareContext& context) {
  WALLE_ASSIGN(const kernels::Isa isa, kernels::select_isa());
  WALLE_ASSIGN(const kernels::Epilogue e, epilogue_of(node.attrs()));
  auto conv = std::make_shared<const kernels::BlockedConv>(kernels::make_blocked_conv(conv_shape(node), isa));
  WALLE_ASSIGN(const SharedBlock weights, blocked_conv_weights(node, *conv, context));
  const kernels::BlockedTail tail{.activation = e.activation, .alpha = e.alpha, .beta = e.beta};
  return make_bf16_kernel(
      [=, table = bf16_form_here()->table](const HostArgs& a) -> Status {
        kernels::run_depthwise_bf16(*table, isa, *conv, a.input<uint16_t>(0), floats_of(*weights), tail,
                                    a.output<uint16_t>(0), a.threads, a.workspace);
        return {};
      },
      kConvConstants);
}

Result<std::unique_ptr<Kernel>> prepare_kept(const NodeView& node, const Candidate& c,
                                             PrepareContext& context) {
  if (is_depthwise(node)) return depthwise_kernel(node, context);
  if (c.choice < kFloatProducts)
    return short_conv_kernel(node, Arithmetic::bfloat16, kKept, c.choice, context);
  WALLE_ASSIGN(const kernels::Epilogue e, epilogue_of(node.attrs()));
  return blocked_winograd_kernel(node, conv_shape(node), c.choice - kFloatProducts, e, context, nullptr,
                                 kept_table(kKept));
}
Result<std::unique_ptr<Kernel>> prepare_from_kept(const NodeView& node, const Candidate&,
                                                  PrepareContext& context) {
  return short_conv_kernel(node, Arithmetic::bfloat16, kFromKept, 0, context);
}
Result<std::unique_ptr<Kernel>> prepare_rows_to_kept(const NodeView& node, const Candidate&,
                                                     PrepareContext& context) {
  return short_conv_kernel(node, Arithmetic::bfloat16, kKeptFromRows, 0, context);
}
}  // namespace

extern const CpuOp kBf16Conv{
    .op = "Conv", .supports = supports_kept, .candidates = kept_candidates, .prepare = prepare_kept};
extern const CpuOp kBf16ToBlocksConv{.op = "Conv",
                                     .supports = supports_from_kept,
                                     .candidates = from_kept_candidates,
                                     .prepare = prepare_from_kept};
extern const CpuOp kRowsToBf16Conv{.op = "Conv",
                                   .supports = supports_rows_to_kept,
                                   .candidates = rows_to_kept_candidates,
                                   .prepare = prepare_rows_to_kept};

}  // namespace walle::backends::cpu
