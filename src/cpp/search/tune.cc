#include "search/tune.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/cpu_features.h"

namespace walle::search {

namespace {
using backends::Block;
using backends::Handle;

// Repeats end when the least has not become less for so many, or when they took this long. The least and not
// the mean, because whatever else runs on the machine only adds.
constexpr int kQuietRuns = 6;
constexpr int kMostRuns = 40;
constexpr double kMostMs = 30;

// Values of an operand nobody computed: floats away from 0, so that neither denormal numbers nor infinities
// are timed; zeros for the others, which are valid indices of anything.
std::vector<std::byte> made_up(const ops::ProgramValue& v) {
  const int64_t n = v.shape.elements();
  std::vector<std::byte> out(static_cast<size_t>(n * dtype_size(v.dtype)));
  if (v.dtype == DType::float32) {
    auto* to = reinterpret_cast<float*>(out.data());
    for (int64_t i = 0; i < n; ++i) to[i] = 0.25F + 0.5F * static_cast<float>(i * 7 % 64) / 64;
  } else if (v.dtype == DType::float64) {
    auto* to = reinterpret_cast<double*>(out.data());
    for (int64_t i = 0; i < n; ++i) to[i] = 0.25 + 0.5 * static_cast<double>(i * 7 % 64) / 64;
  }
  return out;
}

// The operands of one node in a memory.
class Bench {
 public:
  static Result<Bench> make(const ops::Program& program, const ops::ProgramNode& node, const Choice& choice,
                            int threads) {
    Bench bench(choice.backend->source(), choice.backend->memory(), threads);
    backends::PrepareContext context{nullptr, threads};
    WALLE_ASSIGN(bench.kernel_,
                 choice.backend->prepare(backends::NodeView(program, node), choice.candidate, context));
    for (ops::Ref r : node.inputs) WALLE_TRY(bench.add(bench.source_, program, r, bench.in_, true));
    for (ops::Ref r : node.outputs) WALLE_TRY(bench.add(bench.memory_, program, r, bench.out_, false));
    if (choice.candidate.workspace_bytes > 0) {
      WALLE_ASSIGN(Block block, Block::allocate(bench.memory_, choice.candidate.workspace_bytes));
      bench.workspace_ = block.handle();
      bench.blocks_.push_back(std::move(block));
    }
    return bench;
  }

  // One run as it comes in a network: its weights are not in the inner caches, what it reads is.
  Result<double> run_ms() {
    forget_caches();
    WALLE_TRY(memory_.flush());
    const auto begin = std::chrono::steady_clock::now();
    WALLE_TRY(kernel_->run({.in = in_, .out = out_, .workspace = workspace_, .threads = threads_}));
    WALLE_TRY(memory_.flush());
    const auto end = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(end - begin).count();
  }

 private:
  Bench(backends::Memory& source, backends::Memory& memory, int threads)
      : source_(source), memory_(memory), threads_(threads) {}

  Status add(backends::Memory& memory, const ops::Program& program, ops::Ref r, std::vector<Handle>& to,
             bool input) {
    if (r < 0) {
      to.emplace_back();
      return {};
    }
    const ops::ProgramValue& v = program.at(r);
    const int64_t bytes = memory.bytes_of(v.dtype, v.shape);
    WALLE_ASSIGN(Block block, Block::allocate(memory, bytes));
    if (input && bytes > 0) {
      const std::vector<std::byte> values = v.constant ? std::vector<std::byte>() : made_up(v);
      WALLE_TRY(memory.bring_in(block.handle(), v.constant ? v.constant->data() : values.data(), v.dtype,
                                v.shape, threads_));
      if (!v.constant && memory.visible(block.handle())) warm_.emplace_back(block.handle(), bytes);
    }
    to.push_back(block.handle());
    blocks_.push_back(std::move(block));
    return {};
  }

  void forget_caches() {
    std::memset(scratch_.data(), ++round_, scratch_.size());
    for (const auto& [handle, bytes] : warm_) {
      const auto* at = reinterpret_cast<const unsigned char*>(source_.visible(handle));
      for (int64_t i = 0; i < bytes; i += 64) sum_ = sum_ + at[i];
    }
  }

  backends::Memory& source_;
  backends::Memory& memory_;
  int threads_;
  std::unique_ptr<backends::Kernel> kernel_;
  std::vector<Block> blocks_;
  std::vector<Handle> in_, out_;
  std::vector<std::pair<Handle, int64_t>> warm_;
  Handle workspace_;
  // Twice the second level: after it nothing else is in there.
  std::vector<unsigned char> scratch_ =
      std::vector<unsigned char>(static_cast<size_t>(2 * base::cpu_features().l2_bytes));
  int round_ = 0;
  volatile unsigned sum_ = 0;
};

// What decides a node's kernels and their time: everything but the values.
std::string question(const ops::Program& program, const ops::ProgramNode& node) {
  std::string out(node.op->name);
  out += node.attributes.text();
  if (node.raster) out += node.raster->text();
  if (node.loop) out += node.loop->text();
  const auto add = [&](ops::Ref r) {
    if (r < 0) return void(out += "-;");
    const ops::ProgramValue& v = program.at(r);
    out += std::string(dtype_name(v.dtype)) + v.shape.text() + (v.constant ? "c;" : ";");
  };
  std::ranges::for_each(node.inputs, add);
  out += ">";
  std::ranges::for_each(node.outputs, add);
  return out;
}
}  // namespace

Result<double> measured_ms(const ops::Program& program, const ops::ProgramNode& node, const Choice& choice,
                           int threads) {
  WALLE_ASSIGN(Bench bench, Bench::make(program, node, choice, threads));
  WALLE_ASSIGN(double best, bench.run_ms());
  double spent = best;
  int quiet = 0;
  for (int i = 1; i < kMostRuns && quiet < kQuietRuns && spent < kMostMs; ++i) {
    WALLE_ASSIGN(const double ms, bench.run_ms());
    spent += ms;
    quiet = ms < 0.995 * best ? 0 : quiet + 1;
    best = std::min(best, ms);
  }
  return std::max(best, 1e-6);  // a clock that stood still
}

Status Tuner::measure(const ops::ProgramNode& node, std::vector<Choice>& choices) {
  const bool all = most_ >= kTuneAll;
  if (choices.size() < 2 && !all) return {};
  const auto [known, fresh] = known_.try_emplace(question(program_, node));
  std::vector<double>& times = known->second;
  if (fresh) {
    times.assign(choices.size(), 0);
    std::vector<size_t> order(choices.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t i) { return choices[i].predicted_ms; });
    const double best = choices[order[0]].predicted_ms;
    const double hopeless = all ? std::max(best, kLongestMs) : kHopeless * best;
    for (size_t i = 0; i < order.size() && i < static_cast<size_t>(most_); ++i) {
      if (choices[order[i]].predicted_ms > hopeless) break;
      Result<double> ms = measured_ms(program_, node, choices[order[i]], threads_);
      if (ms.ok()) times[order[i]] = *ms;
    }
  }
  for (size_t i = 0; i < choices.size(); ++i) choices[i].measured_ms = times[i];
  return {};
}

}  // namespace walle::search
