// The item page view feature of a recorded page, and its code. Fixed sizes: the feature is laid out by the
// catalogue of page events (stream/operators/page_events.h), and a model was trained on that layout.
#include <pybind11/numpy.h>

#include "pybind/stream.h"
#include "stream/operators/page_events.h"

namespace walle::pybind {

using namespace walle::stream;

namespace {

using GivenFloats = py::array_t<float, py::array::c_style>;

py::array_t<float> feature_of(const EventLog& log, const PageEvents& page) {
  py::array_t<float> feature(static_cast<py::ssize_t>(kIpvFloats));
  ipv_feature(page.events(), log.catalog(), ipv_fields(log.catalog()),
              std::span<float, kIpvFloats>(feature.mutable_data(), kIpvFloats));
  return feature;
}

py::array_t<float> feature_alone(EventLog& log, uint64_t page_instance) {
  return feature_of(log, unwrap(PageEvents::read(log, page_instance)));
}

py::tuple feature_and_code(EventLog& log, uint64_t page_instance, const GivenFloats& weights,
                           const GivenFloats& bias) {
  if (weights.size() != static_cast<py::ssize_t>(kIpvCode * kIpvFloats) ||
      bias.size() != static_cast<py::ssize_t>(kIpvCode))
    throw CoreError(argument_error({"weights of ", weights.size(), " floats"},
                                   {kIpvCode, " x ", kIpvFloats, " weights and ", kIpvCode, " biases"}, "ipv",
                                   "check the encoder's shape"));
  const PageEvents page = unwrap(PageEvents::read(log, page_instance));
  const py::array_t<float> feature = feature_of(log, page);
  py::array_t<float> code(static_cast<py::ssize_t>(kIpvCode));
  ipv_encode(std::span<const float, kIpvFloats>(feature.data(), kIpvFloats),
             {weights.data(), kIpvCode * kIpvFloats}, {bias.data(), kIpvCode},
             std::span<float, kIpvCode>(code.mutable_data(), kIpvCode));
  return py::make_tuple(feature, code, page.events().size());
}

}  // namespace

void bind_stream_ipv(py::module_& m) {
  m.attr("IPV_FLOATS") = kIpvFloats;
  m.attr("IPV_CODE") = kIpvCode;
  m.def("ipv_feature", feature_alone, py::arg("log"), py::arg("page_instance"));
  m.def("ipv", feature_and_code, py::arg("log"), py::arg("page_instance"), py::arg("weights"),
        py::arg("bias"), "(feature, code, number of events).");
}

}  // namespace walle::pybind
