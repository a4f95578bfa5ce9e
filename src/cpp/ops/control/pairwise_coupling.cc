// PairwiseCoupling: probabilities of classes from those of every pair of them, as LIBSVM has them (Wu, Lin
// and Weng, "Probability Estimates for Multi-class Classification by Pairwise Coupling", JMLR 2004, algorithm
// 2). Run by the executor, because how often it repeats depends on the values. Input [rows, pairs], the
// chance of class i against class j for i < j; output [rows, classes]. In float32 and with the bounds of
// onnxruntime, because the result is where the repetition stops and not its limit.
#include <cmath>
#include <vector>

#include "ir/op_def.h"
#include "ops/control_context.h"

namespace walle::ops {

namespace {
// LIBSVM's bound is max(100, classes), onnxruntime's 100 alone.
constexpr int kRounds = 100;
constexpr int64_t kMaxClasses = 4096;  // the table of a row is its square

class Coupling {
 public:
  explicit Coupling(int64_t classes)
      // 0.005 / classes: LIBSVM's and onnxruntime's tolerance.
      : n_(static_cast<size_t>(classes)), q_(n_ * n_), qp_(n_), eps_(0.005f / static_cast<float>(classes)) {}

  void run(const float* pairs, float* p) {
    fill(pairs);
    for (size_t i = 0; i < n_; ++i) p[i] = 1.0f / static_cast<float>(n_);
    for (int round = 0; round < kRounds; ++round) {
      float pqp = 0;
      for (size_t i = 0; i < n_; ++i) {
        qp_[i] = 0;
        for (size_t j = 0; j < n_; ++j) qp_[i] += q_[i * n_ + j] * p[j];
        pqp += p[i] * qp_[i];
      }
      float worst = 0;
      for (size_t i = 0; i < n_; ++i) worst = std::max(worst, std::fabs(qp_[i] - pqp));
      if (worst < eps_) return;
      improve(p, pqp);
    }
  }

 private:
  // Q of the paper from r[i][j], the chance of i against j.
  void fill(const float* pairs) {
    std::vector<float> r(n_ * n_);
    for (size_t i = 0, k = 0; i < n_; ++i)
      for (size_t j = i + 1; j < n_; ++j, ++k) {
        r[i * n_ + j] = pairs[k];
        r[j * n_ + i] = 1 - pairs[k];
      }
    for (size_t i = 0; i < n_; ++i) {
      q_[i * n_ + i] = 0;
      for (size_t j = 0; j < n_; ++j) {
        if (j == i) continue;
        q_[i * n_ + i] += r[j * n_ + i] * r[j * n_ + i];
        q_[i * n_ + j] = -r[j * n_ + i] * r[i * n_ + j];
      }
    }
  }

  void improve(float* p, float pqp) {
    for (size_t i = 0; i < n_; ++i) {
      const float diagonal = q_[i * n_ + i];
      const float diff = (-qp_[i] + pqp) / diagonal;
      p[i] += diff;
      pqp = (pqp + diff * (diff * diagonal + 2 * qp_[i])) / (1 + diff) / (1 + diff);
      for (size_t j = 0; j < n_; ++j) {
        qp_[j] = (qp_[j] + diff * q_[i * n_ + j]) / (1 + diff);
        p[j] /= 1 + diff;
      }
    }
  }

  size_t n_;
  std::vector<float> q_, qp_;
  float eps_;
};

Status run(ControlContext& c) {
  const Tensor* pairs = c.in(0).tensor();
  const int64_t classes = c.attrs().get_int("classes", 0);
  if (!pairs || pairs->dtype() != DType::float32 || pairs->shape().rank() != 2 || classes < 2 ||
      classes > kMaxClasses || pairs->shape()[1] != classes * (classes - 1) / 2)
    return model_error({"pairs of ", pairs ? Text(pairs->shape().text()) : Text("nothing")},
                       "float32 [rows, classes * (classes - 1) / 2]", "PairwiseCoupling", "check the node");
  const int64_t rows = pairs->shape()[0];
  WALLE_ASSIGN(const Shape shape, Shape::checked(std::vector{rows, classes}, 4, "PairwiseCoupling"));
  WALLE_ASSIGN(Tensor out, Tensor::allocate(DType::float32, shape));
  Coupling coupling(classes);
  const auto* from = static_cast<const float*>(pairs->data());
  auto* to = static_cast<float*>(out.mutable_data());
  for (int64_t r = 0; r < rows; ++r) coupling.run(from + r * pairs->shape()[1], to + r * classes);
  c.output(0, std::move(out));
  return {};
}
}  // namespace

extern const ir::OpDef kPairwiseCouplingOp{
    .name = "PairwiseCoupling", .op_class = ir::OpClass::control, .control = run};

}  // namespace walle::ops
