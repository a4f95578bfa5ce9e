// Scan: runs `body` once per slice of its scan inputs. Inputs: state values, scan inputs, captures (attribute
// body_captures). Body: (state..., slices..., captures...) -> (state..., slices...).
#include <algorithm>

#include "ir/op_def.h"
#include "ops/control_context.h"
#include "ops/rules/slices.h"

namespace walle::ops {

namespace {
struct Job {
  std::vector<ir::RuntimeValue> state;
  std::vector<Tensor> scanned;
  std::vector<ir::RuntimeValue> captures;
  std::vector<int64_t> in_axis, in_backward, out_axis, out_backward;
  int outputs = 0;  // slice outputs
};

Result<std::vector<int64_t>> list(const ir::Attributes& attrs, const char* name, size_t count) {
  std::vector<int64_t> v = attrs.get_ints(name);
  // ONNX's default for axes and directions alike.
  if (v.empty()) v.assign(count, 0);
  if (v.size() != count)
    return model_error({name, " with ", v.size(), " entries"}, count, {"attribute ", name},
                       "give one entry per scan value");
  return v;
}

Result<int64_t> length_of(Job& job) {
  int64_t length = -1;
  for (size_t i = 0; i < job.scanned.size(); ++i) {
    WALLE_ASSIGN(const int axis,
                 tensor::normalize_axis(job.in_axis[i], job.scanned[i].shape().rank(), "scan_input_axes"));
    job.in_axis[i] = axis;
    const int64_t n = job.scanned[i].shape()[axis];
    // The number of rounds is the common length of all scanned inputs.
    if (length >= 0 && n != length)
      return model_error({"scan inputs of length ", length, " and ", n}, "one length", "Scan inputs",
                         "cut them to one length");
    length = n;
  }
  return length;
}

using Slices = std::vector<std::vector<Tensor>>;

// One round: states and slices in, states replaced, new slices kept.
Status run_round(ControlContext& c, Job& job, int64_t round, int64_t rounds, Slices& slices) {
  const size_t states = job.state.size();
  std::vector<ir::RuntimeValue> inputs = std::move(job.state);
  for (size_t i = 0; i < job.scanned.size(); ++i) {
    // Direction 1 of ONNX Scan: the last slice first. Results of such a scan are reversed after the last
    // round, so that rounds only append.
    const int64_t at = job.in_backward[i] ? rounds - 1 - round : round;
    WALLE_ASSIGN(Tensor slice, take(job.scanned[i], static_cast<int>(job.in_axis[i]), at));
    inputs.push_back(std::move(slice));
  }
  // Captures are the same in every round; handles are copied, no bytes.
  inputs.insert(inputs.end(), job.captures.begin(), job.captures.end());
  WALLE_ASSIGN(std::vector<ir::RuntimeValue> results, c.run_body("body", std::move(inputs)));
  if (results.size() != states + slices.size())
    return model_error({"a body with ", results.size(), " outputs"}, states + slices.size(), "Scan body",
                       "match the body's outputs to the node's");
  for (size_t i = 0; i < slices.size(); ++i) {
    const Tensor* t = results[states + i].tensor();
    if (!t)
      return model_error("a slice that is not a tensor", "a tensor", "Scan body output",
                         "stack tensors only");
    slices[i].push_back(*t);
  }
  // What is left behind the states was moved into slices.
  results.resize(states);
  job.state = std::move(results);
  return {};
}

// Final states, then stacked slices.
Result<std::vector<ir::RuntimeValue>> scan(ControlContext& c, Job job) {
  WALLE_ASSIGN(const int64_t rounds, length_of(job));
  const size_t states = job.state.size();
  Slices slices(job.outputs);
  for (int64_t round = 0; round < rounds; ++round) WALLE_TRY(run_round(c, job, round, rounds, slices));
  std::vector<ir::RuntimeValue> out = std::move(job.state);
  for (size_t i = 0; i < slices.size(); ++i) {
    if (slices[i].empty()) {
      WALLE_ASSIGN(Tensor none, no_slices(c.attrs(), states + i));
      out.emplace_back(std::move(none));
      continue;
    }
    if (job.out_backward[i]) std::ranges::reverse(slices[i]);
    // Only now: the rank of a slice is known when there is one.
    WALLE_ASSIGN(const int axis, tensor::normalize_axis(job.out_axis[i], slices[i][0].shape().rank() + 1,
                                                        "scan_output_axes"));
    WALLE_ASSIGN(Tensor all, stack(slices[i], axis));
    out.emplace_back(std::move(all));
  }
  return out;
}

// The attributes, checked, and the captures.
Result<Job> job_of(const ControlContext& c, int& states, int& scans) {
  const int64_t captures = c.attrs().get_int("body_captures", 0);
  const int64_t n = c.attrs().get_int("num_scan_inputs", 0);
  const int64_t own = c.input_count() - captures;
  // Each number from the file bounded by one that is known, before any subtraction.
  if (captures < 0 || n < 1 || n > own || own - n > c.output_count())
    return model_error({"num_scan_inputs of ", n, " with ", c.input_count(), " inputs"},
                       "at least one scan input, and an output per state value", "attribute num_scan_inputs",
                       "correct num_scan_inputs");
  states = static_cast<int>(own - n);
  scans = static_cast<int>(n);
  Job job;
  job.outputs = c.output_count() - states;
  const size_t outs = job.outputs;
  WALLE_ASSIGN(job.in_axis, list(c.attrs(), "scan_input_axes", n));
  WALLE_ASSIGN(job.in_backward, list(c.attrs(), "scan_input_directions", n));
  WALLE_ASSIGN(job.out_axis, list(c.attrs(), "scan_output_axes", outs));
  WALLE_ASSIGN(job.out_backward, list(c.attrs(), "scan_output_directions", outs));
  for (int i = 0; i < captures; ++i) job.captures.push_back(c.in(static_cast<int>(own) + i));
  return job;
}

Status not_a_tensor(int i) {
  return model_error("an input that is not a tensor", "a tensor", {"Scan input ", i},
                     "scan over tensors only");
}

Status run(ControlContext& c) {
  int states = 0;
  int scans = 0;
  WALLE_ASSIGN(Job job, job_of(c, states, scans));
  for (int i = 0; i < states; ++i) job.state.push_back(c.in(i));
  for (int i = 0; i < scans; ++i) {
    const Tensor* t = c.in(states + i).tensor();
    if (!t || t->shape().rank() < 1) return not_a_tensor(states + i);
    job.scanned.push_back(*t);
  }
  WALLE_ASSIGN(std::vector<ir::RuntimeValue> results, scan(c, std::move(job)));
  for (size_t i = 0; i < results.size(); ++i) c.output(static_cast<int>(i), std::move(results[i]));
  return {};
}
}  // namespace

extern const ir::OpDef kScanOp{
    .name = "Scan", .op_class = ir::OpClass::control, .inputs = {1, -1}, .outputs = {1, -1}, .control = run};

}  // namespace walle::ops
