// A model's session as the encoder of a stream operator: here alone engine and stream processor meet, because
// rooms of one floor do not know each other.
#include <cstring>

#include "pybind/python_lock.h"
#include "pybind/session.h"
#include "pybind/stream.h"
#include "stream/operators/operators.h"

namespace walle::pybind {

using namespace walle::stream;

namespace {

// The model's first input and output: rows of floats in, rows of floats out.
class SessionEncoder final : public Encoder {
 public:
  explicit SessionEncoder(py::object session)
      : session_(session.cast<NativeSession&>().native()), owner_(session.release().ptr()) {}
  ~SessionEncoder() override { drop_reference(owner_); }  // on any thread
  SessionEncoder(const SessionEncoder&) = delete;
  SessionEncoder& operator=(const SessionEncoder&) = delete;

  Status run(std::span<const float> in, size_t rows, Floats& out) override {
    const auto width = static_cast<int64_t>(in.size() / rows);  // the operator never asks for zero rows
    std::vector<ir::RuntimeValue> inputs;
    WALLE_ASSIGN(Tensor given, Tensor::from(Shape{static_cast<int64_t>(rows), width}, in));
    inputs.emplace_back(std::move(given));
    WALLE_ASSIGN(const auto results, session_.run(std::move(inputs)));
    const Tensor* made = results.empty() ? nullptr : results[0].tensor();
    if (made == nullptr || made->dtype() != DType::float32)
      return argument_error("a model whose first output is no float32 tensor",
                            "one float32 input [N, width] and output [N, codes]", "encode",
                            "choose another model");
    const std::span<const float> codes = made->as<float>();
    out.assign(codes.begin(), codes.end());
    return {};
  }

 private:
  runtime::Session& session_;
  PyObject* owner_;  // keeps session_ alive; no py::object, whose destructor would need Python's lock
};

}  // namespace

void bind_stream_encode(py::module_& m) {
  m.def(
      "make_encode",
      [](const std::vector<std::string>& columns, const std::string& out, const py::object& session) {
        return unwrap(make_encode(columns, out, std::make_shared<SessionEncoder>(session)));
      },
      py::arg("columns"), py::arg("out"), py::arg("session"));
}

}  // namespace walle::pybind
