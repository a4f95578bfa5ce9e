// walle.hpp: a model loaded, run, profiled and refused, and nothing freed by hand.
#include <walle/walle.hpp>

#include <cmath>
#include <cstdio>
#include <utility>

namespace {

int failed = 0;

void expect(bool held, const char* what) {
  std::printf("%s  %s\n", held ? "ok" : "FAILED", what);
  failed += held ? 0 : 1;
}

template <class Call>
walle_status_t status_of(Call call) {
  try {
    call();
  } catch (const walle::Error& error) {
    return error.status();
  }
  return WALLE_OK;
}

// half: prob = data * 0.5 with data [n, 4]; its signature "classify" calls them x and y.
void run(const char* path) {
  const walle::Model model = walle::Model::load(path);
  expect(model.inputs().size() == 1 && std::string(model.outputs()[0].name) == "prob", "declared values");
  expect(!model.metadata("source.format").empty() && model.metadata("absent").empty(), "metadata");

  const char* graph_name = nullptr;
  const char* name = walle_model_signature_output(model.get(), 0, 0, &graph_name);
  expect(name && std::string(name) == "y" && std::string(graph_name) == "prob", "names of a signature");
  expect(!walle_model_signature_input(model.get(), 0, 7, nullptr), "no such name");
  expect(!walle_model_signature_input(model.get(), 7, 0, nullptr), "no such signature");

  walle_session_options_t options = walle::session_options();
  options.threads = 1;
  walle::Session first(model, options);
  walle::Session session = std::move(first);
  const std::vector<float> data = {1, 2, 3, 4};
  const walle_tensor_t x = walle::input("data", {1, 4}, data);
  walle_tensor_t shape = x;
  shape.data = nullptr;
  shape.bytes = 0;
  session.prepare({shape});
  session.start_profile();
  const walle::Results results = session.run({x});
  const std::vector<walle_profile_step_t> steps = session.stop_profile();
  expect(!steps.empty() && steps[0].duration_us >= 0, "a profile");
  expect(session.stop_profile().empty(), "no profile");
  expect(session.explain().find("measured") != std::string::npos, "measured steps");
  const std::vector<float> prob = results.values<float>("prob");
  expect(prob.size() == 4 && std::fabs(prob[3] - 2.0f) < 1e-6f && results[0].rank == 2, "results");

  walle_run_options_t named = walle::run_options();
  named.signature = "classify";
  expect(session.run({walle::input("x", {1, 4}, data)}, named).values<float>("y") == prob, "a signature");
  const walle::CancelToken token;
  token.cancel();
  named.cancel = token.get();
  expect(status_of([&] { session.run({walle::input("x", {1, 4}, data)}, named); }) == WALLE_CANCELLED,
         "a token");
  expect(status_of([&] { session.run({walle::input("z", {1, 4}, data)}); }) == WALLE_ARGUMENT,
         "a wrong name");
  try {
    results.values<double>("prob");
    expect(false, "a wrong dtype");
  } catch (const std::invalid_argument&) {
    expect(true, "a wrong dtype");
  }
}

}  // namespace

int main(int argc, char** argv) {
  expect(status_of([] { walle::Model::load("absent.walle"); }) == WALLE_RESOURCE, "no file");
  if (argc > 1) run(argv[1]);
  return failed;
}
