// Local differential privacy as an operator: what comes out may be labelled open.
#include <algorithm>
#include <cmath>

#include "stream/operators/batch_rows.h"
#include "stream/operators/operators.h"

namespace walle::stream {

namespace {

class Noise final : public Operator {
 public:
  Noise(NoiseSpec spec, PrivacyAccount account, std::mt19937_64 random)
      : spec_(std::move(spec)), account_(std::move(account)), random_(random) {}

  Result<Batch> push(const Batch& in) override {
    WALLE_ASSIGN(const size_t at, column_of(in, spec_.column, "noise"));
    Batch out = in;
    Column& column = out.columns[at];
    column.path = path_through(column, "noise");
    column.sensitivity = Sensitivity::open;
    // Every value is a release of its own. Spent before anything is drawn: a refusal gives nothing away.
    if (in.rows()) WALLE_TRY(account_.spend(spec_.epsilon * static_cast<double>(in.rows())));
    column.cells = tensor::Column();
    for (size_t r = 0; r < in.rows(); ++r) {
      // An absent value must look like any other.
      WALLE_ASSIGN(const Cell told, noisy(in.columns[at].cells[r].number().value_or(spec_.low)));
      put(column, told);
    }
    return out;
  }

 private:
  // One value may be any other of the range, so the sensitivity is the range's width: sums are taken above
  // its low end.
  Result<Cell> noisy(double value) {
    const double width = spec_.high - spec_.low, above = value - spec_.low;
    if (spec_.kind == NoiseKind::response) {
      const int k = static_cast<int>(width) + 1;
      WALLE_ASSIGN(const int told, randomised_response(static_cast<int>(std::clamp(above, 0.0, width)), k,
                                                       spec_.epsilon, random_));
      return Cell::of(static_cast<int64_t>(told) + static_cast<int64_t>(spec_.low));
    }
    const double one[] = {above};
    if (spec_.kind == NoiseKind::laplace) {
      WALLE_ASSIGN(const double told, laplace_sum(one, 0, width, spec_.epsilon, spec_.resolution, random_));
      return Cell::of(told + spec_.low);
    }
    WALLE_ASSIGN(const double told,
                 gaussian_sum(one, 0, width, spec_.epsilon, spec_.delta, spec_.resolution, random_));
    return Cell::of(told + spec_.low);
  }

  NoiseSpec spec_;
  PrivacyAccount account_;
  std::mt19937_64 random_;
};

}  // namespace

Status check_noise(const NoiseSpec& spec) {
  const bool whole =
      // Randomised response names its categories by whole numbers; a million of them would already answer
      // with noise alone.
      spec.low == std::floor(spec.low) && spec.high == std::floor(spec.high) && spec.high - spec.low < 1e6;
  const bool range = spec.low < spec.high && std::isfinite(spec.low) && std::isfinite(spec.high);
  const bool steps =
      spec.kind == NoiseKind::response || (spec.resolution > 0 && std::isfinite(spec.resolution));
  const bool fails = spec.kind == NoiseKind::gaussian && !(spec.delta > 0 && spec.delta < 1);
  if (range && spec.epsilon > 0 && std::isfinite(spec.epsilon) && steps && !fails &&
      (spec.kind != NoiseKind::response || whole))
    return {};
  return argument_error({"noise of epsilon ", spec.epsilon, " for ", spec.low, " to ", spec.high},
                        "low < high, a positive epsilon and resolution, delta between 0 and 1; whole numbers "
                        "for randomised response",
                        {"noise on '", spec.column, "'"}, "correct the parameters");
}

Result<std::unique_ptr<Operator>> make_noise(NoiseSpec spec, PrivacyAccount account, std::mt19937_64 random) {
  WALLE_TRY(check_noise(spec));
  return std::unique_ptr<Operator>(new Noise(std::move(spec), std::move(account), random));
}

}  // namespace walle::stream
