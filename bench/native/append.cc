// Nanoseconds of single appends to an event log.
#include <pybind11/numpy.h>

#include "bench_value.h"
#include "clock.h"
#include "stream/event/event_log.h"

namespace walle::bench {

namespace {

using stream::Event;
using stream::EventLog;

// As often as an application that follows the log's advice calls it.
constexpr py::ssize_t kEventsPerMaintain = 64;

// Appends the newest event of the log again and again.
class Appender {
 public:
  Appender(const std::string& directory, size_t journal_bytes, const py::bytes& key)
      : log_(value(EventLog::open(Env::system(), directory, {},
                                  {.journal_bytes = journal_bytes, .key = std::string(key)}))) {
    check(log_->read(log_->last_seq(), [&](const Event& event) {
      contents_.assign(event.contents.begin(), event.contents.end());
      for (stream::Value& v : contents_)
        if (v.type == ColumnType::text) v.text = texts_.emplace_back(v.text);
      event_ = event;
      event_.contents = contents_;
      return true;
    }));
  }

  py::array_t<int64_t> append(py::ssize_t count, bool durable) {
    py::array_t<int64_t> took(count);
    auto ns = took.mutable_unchecked<1>();
    for (py::ssize_t i = 0; i < count; ++i) {
      const int64_t start = wall_ns();
      check(log_->append(event_, durable).status());
      ns(i) = wall_ns() - start;
      if (i % kEventsPerMaintain == 0) check(log_->maintain());
    }
    return took;
  }

 private:
  std::unique_ptr<EventLog> log_;
  Event event_;
  std::vector<stream::Value> contents_;
  std::deque<std::string> texts_;
};

}  // namespace

void bind_append(py::module_& m) {
  py::class_<Appender>(m, "Appender", "Appends the newest event of an event log again and again.")
      .def(py::init<const std::string&, size_t, const py::bytes&>(), py::arg("directory"),
           py::arg("journal_bytes"), py::arg("key") = py::bytes())
      .def("append", &Appender::append, py::arg("count"), py::arg("durable") = false,
           "Wall-clock nanoseconds of each append.");
}

}  // namespace walle::bench
