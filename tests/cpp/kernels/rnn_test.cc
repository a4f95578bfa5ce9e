#include "kernels/rnn/rnn.h"

#include "compare.h"
#include "kernels/rnn/step_sharing.h"

namespace walle::kernels {
namespace {

struct Case {
  RnnKind kind;
  int64_t gates, sequence, batch, input, hidden, directions;
  bool linear_before_reset;
};

double squash(double x) { return 1 / (1 + std::exp(-x)); }

// One direction, one batch row, straight from the definition.
struct Reference {
  const Case& c;
  const float *w, *r, *b;

  double sum(const double* x, int64_t n, const float* row) const {
    double s = 0;
    for (int64_t i = 0; i < n; ++i) s += x[i] * static_cast<double>(row[i]);
    return s;
  }
  double input(int64_t row, const double* x) const {
    return sum(x, c.input, w + row * c.input) + static_cast<double>(b[row]);
  }
  double state(int64_t row, const double* h) const {
    return sum(h, c.hidden, r + row * c.hidden) + static_cast<double>(b[c.gates * c.hidden + row]);
  }

  void step(const double* x, std::vector<double>& h, std::vector<double>& cell) const {
    const int64_t n = c.hidden;
    std::vector<double> next(static_cast<size_t>(n)), reset(static_cast<size_t>(n));
    if (c.kind == RnnKind::gru)
      for (int64_t i = 0; i < n; ++i)
        reset[static_cast<size_t>(i)] = squash(input(n + i, x) + state(n + i, h.data()));
    std::vector<double> scaled(h);
    for (int64_t i = 0; i < n; ++i) scaled[static_cast<size_t>(i)] *= reset[static_cast<size_t>(i)];
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(i);
      const auto gate = [&](int64_t g) { return input(g * n + i, x) + state(g * n + i, h.data()); };
      if (c.kind == RnnKind::rnn) next[at] = std::tanh(gate(0));
      if (c.kind == RnnKind::gru) {
        const double z = squash(gate(0));
        const double recurrent =
            c.linear_before_reset ? reset[at] * state(2 * n + i, h.data()) : state(2 * n + i, scaled.data());
        next[at] = (1 - z) * std::tanh(input(2 * n + i, x) + recurrent) + z * h[at];
      }
      if (c.kind == RnnKind::lstm) {
        cell[at] = squash(gate(2)) * cell[at] + squash(gate(0)) * std::tanh(gate(3));
        next[at] = squash(gate(1)) * std::tanh(cell[at]);
      }
    }
    h = next;
  }
};

std::vector<float> expected(const Case& c, const std::vector<float>& x, const std::vector<float>& w,
                            const std::vector<float>& r, const std::vector<float>& b) {
  std::vector<float> y(static_cast<size_t>(c.sequence * c.directions * c.batch * c.hidden));
  const int64_t width = c.gates * c.hidden;
  for (int64_t d = 0; d < c.directions; ++d) {
    const Reference one{c, w.data() + d * width * c.input, r.data() + d * width * c.hidden,
                        b.data() + d * 2 * width};
    for (int64_t n = 0; n < c.batch; ++n) {
      std::vector<double> h(static_cast<size_t>(c.hidden)), cell(h);
      for (int64_t i = 0; i < c.sequence; ++i) {
        const int64_t t = d == 1 ? c.sequence - 1 - i : i;
        const float* from = x.data() + (t * c.batch + n) * c.input;
        const std::vector<double> row(from, from + c.input);
        one.step(row.data(), h, cell);
        for (int64_t k = 0; k < c.hidden; ++k)
          y[static_cast<size_t>(((t * c.directions + d) * c.batch + n) * c.hidden + k)] =
              static_cast<float>(h[static_cast<size_t>(k)]);
      }
    }
  }
  return y;
}

std::vector<float> run_case(Isa isa, const Case& c, int threads) {
  const int64_t width = c.gates * c.hidden;
  const auto x = random_floats(c.sequence * c.batch * c.input, 1);
  const auto w = random_floats(c.directions * width * c.input, 2);
  auto r = random_floats(c.directions * width * c.hidden, 3);
  for (float& v : r)
    v *= 0.25f;  // trained recurrences contract; larger weights would amplify rounding from step to step
  const auto b = random_floats(c.directions * 2 * width, 4);
  Rnn spec;
  spec.kind = c.kind;
  spec.sequence = c.sequence;
  spec.batch = c.batch;
  spec.input = c.input;
  spec.hidden = c.hidden;
  spec.gates = c.gates;
  spec.directions = c.directions;
  spec.backward = {false, true};
  spec.linear_before_reset = c.linear_before_reset;
  for (auto& a : spec.activations) {
    a[0].function = c.kind == RnnKind::rnn ? RnnFunction::tanh : RnnFunction::sigmoid;
    a[1].function = a[2].function = RnnFunction::tanh;
  }
  const GemmTable& table = gemm_table(isa);
  std::vector<float> packed(static_cast<size_t>(c.directions * rnn_packed_elements(table, spec)));
  for (int64_t d = 0; d < c.directions; ++d)
    pack_rnn(table, spec, w.data() + d * width * c.input, r.data() + d * width * c.hidden,
             packed.data() + d * rnn_packed_elements(table, spec));
  std::vector<float> y(static_cast<size_t>(c.sequence * c.directions * c.batch * c.hidden), -9);
  std::vector<std::byte> workspace(static_cast<size_t>(rnn_workspace_bytes(table, spec, threads)) + 64);
  auto* aligned = workspace.data() + (64 - reinterpret_cast<uintptr_t>(workspace.data()) % 64);
  RnnOperands o;
  o.x = x.data();
  o.packed = packed.data();
  o.b = b.data();
  o.y = y.data();
  run_rnn(isa, spec, o, threads, aligned);
  expect_close(y, expected(c, x, w, r, b), 2e-5);
  return y;
}

TEST(Rnn, EqualsTheDefinitionOnEveryInstructionSet) {
  const Case cases[] = {
      {RnnKind::rnn, 1, 5, 2, 3, 7, 2, false},    {RnnKind::gru, 3, 6, 1, 5, 9, 1, false},
      {RnnKind::gru, 3, 6, 3, 16, 33, 2, true},   {RnnKind::gru, 3, 40, 1, 24, 64, 1, true},
      {RnnKind::lstm, 4, 5, 2, 11, 18, 2, false}, {RnnKind::lstm, 4, 30, 1, 8, 40, 1, false},
  };
  for (Isa isa : supported_isas())
    for (const Case& c : cases)
      for (int threads : {1, 2}) {
        SCOPED_TRACE(std::string(isa_name(isa)) + " gates " + std::to_string(c.gates) + " hidden " +
                     std::to_string(c.hidden) + " threads " + std::to_string(threads));
        run_case(isa, c, threads);
      }
}

// Long enough for several periods of StepSharing, with products that it shares.
TEST(Rnn, ThreadsThatShareStepsChangeNothing) {
  const Case cases[] = {
      {RnnKind::lstm, 4, 300, 1, 8, 100, 1, false},
      {RnnKind::gru, 3, 150, 3, 8, 128, 1, false},  // two products a step
      {RnnKind::gru, 3, 150, 1, 8, 130, 1, true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE("gates " + std::to_string(c.gates) + " hidden " + std::to_string(c.hidden));
    EXPECT_EQ(run_case(supported_isas().back(), c, 1), run_case(supported_isas().back(), c, 2));
  }
}

// Nanoseconds of `steps` steps that take `alone` or `shared`; how many were shared.
int shared_of(StepSharing& sharing, int steps, int64_t alone, int64_t shared) {
  int count = 0;
  for (int i = 0; i < steps; ++i) {
    count += sharing.share();
    sharing.took(sharing.share() ? shared : alone);
  }
  return count;
}

TEST(StepSharing, SharesWhatIsFasterShared) {
  StepSharing faster;
  EXPECT_EQ(shared_of(faster, 256, 2000, 1500), 2 * 126);
  StepSharing slower;
  EXPECT_EQ(shared_of(slower, 256, 2000, 2100), 2 * 16);
}

TEST(StepSharing, FollowsAChangeWithinAPeriod) {
  StepSharing sharing;
  shared_of(sharing, 128, 2000, 2500);
  EXPECT_EQ(shared_of(sharing, 128, 2000, 1500), 126);
}

TEST(StepSharing, GivesUpAfterAStall) {
  StepSharing sharing;
  shared_of(sharing, 10, 2000, 1500);
  EXPECT_TRUE(sharing.share());
  sharing.took(4'000'000);
  EXPECT_EQ(shared_of(sharing, 1000, 2000, 1500), 0);
}

}  // namespace
}  // namespace walle::kernels
