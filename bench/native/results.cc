// Nanoseconds of single result rows, and of a trace that is off.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "base/trace.h"
#include "bench_value.h"
#include "clock.h"
#include "container/device/commits.h"

namespace walle::bench {

namespace {

using container::Commit;
using container::Commits;

// As often as a device's own thread looks.
constexpr py::ssize_t kRowsPerMaintain = 256;
constexpr int64_t kTs = 1'700'000'000'000'000;

// Rows of {item: i64, score: f64, label: text}, each a commit of its own, as of a task that fires.
class ResultAppender {
 public:
  explicit ResultAppender(const std::string& directory)
      : commits_(value(Commits::open(Env::system(), directory))) {
    decl_ = {
        .name = "t.rows",
        .columns = {{"item", ColumnType::integer}, {"score", ColumnType::real}, {"label", ColumnType::text}},
        .max_bytes = int64_t{1} << 30};
    check(commits_->declare(decl_));
    commit_.task = "t";
    commit_.rows.resize(1);
    number_ = commits_->settled("t");
  }

  py::array_t<int64_t> append(const py::array_t<int64_t>& items, const py::array_t<double>& scores,
                              const std::vector<std::string>& labels) {
    const auto item = items.unchecked<1>();
    const auto score = scores.unchecked<1>();
    py::array_t<int64_t> took(items.size());
    auto ns = took.mutable_unchecked<1>();
    store::TableRows& rows = commit_.rows[0];
    for (py::ssize_t i = 0; i < items.size(); ++i) {
      const std::string_view label = labels[static_cast<size_t>(i) % labels.size()];
      const int64_t start = wall_ns();
      const Cell cells[] = {Cell::of(item(i)), Cell::of(score(i)), Cell::of(label)};
      rows.rows = 0;
      rows.bytes.clear();
      check(store::add_row(decl_, kTs + i, cells, rows));
      commit_.number = ++number_;
      check(commits_->commit(commit_).status());
      ns(i) = wall_ns() - start;
      if (i % kRowsPerMaintain == 0) check(commits_->maintain());
    }
    return took;
  }
  void checkpoint() { check(commits_->checkpoint()); }
  int64_t bytes() { return value(commits_->tables().info("t.rows")).bytes; }

 private:
  std::unique_ptr<Commits> commits_;
  store::TableDecl decl_;
  Commit commit_;
  uint64_t number_ = 0;
};

// CPU nanoseconds of one span, and of the loop without it.
py::tuple trace_ns(int64_t count) {
  [[maybe_unused]] volatile int64_t sink = 0;  // what keeps the loops from being left out
  const int64_t start = cpu_ns();
  for (int64_t i = 0; i < count; ++i) sink = i;
  const int64_t middle = cpu_ns();
  for (int64_t i = 0; i < count; ++i) {
    const base::TraceSpan span("bench", i);
    sink = i;
  }
  const int64_t end = cpu_ns();
  const auto each = [&](int64_t ns) { return static_cast<double>(ns) / static_cast<double>(count); };
  return py::make_tuple(each(end - middle), each(middle - start));
}

}  // namespace

void bind_results(py::module_& m) {
  py::class_<ResultAppender>(m, "ResultAppender", "Commits rows to a result table, one at a time.")
      .def(py::init<const std::string&>(), py::arg("directory"))
      .def("append", &ResultAppender::append, py::arg("items"), py::arg("scores"), py::arg("labels"),
           "Wall-clock nanoseconds of each row.")
      .def("checkpoint", &ResultAppender::checkpoint)
      .def("bytes", &ResultAppender::bytes, "Of the table's segments.");
  m.def("trace_ns", trace_ns, py::arg("count"));
}

}  // namespace walle::bench
