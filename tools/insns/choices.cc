// choices MODEL.walle...: every way to run each step of models of one operator, with the work it counts and
// what a run of it takes, measured as a tuned search measures. Under counter.c and clock.c that is
// instructions, from which tools/insns/fit.py makes a table of costs. A line per way:
//
//   MODEL STEP BACKEND ALGORITHM KERNEL SET THREADS MEASURED_MS QUANTITY...
//
// parted by tabs; a step's number counts within its model. Linked to the rooms themselves: a table is made by
// whoever builds the engine, and the C library says no more of a plan than a reader wants.
#include <cstdio>
#include <string>

#include "ir/walle_file.h"
#include "runtime/model.h"
#include "runtime/session.h"

namespace {
using walle::Result;
using walle::Status;
namespace runtime = walle::runtime;

// Plans are made for shapes alone, of inputs that the model declares.
Result<runtime::Session::Values> shapes_of(const runtime::Model& model) {
  runtime::Session::Values out;
  for (const walle::ir::ValueId id : model.graph().inputs) {
    const walle::ir::Value& v = model.graph().at(id);
    walle::Shape sizes;
    for (const auto& dim : *v.shape) sizes.push_back(dim.size);
    WALLE_ASSIGN(walle::Tensor t, walle::Tensor::zeros(v.dtype, sizes));
    out.emplace_back(std::move(t));
  }
  return out;
}

void print(const char* model, size_t step, const runtime::ExplainChoice& c) {
  std::printf("%s\t%zu\t%s\t%s\t%.*s\t%.*s\t%d\t%.9g", model, step, c.backend.c_str(), c.algorithm.c_str(),
              static_cast<int>(c.features.kernel.size()), c.features.kernel.data(),
              static_cast<int>(c.features.isa.size()), c.features.isa.data(), c.features.threads,
              c.measured_ms);
  for (const double amount : c.features.amount) std::printf("\t%.9g", amount);
  std::printf("\n");
}

Status measure(const char* path) {
  WALLE_ASSIGN(walle::ir::ModelData data, walle::ir::load_walle(path));
  WALLE_ASSIGN(const std::shared_ptr<runtime::Model> model, runtime::Model::create(std::move(data)));
  runtime::SessionOptions options;
  options.threads = 1;
  options.accuracy = "fast";  // every candidate, those that sessions must ask for included
  options.tune = 64;
  options.plan_cache = "off";
  WALLE_ASSIGN(const std::unique_ptr<runtime::Session> session, model->session(options));
  WALLE_ASSIGN(runtime::Session::Values inputs, shapes_of(*model));
  WALLE_TRY(session->prepare(std::move(inputs)));
  const runtime::ExplainReport found = session->explain();
  for (size_t i = 0; i < found.rows.size(); ++i)
    for (const runtime::ExplainChoice& c : found.rows[i].choices) print(path, i, c);
  return {};
}
}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (const Status status = measure(argv[i]); !status.ok()) {
      std::fprintf(stderr, "choices: %s: %s\n", argv[i], status.error().message().c_str());
      return 1;
    }
  return 0;
}
