// Nanoseconds of checking device headers against a plan.
#include <pybind11/stl.h>

#include "bench_value.h"
#include "clock.h"
#include "link/policy/decide.h"

namespace walle::bench {

namespace {

// CPU nanoseconds of one check - text to answer - on average over the headers, `rounds` times each.
double policy_ns(const py::bytes& plan_bytes, const std::vector<std::string>& headers, int64_t now_s,
                 int rounds) {
  const link::Plan plan = value(link::Plan::read(std::string_view(plan_bytes)));
  size_t current = 0;
  const int64_t start = cpu_ns();
  for (int i = 0; i < rounds; ++i)
    for (const std::string& text : headers) {
      const auto header = link::decode_text(text);
      current += header.ok() && link::up_to_date(plan, *header, now_s) ? 1 : 0;
    }
  const int64_t took = cpu_ns() - start;
  // Read, so that no compiler leaves the loop out.
  if (current > headers.size() * static_cast<size_t>(rounds)) return 0;
  return static_cast<double>(took) / static_cast<double>(headers.size() * static_cast<size_t>(rounds));
}

}  // namespace

void bind_policy(py::module_& m) {
  m.def("policy_ns", policy_ns, py::arg("plan"), py::arg("headers"), py::arg("now_s"), py::arg("rounds"),
        "Mean CPU nanoseconds of one check of a header.");
}

}  // namespace walle::bench
