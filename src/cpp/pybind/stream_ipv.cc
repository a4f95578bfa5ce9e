// The item page view feature of a recorded page.
#include <pybind11/numpy.h>

#include <ctime>

#include "pybind/stream.h"
#include "stream/operators/ipv.h"

namespace py = pybind11;

namespace walle::pybind {

using namespace walle::stream;

namespace {

// The events of one page instance, with what their contents borrow.
struct Page {
  Page(EventLog& log, uint64_t instance) {
    const Catalog& c = log.catalog();
    const auto position = [&](EventKind kind, const char* field) {
      const auto id = c.find_field(field);
      return id ? c.field_position(static_cast<uint16_t>(kind), *id) : -1;
    };
    fields = {position(EventKind::page_scroll, "depth"), position(EventKind::exposure, "item"),
              position(EventKind::click, "item")};
    unwrap(log.read(instance, [&](const Event& e) {
      if (e.page_instance != instance) return true;
      kept.emplace_back(e.contents.begin(), e.contents.end());
      for (Value& v : kept.back())
        if (v.present && v.type == FieldType::text) v.text = texts.emplace_back(v.text);
      events.push_back(e);
      events.back().contents = kept.back();
      return c.events()[e.event].kind != EventKind::page_exit;
    }));
  }

  IpvFields fields;
  std::vector<Event> events;
  std::deque<std::vector<Value>> kept;
  std::deque<std::string> texts;
};

py::array_t<float> floats(size_t n) { return py::array_t<float>(static_cast<py::ssize_t>(n)); }

py::tuple feature_alone(EventLog& log, uint64_t instance) {
  const Page page(log, instance);
  auto feature = floats(kIpvFloats);
  ipv_feature(page.events, log.catalog(), page.fields,
              std::span<float, kIpvFloats>(feature.mutable_data(), kIpvFloats));
  return py::make_tuple(feature, page.events.size());
}

// (feature, code, events, ns of one feature and code)
py::tuple feature_and_code(EventLog& log, uint64_t instance,
                           const py::array_t<float, py::array::c_style>& weights,
                           const py::array_t<float, py::array::c_style>& bias, int repeat) {
  if (weights.size() != static_cast<py::ssize_t>(kIpvCode * kIpvFloats) ||
      bias.size() != static_cast<py::ssize_t>(kIpvCode))
    throw CoreError(argument_error("weights of " + std::to_string(weights.size()) + " floats",
                                   "32 x 332 weights and 32 biases", "ipv", "check the encoder's shape"));
  const Page page(log, instance);
  auto feature = floats(kIpvFloats), code = floats(kIpvCode);
  const std::span<float, kIpvFloats> f(feature.mutable_data(), kIpvFloats);
  const std::span<float, kIpvCode> o(code.mutable_data(), kIpvCode);
  timespec a, b;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
  for (int i = 0; i < std::max(1, repeat); ++i) {
    ipv_feature(page.events, log.catalog(), page.fields, f);
    ipv_encode(f, {weights.data(), kIpvCode * kIpvFloats}, {bias.data(), kIpvCode}, o);
  }
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
  const double ns = static_cast<double>((b.tv_sec - a.tv_sec) * 1'000'000'000 + b.tv_nsec - a.tv_nsec) /
                    std::max(1, repeat);
  return py::make_tuple(feature, code, page.events.size(), ns);
}

}  // namespace

void bind_stream_ipv(py::module_& m) {
  m.attr("IPV_FLOATS") = kIpvFloats;
  m.attr("IPV_CODE") = kIpvCode;
  m.def("ipv_feature", feature_alone);
  m.def("ipv", feature_and_code);
}

}  // namespace walle::pybind
