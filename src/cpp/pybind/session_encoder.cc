#include "pybind/session_encoder.h"

#include "pybind/python_lock.h"
#include "pybind/session.h"

namespace walle::pybind {

using namespace walle::stream;

namespace {

// The model's first input and output: rows of floats in, rows of floats out.
class SessionEncoder final : public Encoder {
 public:
  explicit SessionEncoder(pybind11::object session)
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

std::shared_ptr<Encoder> session_encoder(pybind11::object session) {
  return std::make_shared<SessionEncoder>(std::move(session));
}

}  // namespace walle::pybind
