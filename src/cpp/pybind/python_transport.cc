#include "pybind/python_transport.h"

#include <atomic>

#include "container/device/in_callback.h"
#include "pybind/python_lock.h"

namespace walle::pybind {

namespace py = pybind11;

namespace {

py::list headers_of(const std::vector<link::HttpHeader>& headers) {
  py::list out;
  for (const link::HttpHeader& header : headers) out.append(py::make_tuple(header.name, header.value));
  return out;
}

// Whose pieces a sink takes; a transport may keep the sink for longer.
struct Wanted {
  const link::BodySink* body;
  Status failed;
};

class PythonTransport final : public link::Transport {
 public:
  explicit PythonTransport(const py::object& object)
      : object_(object.inc_ref().ptr(), drop_reference), name_(py::str(object.attr("name"))) {}

  std::string name() const override { return name_; }

  Result<int> get(const link::HttpGet& request, const link::BodySink& body) override {
    return call(request.url, body, [&](const py::object& sink) {
      return py::handle(object_.get())
          .attr("get")(request.url, request.from, headers_of(request.headers), sink);
    });
  }

  Result<int> post(const link::HttpPost& request, const link::BodySink& body) override {
    return call(request.url, body, [&](const py::object& sink) {
      return py::handle(object_.get())
          .attr("post")(request.url, request.content_type, py::bytes(request.body),
                        headers_of(request.headers), sink);
    });
  }

  void cancel() override {
    const PythonLock lock;
    if (!lock) return;
    try {
      if (py::hasattr(object_.get(), "cancel")) py::handle(object_.get()).attr("cancel")();
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("cancel() of a transport");
    }
  }

 private:
  // Whatever Python raises is an error of the network: a transport has no other reason to.
  template <class Call>
  Result<int> call(const std::string& url, const link::BodySink& body, const Call& ask) {
    const container::InCallback mark;
    const PythonLock lock;
    if (!lock) return cancelled_error("a request", {"'", url, "', of a Python that ends"});
    const auto wanted = std::make_shared<Wanted>(Wanted{.body = &body, .failed = {}});
    try {
      const py::cpp_function sink([wanted](const py::bytes& piece) {
        if (wanted->body == nullptr) throw py::value_error("a piece behind the end of its request");
        wanted->failed = (*wanted->body)(std::string_view(piece));
        if (!wanted->failed.ok()) throw py::value_error("the rest is not wanted");
      });
      const py::object status = ask(sink);
      wanted->body = nullptr;
      if (!wanted->failed.ok()) return wanted->failed.take_error();
      return status.cast<int>();
    } catch (py::error_already_set& error) {
      wanted->body = nullptr;
      if (!wanted->failed.ok()) return wanted->failed.take_error();
      return network_error(error.what(), "a reply", {"'", url, "'"}, "check the address and the network");
    } catch (const py::cast_error&) {
      return network_error("a status that is no int", "the HTTP status of the reply", {"'", url, "'"},
                           "correct the transport that was given");
    }
  }

  std::shared_ptr<PyObject> object_;
  std::string name_;
};

}  // namespace

std::unique_ptr<link::Transport> python_transport(const py::object& object) {
  return std::make_unique<PythonTransport>(object);
}

}  // namespace walle::pybind
