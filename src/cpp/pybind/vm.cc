// The Python VM: isolates, pools and bundles. Values become Values and back; arrays and memoryviews cross as tensors that
// share their memory.
#include <pybind11/stl.h>

#include <array>

#include "pybind/arrays.h"
#include "pybind/errors.h"
#include "vm/host_calls.h"
#include "vm/pool.h"
#include "vm/reaper.h"

namespace walle::pybind {

namespace {

using vm::Bundle;
using vm::Isolate;
using vm::Limits;
using vm::Outcome;
using vm::Pool;
using vm::TaskContext;
using vm::Value;
using vm::Vm;

constexpr int kMaxDepth = 64;
// Bytes from this size on cross by reference: below it, counting references costs more than copying.
constexpr py::ssize_t kLargeBytes = 64 << 10;

[[noreturn]] void refuse(const std::string& given, const std::string& expected) {
  throw CoreError(argument_error(given, expected, "a task's argument", "convert it first"));
}

Value from_python(py::handle object, int depth);

Value sequence_from(py::handle object, int depth) {
  vm::List list;
  for (const py::handle item : object) list.push_back(from_python(item, depth + 1));
  return list;
}

Value map_from(py::handle object, int depth) {
  vm::Map map;
  for (const auto& [key, item] : py::reinterpret_borrow<py::dict>(object)) {
    if (!PyUnicode_Check(key.ptr())) refuse("a map key of type " + std::string(Py_TYPE(key.ptr())->tp_name), "str keys");
    map.emplace_back(key.cast<std::string>(), from_python(item, depth + 1));
  }
  return map;
}

Value array_from(py::handle object) {
  const py::array array = as_array(object, "a task's argument");
  const DType dtype = dtype_of(array);
  if (dtype == DType::undefined) refuse("an array of dtype " + py::str(array.dtype()).cast<std::string>(), "a numeric array");
  return borrow(array, dtype, shape_of(array, dtype, "a task's argument"), array.writeable());
}

Value bytes_from(py::handle object) {
  PyObject* p = object.ptr();
  if (PyBytes_GET_SIZE(p) < kLargeBytes) return vm::Bytes{object.cast<std::string>()};
  Py_INCREF(p);
  auto release = [p] {
    if (!Py_IsInitialized()) return;  // the interpreter is gone and took the object with it
    const py::gil_scoped_acquire gil;
    Py_DECREF(p);
  };
  return Buffer::wrap(PyBytes_AS_STRING(p), static_cast<size_t>(PyBytes_GET_SIZE(p)), std::move(release), false);
}

Value from_python(py::handle object, int depth) {
  PyObject* p = object.ptr();
  if (depth > kMaxDepth) refuse("a value nested deeper than 64 levels", "a flatter value");
  if (object.is_none()) return {};
  if (PyBool_Check(p)) return p == Py_True;
  if (PyLong_CheckExact(p)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(p, &overflow);
    if (overflow != 0) refuse("an integer beyond 64 bits", "an integer of at most 64 bits");
    return static_cast<int64_t>(number);
  }
  if (PyFloat_CheckExact(p)) return PyFloat_AS_DOUBLE(p);
  if (PyUnicode_Check(p)) return object.cast<std::string>();
  if (PyBytes_Check(p)) return bytes_from(object);
  if (PyList_Check(p) || PyTuple_Check(p)) return sequence_from(object, depth);
  if (PyDict_Check(p)) return map_from(object, depth);
  return array_from(object);
}

// Memory that was read-only on its way in is read-only on its way out.
py::array array_to(const Tensor& tensor) {
  py::array array = to_array(tensor);
  if (!tensor.buffer().writable()) array.attr("setflags")(py::arg("write") = false);
  return array;
}

py::object buffer_to(const Buffer& buffer) {
  const int64_t size = static_cast<int64_t>(buffer.size());
  return py::memoryview(array_to(Tensor(DType::uint8, Shape(std::span(&size, 1)), buffer)));
}

py::object to_python(const Value& value) {
  if (value.is_none()) return py::none();
  if (const auto* v = value.get<bool>()) return py::bool_(*v);
  if (const auto* v = value.get<int64_t>()) return py::int_(*v);
  if (const auto* v = value.get<double>()) return py::float_(*v);
  if (const auto* v = value.get<std::string>()) return py::str(*v);
  if (const auto* v = value.get<vm::Bytes>()) return py::bytes(v->data);
  if (const auto* v = value.get<Tensor>()) return array_to(*v);
  if (const auto* v = value.get<Buffer>()) return buffer_to(*v);
  if (const auto* v = value.get<vm::List>()) {
    py::list list;
    for (const Value& item : *v) list.append(to_python(item));
    return list;
  }
  py::dict dict;
  for (const auto& [key, item] : *value.get<vm::Map>()) dict[py::str(key)] = to_python(item);
  return dict;
}

// What vm/__init__.py makes an exception of.
py::tuple failure_tuple(const vm::Failure& failure) {
  py::list frames;
  for (const vm::Frame& frame : failure.traceback) frames.append(py::make_tuple(frame.file, frame.line, frame.function));
  return py::make_tuple(failure.type, failure.message, std::string(vm::reason_name(failure.reason)), frames);
}

py::object finish(const Outcome& outcome) {
  if (outcome.ok()) return to_python(outcome.value);
  return py::module_::import("walle_rt.vm").attr("_raise_failure")(failure_tuple(*outcome.failure));
}

std::vector<Value> arguments(const py::args& args) {
  std::vector<Value> values;
  values.reserve(args.size());
  for (const py::handle item : args) values.push_back(from_python(item, 0));
  return values;
}

// The callback may be dropped on any thread, with or without the interpreter.
std::function<void(base::LogLevel, std::string_view)> log_to(const py::object& callback) {
  if (callback.is_none()) return {};
  std::shared_ptr<py::object> held(new py::object(callback), [](py::object* object) {
    const py::gil_scoped_acquire gil;
    delete object;
  });
  return [held](base::LogLevel level, std::string_view line) {
    const py::gil_scoped_acquire gil;
    try {
      (*held)(static_cast<int>(level), py::str(line.data(), line.size()));
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("walle_rt.vm log callback");
    }
  };
}

TaskContext context_of(const py::object& log, const std::optional<std::string>& state, const Limits& limits) {
  TaskContext context;
  context.log = log_to(log);
  if (state) context.kv = unwrap(vm::TaskState::open(*state, limits.state_bytes ? limits.state_bytes : vm::TaskState::kDefaultQuota));
  return context;
}

using Names = std::optional<std::vector<std::string>>;

Limits limits_of(uint64_t heap_bytes, uint32_t wall_ms, uint32_t cpu_ms, uint32_t depth, uint32_t stack_bytes, uint64_t state_bytes,
                 Names imports, Names host_calls) {
  Limits limits;
  limits.heap_bytes = heap_bytes;
  limits.wall_ms = wall_ms;
  limits.cpu_ms = cpu_ms;
  limits.python_depth = depth;
  limits.stack_bytes = stack_bytes;
  limits.state_bytes = state_bytes;
  limits.imports = std::move(imports);
  limits.host_calls = std::move(host_calls);
  return limits;
}

template <class Run>
auto without_gil(Run run) {
  const py::gil_scoped_release release;
  return run();
}

void bind_vm_class(py::module_& m) {
  py::class_<Vm, std::shared_ptr<Vm>>(m, "Vm")
      .def_static("open",
                  [](const std::string& path) { return std::const_pointer_cast<Vm>(unwrap(without_gil([&] { return Vm::open(path); }))); })
      .def_property_readonly("id", &Vm::id)
      .def_property_readonly("flavour", &Vm::flavour)
      .def_property_readonly("python", &Vm::python)
      .def_property_readonly("library", &Vm::library)
      .def("compile", [](const Vm& self, const std::vector<std::tuple<std::string, std::string, std::string, bool>>& sources) {
        std::vector<vm::Source> plain;
        for (const auto& [name, file, text, package] : sources) plain.push_back({name, file, text, package});
        return py::bytes(unwrap(without_gil([&] { return self.compile(plain); })));
      });
  py::class_<Bundle, std::shared_ptr<Bundle>>(m, "Bundle", py::release_gil_before_calling_cpp_dtor())
      .def_static("open",
                  [](const std::shared_ptr<Vm>& vm, const py::bytes& data) {
                    std::string bytes = data;
                    return std::const_pointer_cast<Bundle>(unwrap(without_gil([&] { return Bundle::open(vm, std::move(bytes)); })));
                  })
      .def_static("load",
                  [](const std::shared_ptr<Vm>& vm, const std::string& path) {
                    return std::const_pointer_cast<Bundle>(unwrap(without_gil([&] { return Bundle::load(vm, path); })));
                  })
      .def_static("pack",
                  [](const std::string& code, const std::vector<std::pair<std::string, py::bytes>>& resources) {
                    std::vector<std::pair<std::string, std::string_view>> parts;
                    for (const auto& [name, bytes] : resources) parts.emplace_back(name, std::string_view(bytes));
                    return py::bytes(unwrap(vm::write_task_file(code, std::move(parts))));
                  })
      .def_property_readonly(
          "data", [](const Bundle& self) { return py::bytes(reinterpret_cast<const char*>(self.bytes().data()), self.bytes().size()); })
      .def_property_readonly("resources",
                             [](const Bundle& self) {
                               py::dict sizes;
                               for (const vm::Resource& resource : self.resources()) sizes[py::str(resource.name)] = resource.bytes.size();
                               return sizes;
                             })
      .def_property_readonly("modules", &Bundle::modules);
}

// Isolate.call takes its arguments as CPython passes them: a warm call takes 0.2 us inside, and pybind11's argument tuple
// and string conversions took longer than that.
PyObject* call_isolate(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  try {
    if (count < 2) throw py::type_error("call(module, function, *args)");
    auto* isolate = static_cast<Isolate*>(reinterpret_cast<py::detail::instance*>(self)->get_value_and_holder().value_ptr());
    if (isolate == nullptr) throw py::type_error("an Isolate that create() did not make");
    const char* module = PyUnicode_AsUTF8(args[0]);
    const char* function = module != nullptr ? PyUnicode_AsUTF8(args[1]) : nullptr;
    if (function == nullptr) return nullptr;
    const auto size = static_cast<size_t>(count - 2);
    std::array<Value, 3> few;
    std::vector<Value> many(size > few.size() ? size : 0);
    Value* values = many.empty() ? few.data() : many.data();
    for (size_t i = 0; i < size; ++i) values[i] = from_python(args[i + 2], 0);
    return finish(without_gil([&] { return isolate->invoke(module, function, {values, size}); })).release().ptr();
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (...) {
    py::detail::try_translate_exceptions();
  }
  return nullptr;
}

PyMethodDef call_definition = {"call", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(call_isolate)), METH_FASTCALL,
                               "call(module, function, *args)"};

// Ending an isolate may wait for another that waits for the interpreter (to drop an array): never wait while holding it.
void bind_isolate(py::module_& m) {
  py::class_<Limits>(m, "Limits").def(py::init(&limits_of));
  py::class_<Isolate> isolate(m, "Isolate", py::release_gil_before_calling_cpp_dtor());
  isolate.attr("call") =
      py::reinterpret_steal<py::object>(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(isolate.ptr()), &call_definition));
  isolate
      .def_static("create",
                  [](const std::shared_ptr<Vm>& vm, const Limits& limits, const py::object& log, const std::optional<std::string>& state) {
                    TaskContext context = context_of(log, state, limits);
                    return unwrap(without_gil([&] { return Isolate::create(vm, limits, std::move(context)); }));
                  })
      .def("attach", [](Isolate& self, const std::shared_ptr<Bundle>& bundle) { unwrap(self.attach(bundle)); })
      .def("run", [](Isolate& self, const std::string& text, const std::string& name,
                     const std::string& file) { return finish(without_gil([&] { return self.run({name, file, text, false}); })); })
      .def("cancel", &Isolate::cancel)
      .def("reset", [](Isolate& self) { unwrap(without_gil([&] { return self.reset(); })); })
      .def("stats", [](const Isolate& self) {
        const vm::IsolateStats s = self.stats();
        return py::make_tuple(s.heap_bytes, s.heap_peak, s.calls, s.cancels, s.denied_allocations);
      });
}

void bind_pool(py::module_& m) {
  py::class_<Pool>(m, "Pool", py::release_gil_before_calling_cpp_dtor())
      .def_static("create",
                  [](const std::shared_ptr<Vm>& vm, size_t size, bool std_profile, const Limits& limits, const py::object& log,
                     const std::optional<std::string>& state, uint32_t grace_ms) {
                    vm::PoolOptions options{size, std_profile ? vm::Profile::std : vm::Profile::bare, limits,
                                            context_of(log, state, limits), grace_ms};
                    return unwrap(without_gil([&] { return Pool::create(vm, std::move(options)); }));
                  })
      .def("take", [](Pool& self) { return unwrap(without_gil([&] { return self.take(); })); })
      .def("run",
           [](Pool& self, const std::shared_ptr<Bundle>& bundle, const std::string& module, const std::string& function,
              const py::args& args) {
             std::vector<Value> values = arguments(args);
             return finish(without_gil([&] { return self.run(bundle, module, function, std::move(values)); }));
           })
      .def("wait_until_full", [](Pool& self) { without_gil([&] { self.wait_until_full(); }); })
      .def("stats", [](const Pool& self) {
        const vm::PoolStats s = self.stats();
        return py::make_tuple(s.ready, s.handed_out, s.cold, s.abandoned);
      });
}

}  // namespace

void bind_vm(py::module_& m) {
  py::module_ sub = m.def_submodule("vm", "Isolates of the Python VM; walle_rt.vm is the documented face.");
  bind_vm_class(sub);
  bind_isolate(sub);
  bind_pool(sub);
  sub.def("host_calls", &vm::host_call_names);
  sub.def("drain", [] { without_gil([] { vm::Reaper::instance().drain(); }); });
}

}  // namespace walle::pybind
