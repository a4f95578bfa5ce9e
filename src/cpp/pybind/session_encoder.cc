#include "pybind/session_encoder.h"

#include "container/host/encode_rows.h"
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
    WALLE_ASSIGN(std::vector<ir::RuntimeValue> inputs, container::encoder_inputs(in, rows));
    WALLE_ASSIGN(const auto results, session_.run(std::move(inputs)));
    return container::take_codes(results, out);
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
