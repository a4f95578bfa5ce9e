// A warm call is so short that what carries it counts: it crosses here without pybind11's dispatcher, and
// numbers, text and bytes without a Value.
//
// What every call goes through is marked hot, here and in the files it calls: the linker puts such functions
// side by side. Spread over a library of 14 MB each lay on a page of its own.
#include <array>

#include "pybind/errors.h"
#include "pybind/python_lock.h"
#include "pybind/signals.h"
#include "pybind/vm_values.h"
#include "vm/fork.h"
#include "vm/isolate.h"

namespace walle::pybind {

namespace {

using vm::Isolate;

// On the stack; a call of more arguments takes the way through Values, which allocates.
constexpr size_t kFew = 6;

// What a call left behind, for as long as this lives.
class Answer {
 public:
  explicit Answer(Isolate& isolate) : isolate_(isolate) {}
  ~Answer() { isolate_.release(result); }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  wvm_result result;  // the call fills it in

 private:
  Isolate& isolate_;
};

// Reads what can cross without a Value. Text and bytes are borrowed from the object, which is safe for
// arguments alone: they live as long as the call, while a list may lose its items to another thread. The
// members give false for everything else.
struct PlainReader {
  wvm_value& out;

  bool none() { return set(WVM_NONE); }
  bool boolean(bool v) { return integer_as(WVM_BOOL, v); }
  bool integer(int64_t v) { return integer_as(WVM_INT, v); }
  bool real(double v) {
    out.as.real = v;
    return set(WVM_FLOAT);
  }
  bool text(std::string_view v) { return text_as(WVM_STR, v); }
  bool bytes(PyObject* object) {
    const Py_ssize_t size = PyBytes_GET_SIZE(object);
    return size < kLargeBytes && text_as(WVM_BYTES, {PyBytes_AS_STRING(object), static_cast<size_t>(size)});
  }
  bool sequence(PyObject*) { return false; }
  bool dict(PyObject*) { return false; }
  bool array(PyObject*) { return false; }

 private:
  bool set(wvm_kind kind) {
    out.kind = kind;
    return true;
  }
  bool integer_as(wvm_kind kind, int64_t v) {
    out.as.integer = v;
    return set(kind);
  }
  bool text_as(wvm_kind kind, std::string_view v) {
    out.as.text = v.data();
    out.size = v.size();
    return set(kind);
  }
};

// Apart, like call_long: their frames are large, and there is much to destroy in them.
[[gnu::noinline]] PyObject* long_answer(const Isolate& isolate, const wvm_result& result) {
  if (!result.ok) return finish(isolate.outcome_of(result)).release().ptr();
  PythonBuilder builder;
  return vm::visit(result.value, builder).release().ptr();
}

// Numbers, which most results of calls that repeat are, without the builder.
PyObject* answer_of(const Isolate& isolate, const wvm_result& result) {
  if (result.ok && result.value.kind == WVM_INT) return PyLong_FromLongLong(result.value.as.integer);
  if (result.ok && result.value.kind == WVM_FLOAT) return PyFloat_FromDouble(result.value.as.real);
  return long_answer(isolate, result);
}

[[gnu::noinline]] PyObject* call_long(Isolate& isolate, const char* module, const char* function,
                                      PyObject* const* args, size_t count) {
  std::vector<vm::Value> values;
  values.reserve(count);
  for (size_t i = 0; i < count; ++i) values.push_back(value_of(args[i]));
  vm::Outcome outcome;
  Signals signals;
  {
    const PythonUnlocked unlocked;
    outcome = isolate.invoke(module, function, values, signals.attention(unlocked));
  }
  signals.rethrow();
  return finish(outcome).release().ptr();
}

[[gnu::noinline]] void refuse_call() { unwrap(vm::refuse_forked_child("Isolate.call")); }

[[gnu::always_inline]] inline PyObject* call(Isolate& isolate, const char* module, const char* function,
                                             PyObject* const* args, size_t count) {
  // Not unwrap(refuse_forked_child()) as elsewhere: making a Status that holds nothing takes 10 ns.
  if (vm::is_forked_child()) [[unlikely]]
    refuse_call();
  std::array<wvm_value, kFew> plain;
  bool all = count <= kFew;
  for (size_t i = 0; all && i < count; ++i) {
    PlainReader reader{plain[i]};
    all = read_python(args[i], reader);
  }
  if (!all) return call_long(isolate, module, function, args, count);
  Answer answer(isolate);
  Signals signals;
  {
    const PythonUnlocked unlocked;
    isolate.invoke_plain(module, function, {plain.data(), count}, answer.result, signals.attention(unlocked));
  }
  signals.rethrow();
  return answer_of(isolate, answer.result);
}

void* held_by(py::detail::instance* object) {
  return object->simple_layout ? object->simple_value_holder[0] : object->get_value_and_holder().value_ptr();
}

[[gnu::always_inline]] inline PyObject* call_isolate(PyObject* self, const char* module, PyObject* name,
                                                     PyObject* const* args, Py_ssize_t count) {
  try {
    auto* isolate = static_cast<Isolate*>(held_by(reinterpret_cast<py::detail::instance*>(self)));
    if (isolate == nullptr) throw py::type_error("an Isolate that create() did not make");
    const char* function = module != nullptr ? PyUnicode_AsUTF8(name) : nullptr;
    if (function == nullptr) return nullptr;
    return call(*isolate, module, function, args, static_cast<size_t>(count));
  } catch (py::error_already_set& error) {
    error.restore();
#ifdef __GLIBCXX__
  } catch (abi::__forced_unwind&) {
    throw;  // Python ends this thread, which was converting an argument
#endif
  } catch (...) {
    py::detail::try_translate_exceptions();
  }
  return nullptr;
}

// What walle_rt.vm.Isolate.call is; a Python function around it took longer than the call.
[[gnu::hot]] PyObject* call_by_name(PyObject* self, PyObject* const* args, Py_ssize_t count,
                                    PyObject* names) {
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  const bool known = named == 0 || (named == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0),
                                                                                   "module") == 0);
  if (count < 1 || !known) {
    PyErr_SetString(PyExc_TypeError, "expected call(function, *args, module='main')");
    return nullptr;
  }
  return call_isolate(self, named == 0 ? "main" : PyUnicode_AsUTF8(args[count]), args[0], args + 1,
                      count - 1);
}

template <class Function>
PyCFunction as_method(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function));
}

PyMethodDef call_definition = {"call", as_method(call_by_name), METH_FASTCALL | METH_KEYWORDS,
                               "call(function, *args, module='main')"};

}  // namespace

py::object call_method(const py::object& isolate_class) {
  return py::reinterpret_steal<py::object>(
      PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(isolate_class.ptr()), &call_definition));
}

}  // namespace walle::pybind
