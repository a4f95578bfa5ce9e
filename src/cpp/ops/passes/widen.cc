#include "ops/passes/widen.h"

#include <algorithm>
#include <unordered_map>

#include "ops/registry.h"
#include "ops/stored_halves.h"
#include "tensor/widen.h"

namespace walle::ops {

namespace {
// Once and for all: a Cast of a constant would run again with every run. Weights stay in 16 bits.
Result<Tensor> widened_constant(const Tensor& from) {
  if (from.elements() >= kLeastStoredHalves) return Tensor::widened_late(from);
  WALLE_ASSIGN(Tensor to, Tensor::allocate(DType::float32, from.shape()));
  tensor::widen(from.dtype(), from.address(), to.as_mutable<float>().data(), from.elements());
  return to;
}

class Widener {
 public:
  explicit Widener(Program& program) : program_(program), cast_(find_op("Cast")) {}

  Status run(const std::function<bool(const Program&, const ProgramNode&)>& supported) {
    if (!cast_) return internal_error("operator 'Cast' is not in the op table", "widen_floats");
    std::vector<ProgramNode> nodes = std::move(program_.nodes);
    program_.nodes.clear();
    for (ProgramNode& node : nodes) {
      // Movements copy bits, and Cast is what this pass is made of.
      if (!touches_narrow(node) || node.raster || node.loop || node.op == cast_ || supported(program_, node))
        program_.nodes.push_back(std::move(node));
      else
        WALLE_TRY(widen(std::move(node)));
    }
    return {};
  }

 private:
  bool touches_narrow(const ProgramNode& node) const {
    const auto is_narrow = [&](Ref r) { return r >= 0 && tensor::is_half_float(program_.at(r).dtype); };
    return std::ranges::any_of(node.inputs, is_narrow) || std::ranges::any_of(node.outputs, is_narrow);
  }

  void push_cast(Ref from, Ref to, const Origin& origin) {
    program_.nodes.push_back({.op = cast_,
                              .attributes = {{"to", static_cast<int64_t>(program_.at(to).dtype)}},
                              .inputs = {from},
                              .outputs = {to},
                              .origin = origin});
  }

  // The float32 twin of a 16-bit value.
  Result<Ref> twin(Ref r, const Origin& origin) {
    // One cast per value, however many nodes read it.
    if (const auto it = twins_.find(r); it != twins_.end()) return it->second;
    Ref wide = kNoRef;
    if (program_.at(r).constant) {
      WALLE_ASSIGN(Tensor value, widened_constant(*program_.at(r).constant));
      const Shape shape = value.shape();
      wide = program_.add({DType::float32, shape, std::move(value)});
    } else {
      wide = program_.add({DType::float32, program_.at(r).shape, std::nullopt});
      push_cast(r, wide, origin);
    }
    twins_[r] = wide;
    return wide;
  }

  Status widen(ProgramNode node) {
    for (Ref& r : node.inputs) {
      if (r < 0 || !tensor::is_half_float(program_.at(r).dtype)) continue;
      WALLE_ASSIGN(r, twin(r, node.origin));
    }
    std::vector<std::pair<Ref, Ref>> results;  // float32, 16-bit
    for (Ref& r : node.outputs) {
      if (r < 0 || !tensor::is_half_float(program_.at(r).dtype)) continue;
      const Ref wide = program_.add({DType::float32, program_.at(r).shape, std::nullopt});
      results.emplace_back(wide, r);
      // The next widened node reads this and not the narrowed value.
      twins_[r] = wide;
      r = wide;
    }
    const Origin origin = node.origin;
    program_.nodes.push_back(std::move(node));
    for (const auto& [wide, thin] : results) push_cast(wide, thin, origin);
    return {};
  }

  Program& program_;
  const ir::OpDef* cast_;
  // By 16-bit value: its float32 twin, whoever made it first.
  std::unordered_map<Ref, Ref> twins_;
};
}  // namespace

Status widen_floats(Program& program,
                    const std::function<bool(const Program&, const ProgramNode&)>& supported) {
  return Widener(program).run(supported);
}

}  // namespace walle::ops
