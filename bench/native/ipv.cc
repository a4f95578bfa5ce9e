// CPU time of the item page view feature and its code.
#include <pybind11/numpy.h>

#include <algorithm>

#include "bench_value.h"
#include "clock.h"
#include "stream/operators/page_events.h"

namespace walle::bench {

namespace {

using namespace walle::stream;

using Floats1 = py::array_t<float, py::array::c_style>;

double ipv_ns(const std::string& directory, uint64_t page_instance, const Floats1& weights,
              const Floats1& bias, int repeat) {
  if (weights.size() != static_cast<py::ssize_t>(kIpvCode * kIpvFloats) ||
      bias.size() != static_cast<py::ssize_t>(kIpvCode))
    throw py::value_error("weights and bias are not those of an IpvEncoder");
  const auto log = value(EventLog::open(Env::system(), directory, {}));
  const PageEvents page = value(PageEvents::read(*log, page_instance));
  const IpvFields fields = ipv_fields(log->catalog());
  std::array<float, kIpvFloats> feature;
  std::array<float, kIpvCode> code;
  const int times = std::max(1, repeat);
  const int64_t start = cpu_ns();
  for (int i = 0; i < times; ++i) {
    ipv_feature(page.events(), log->catalog(), fields, feature);
    ipv_encode(feature, {weights.data(), kIpvCode * kIpvFloats}, {bias.data(), kIpvCode}, code);
  }
  return static_cast<double>(cpu_ns() - start) / times;
}

}  // namespace

void bind_ipv(py::module_& m) {
  m.def("ipv_ns", ipv_ns, py::arg("directory"), py::arg("page_instance"), py::arg("weights"), py::arg("bias"),
        py::arg("repeat"), "Mean CPU nanoseconds of one feature and code.");
}

}  // namespace walle::bench
