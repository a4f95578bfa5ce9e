// A device measured from inside: when a task's first line runs, how long a phase takes, what a load needs.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "bench_value.h"
#include "clock.h"
#include "container/device/device_core.h"
#include "ir/walle_file.h"
#include "runtime/session.h"

namespace walle::bench {

namespace {

constexpr int64_t kPatienceUs = 600'000'000;

py::array_t<int64_t> array_of(const std::vector<int64_t>& values) {
  return py::array_t<int64_t>(static_cast<py::ssize_t>(values.size()), values.data());
}

// Records the event `tap` with one field, `item`. A task's first line is the one that logs.
class BenchDevice {
 public:
  BenchDevice(const std::string& directory, const std::string& vm_library, uint32_t workers) {
    container::DeviceOptions options;
    options.vm_library = vm_library;
    options.workers = workers;
    options.ready_isolates = 4;
    options.hot_tasks = 256;
    stream::EventDecl tap{.name = "tap", .kind = stream::EventKind::custom, .fields = {}};
    tap.fields.push_back({.name = "item", .type = ColumnType::integer});
    event_ = value(options.catalog.declare(tap));
    options.log = [this](std::string_view, base::LogLevel, std::string_view) {
      const int64_t now = wall_ns();
      const std::lock_guard lock(lock_);
      lines_.push_back(now);
    };
    const py::gil_scoped_release release;
    device_ = value(container::DeviceCore::open(Env::system(), directory, std::move(options)));
    device_->on_result([this](const container::TaskResult& result) {
      const std::lock_guard lock(lock_);
      results_[result.task].push_back(wall_ns());
      execute_us_ += result.times.execute;
      if (result.error) error_ = result.error->text();
    });
  }
  ~BenchDevice() {
    const py::gil_scoped_release release;
    device_.reset();
  }

  void install(const py::bytes& bundle) {
    std::string bytes = bundle;
    const py::gil_scoped_release release;
    value(device_->install(std::move(bytes)));
  }

  void remove(const std::string& task) {
    const py::gil_scoped_release release;
    check(device_->remove(task));
  }

  // Nanoseconds of each record(), one after another.
  py::array_t<int64_t> record(py::ssize_t count) {
    std::vector<int64_t> took;
    took.reserve(static_cast<size_t>(count));
    {
      const py::gil_scoped_release release;
      for (py::ssize_t i = 0; i < count; ++i) {
        const int64_t start = wall_ns();
        tap(i);
        took.push_back(wall_ns() - start);
      }
    }
    return array_of(took);
  }

  // From before each record() to the first line of the task that logs; `gap_us` of quiet between.
  py::array_t<int64_t> first_lines(py::ssize_t count, int64_t gap_us, bool settle) {
    std::vector<int64_t> took;
    {
      const py::gil_scoped_release release;
      for (py::ssize_t i = 0; i < count; ++i) {
        const size_t before = lines();
        const int64_t start = wall_ns();
        tap(i);
        if (settle) device_->wait_idle(kPatienceUs);
        while (lines() == before) std::this_thread::sleep_for(std::chrono::microseconds(50));
        {
          const std::lock_guard lock(lock_);
          took.push_back(lines_[before] - start);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(gap_us));
      }
    }
    return array_of(took);
  }

  // Seconds from the first of `count` events to the last task's end.
  double drain(py::ssize_t count) {
    const py::gil_scoped_release release;
    const int64_t start = wall_ns();
    for (py::ssize_t i = 0; i < count; ++i) tap(i);
    device_->wait_idle(kPatienceUs);
    return static_cast<double>(wall_ns() - start) * 1e-9;
  }

  // One event now; the nanoseconds at which its task's result came are in ends().
  int64_t tap_at(int64_t item) {
    const py::gil_scoped_release release;
    const int64_t start = wall_ns();
    tap(item);
    return start;
  }
  void wait_idle() {
    const py::gil_scoped_release release;
    device_->wait_idle(kPatienceUs);
  }
  std::map<std::string, std::vector<int64_t>> ends() {
    const std::lock_guard lock(lock_);
    return results_;
  }
  std::map<std::string, int64_t> counts() {
    const container::DeviceStats stats = device_->stats();
    return {{"firings", stats.firings}, {"failures", stats.failures}, {"lost_workers", stats.lost_workers}};
  }
  std::string error() {
    const std::lock_guard lock(lock_);
    return error_;
  }
  // Of all firings since the last call, us.
  int64_t execute_us() {
    const std::lock_guard lock(lock_);
    return std::exchange(execute_us_, 0);
  }

 private:
  void tap(int64_t item) {
    const stream::Value contents[] = {stream::Value::of(item)};
    stream::Event event;
    event.event = event_;
    event.ts = Env::system().wall_us();
    event.contents = contents;
    check(device_->record(event).status());
  }
  size_t lines() {
    const std::lock_guard lock(lock_);
    return lines_.size();
  }

  uint16_t event_ = 0;
  std::mutex lock_;
  std::vector<int64_t> lines_;
  std::map<std::string, std::vector<int64_t>> results_;
  int64_t execute_us_ = 0;
  std::string error_;
  std::shared_ptr<container::DeviceCore> device_;  // first to go: its workers use all of the above
};

// Mean wall-clock microseconds of Session.run on zeros.
double session_us(const py::bytes& model, py::ssize_t count) {
  const std::string bytes = model;
  const py::gil_scoped_release release;
  Buffer aligned = value(Buffer::allocate(bytes.size()));
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  auto made = value(runtime::Model::create(value(ir::parse_walle(aligned, "bench", ir::Check::graph))));
  auto session = value(made->session({}));
  const ir::Graph& graph = made->graph();
  runtime::Session::Values inputs;
  for (const ir::ValueId id : graph.inputs) {
    std::vector<int64_t> shape;
    for (const ir::Dim& dim : *graph.at(id).shape) shape.push_back(dim.size);
    inputs.emplace_back(value(Tensor::zeros(graph.at(id).dtype, Shape(shape))));
  }
  for (int i = 0; i < 20; ++i) check(session->run(inputs).status());
  const int64_t start = wall_ns();
  for (py::ssize_t i = 0; i < count; ++i) check(session->run(inputs).status());
  return static_cast<double>(wall_ns() - start) * 1e-3 / static_cast<double>(count);
}

}  // namespace

void bind_device(py::module_& m) {
  py::class_<BenchDevice>(m, "Device", "A device that records taps.")
      .def(py::init<const std::string&, const std::string&, uint32_t>(), py::arg("directory"),
           py::arg("vm_library"), py::arg("workers"))
      .def("install", &BenchDevice::install)
      .def("remove", &BenchDevice::remove)
      .def("record", &BenchDevice::record, "Wall-clock nanoseconds of each record().")
      .def("first_lines", &BenchDevice::first_lines, py::arg("count"), py::arg("gap_us"),
           py::arg("settle") = true,
           "Wall-clock nanoseconds from before record() to the first line that a task logs.")
      .def("drain", &BenchDevice::drain, "Seconds from the first event to the last result.")
      .def("tap", &BenchDevice::tap_at, py::arg("item"),
           "Records one event; the clock's nanoseconds before it.")
      .def("wait_idle", &BenchDevice::wait_idle)
      .def("ends", &BenchDevice::ends, "By task, the clock's nanoseconds when each result came.")
      .def("counts", &BenchDevice::counts)
      .def("error", &BenchDevice::error, "The newest error of a task.")
      .def("execute_us", &BenchDevice::execute_us, "Time of execute phases since the last call.");
  m.def("session_us", &session_us, py::arg("model"), py::arg("count"),
        "Mean wall-clock microseconds of Session.run on zeros.");
}

}  // namespace walle::bench
