#include "ops/rules/rnn.h"

namespace walle::ops {

namespace {
Result<RnnFunction> function_named(const std::string& name) {
  if (const auto function = tensor::rnn_function(name)) return *function;
  return model_error({"activation \"", name, "\""}, "an activation ONNX defines for recurrent operators",
                     "attribute activations", "choose a known one");
}

// alpha and beta are consumed in order by the activations that have them.
Status read_activations(const ir::Attributes& attrs, RnnSpec& s) {
  const size_t each = tensor::rnn_operator(s.kind).functions;
  std::vector<std::string> names = attrs.get_strings("activations");
  // ONNX's defaults per direction: RNN Tanh; GRU Sigmoid, Tanh; LSTM Sigmoid, Tanh, Tanh.
  if (names.empty())
    for (int64_t d = 0; d < s.directions; ++d) {
      if (s.kind != RnnKind::rnn) names.emplace_back("sigmoid");
      names.emplace_back("tanh");
      if (s.kind == RnnKind::lstm) names.emplace_back("tanh");
    }
  if (names.size() != each * static_cast<size_t>(s.directions))
    return model_error({names.size(), " activations"}, {each, " per direction"}, "attribute activations",
                       "name each of them");
  const std::vector<double> alphas = attrs.get_floats("activation_alpha");
  const std::vector<double> betas = attrs.get_floats("activation_beta");
  size_t a = 0;
  size_t b = 0;
  s.activations.resize(s.directions);
  for (size_t i = 0; i < names.size(); ++i) {
    WALLE_ASSIGN(const RnnFunction function, function_named(names[i]));
    const auto& facts = tensor::rnn_function_facts(function);
    RnnActivation& out = s.activations[i / each][i % each];
    out = facts.defaults;
    // Lists may be shorter than the functions: the rest keep their defaults, as onnxruntime reads it.
    if (facts.numbers >= 1 && a < alphas.size()) out.alpha = static_cast<float>(alphas[a++]);
    if (facts.numbers >= 2 && b < betas.size()) out.beta = static_cast<float>(betas[b++]);
  }
  return {};
}
}  // namespace

Result<RnnSpec> rnn_spec(std::string_view op, const ir::Attributes& attrs, const Shape& x, const Shape& w,
                         const Shape& r) {
  RnnSpec s;
  s.kind = tensor::rnn_kind(op).value_or(RnnKind::rnn);
  s.gates = tensor::rnn_operator(s.kind).gates;
  const std::string direction = attrs.get_string("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return model_error({"direction \"", direction, "\""}, "forward, reverse or bidirectional",
                       "attribute direction", "choose one of them");
  s.directions = direction == "bidirectional" ? 2 : 1;
  s.reverse_first = direction == "reverse";
  // layout since opset 14.
  s.batch_first = attrs.get_int("layout", 0) != 0;
  s.linear_before_reset = attrs.get_int("linear_before_reset", 0) != 0;
  s.input_forget = attrs.get_int("input_forget", 0) != 0;
  s.round_state = attrs.get_int("round_state", 0) != 0;
  if (s.round_state && s.kind != RnnKind::lstm)
    return model_error("round_state = 1", "0 or no such attribute", op, "use LSTM");
  s.clip = static_cast<float>(attrs.get_float("clip", 0));
  // Also for NaN.
  if (!(s.clip >= 0)) return model_error({"clip ", s.clip}, "zero or more", "attribute clip", "correct clip");
  if (x.rank() != 3 || w.rank() != 3 || r.rank() != 3)
    return model_error({"X", x.text(), ", W", w.text(), ", R", r.text()}, "three tensors of rank 3", op,
                       "check the inputs");
  s.sequence = x[s.batch_first ? 1 : 0];
  s.batch = x[s.batch_first ? 0 : 1];
  s.input = x[2];
  // The attribute is optional in ONNX; the weights decide, and a contradiction is an error.
  s.hidden = attrs.get_int("hidden_size", r[2]);
  if (s.hidden < 1 || s.hidden != r[2] || w != Shape{s.directions, s.gates * r[2], s.input} ||
      r != Shape{s.directions, s.gates * r[2], r[2]})
    return model_error(
        {"W", w.text(), " and R", r.text(), " with hidden_size ", s.hidden, " and X", x.text()},
        "W [directions, gates * hidden, input] and R [directions, gates * hidden, hidden]", op,
        "correct the weights");
  WALLE_TRY(read_activations(attrs, s));
  return s;
}

}  // namespace walle::ops
