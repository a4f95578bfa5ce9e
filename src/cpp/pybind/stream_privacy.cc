// Local differential privacy: noise, and the durable account of the epsilon spent.
#include "pybind/stream.h"
#include "stream/event/event_log.h"
#include "stream/operators/privacy.h"

namespace walle::pybind {

using namespace walle::stream;

namespace {

// A seed is for tests: whoever knows it can take the noise off again. Without one the
// system's entropy is used.
using Seed = std::optional<uint64_t>;

double spend(EventLog& log, const std::string& account, double limit, double epsilon) {
  unwrap(log.check_process());
  PrivacyAccount privacy(log.log_state(), account, limit);
  unwrap(privacy.spend(epsilon));
  return unwrap(privacy.spent());
}

double laplace(const std::vector<double>& values, double low, double high, double epsilon, double resolution,
               Seed seed) {
  std::mt19937_64 random = noise_source(seed);
  return unwrap(laplace_sum(values, low, high, epsilon, resolution, random));
}

double gaussian(const std::vector<double>& values, double low, double high, double epsilon, double delta,
                double resolution, Seed seed) {
  std::mt19937_64 random = noise_source(seed);
  return unwrap(gaussian_sum(values, low, high, epsilon, delta, resolution, random));
}

std::vector<int64_t> gaussian_samples(double sigma, size_t count, Seed seed) {
  std::mt19937_64 random = noise_source(seed);
  std::vector<int64_t> out(count);
  for (int64_t& sample : out) sample = unwrap(discrete_gaussian(sigma, random));
  return out;
}

std::vector<int> responses(const std::vector<int>& truths, int categories, double epsilon, Seed seed) {
  std::mt19937_64 random = noise_source(seed);
  std::vector<int> out;
  out.reserve(truths.size());
  for (const int truth : truths)
    out.push_back(unwrap(randomised_response(truth, categories, epsilon, random)));
  return out;
}

}  // namespace

void bind_stream_privacy(py::module_& m) {
  m.def(
      "spent_epsilon",
      [](EventLog& log, const std::string& account) {
        unwrap(log.check_process());
        // The limit counts when something is spent; asking needs none.
        return unwrap(PrivacyAccount(log.log_state(), account, 0).spent());
      },
      py::arg("log"), py::arg("account"));
  m.def("spend_epsilon", spend, py::arg("log"), py::arg("account"), py::arg("limit"), py::arg("epsilon"));
  m.def("laplace_sum", laplace, py::arg("values"), py::arg("low"), py::arg("high"), py::kw_only(),
        py::arg("epsilon"), py::arg("resolution"), py::arg("seed"));
  m.def("gaussian_sum", gaussian, py::arg("values"), py::arg("low"), py::arg("high"), py::kw_only(),
        py::arg("epsilon"), py::arg("delta"), py::arg("resolution"), py::arg("seed"));
  m.def("discrete_gaussian", gaussian_samples, py::arg("sigma"), py::arg("count"), py::arg("seed"));
  m.def("randomised_response", responses, py::arg("truths"), py::arg("categories"), py::arg("epsilon"),
        py::arg("seed"));
}

}  // namespace walle::pybind
