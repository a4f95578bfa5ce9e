#include "pybind/arrays.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/copy.h"
#include "pybind/errors.h"
#include "pybind/python_lock.h"

namespace walle::pybind {

namespace {

// Whether NumPy lacks the type; then it is that of the package ml_dtypes, or the bits where that is missing.
bool lacks(const tensor::DTypeFacts& row) {
  return row.numpy_kind == 'u' && row.group != tensor::DTypeClass::unsigned_integer;
}

py::dtype make_dtype(const tensor::DTypeFacts& row) {
  if (lacks(row)) {
    try {
      return py::dtype::from_args(py::module_::import("ml_dtypes").attr(std::string(row.numpy_name).c_str()));
    } catch (py::error_already_set&) {  // not installed, or too old for this type
    }
  }
  return py::dtype(tensor::numpy_code(row));
}

// One dtype object per DType, made when it is first asked for (importing ml_dtypes takes time that most never
// need); never freed, because destroying them after the interpreter would crash. Guarded by the GIL.
const py::dtype& numpy_dtype(DType dtype) {
  static auto* table = new std::array<std::optional<py::dtype>, tensor::kDTypeCount>();
  auto& found = (*table)[static_cast<int>(dtype)];
  if (!found) found = make_dtype(tensor::dtype_facts(dtype));
  return *found;
}

// Of the dtypes that NumPy itself has. By kind and size and not by name: "long" and "int64" are then one type
// wherever they have one width. A walk over some twenty rows, without touching Python.
DType from_kind(char kind, py::ssize_t size) {
  for (int i = 1; i < tensor::kDTypeCount; ++i) {
    const tensor::DTypeFacts& row = tensor::kDTypes[i];
    if (row.numpy_kind == kind && row.size == size && !lacks(row)) return static_cast<DType>(i);
  }
  return DType::undefined;
}

// NumPy asks half of it of a complex64.
bool is_aligned(const py::array& array) {
  return (array.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_) != 0 &&
         (array.dtype().kind() != 'c' || reinterpret_cast<uintptr_t>(array.data()) % sizeof(uint64_t) == 0);
}

bool lies_in_order(const py::array& array) {
  return (array.flags() & py::array::c_style) && array.dtype().byteorder() != (PY_LITTLE_ENDIAN ? '>' : '<');
}

// What NumPy cannot take (a tensor on another device, a dtype of its own kind) is the caller's argument, not
// a failure of ours.
py::array numpy_call(const char* function, py::handle object, const std::string& where) {
  try {
    return py::reinterpret_steal<py::array>(py::module_::import("numpy").attr(function)(object).release());
  } catch (py::error_already_set& error) {
    const std::string type = py::str(py::type::handle_of(object).attr("__name__"));
    const std::string why = py::str(error.value());
    if (error.matches(PyExc_MemoryError))
      throw CoreError(resource_error({"memory for a copy of a value of type ", type, " was refused"},
                                     "enough free memory", where, "use smaller arrays"));
    throw CoreError(argument_error({"a value of type ", type, " that NumPy cannot read (", why, ")"},
                                   "an array in ordinary memory with a NumPy dtype", where,
                                   "move it to the CPU and convert it to a NumPy array first"));
  }
}

}  // namespace

bool usable_as_it_is(const py::array& array) { return lies_in_order(array) && is_aligned(array); }

py::array as_array(py::handle object, const std::string& where, bool allow_plain) {
  py::array array;
  if (py::isinstance<py::array>(object)) {
    array = py::reinterpret_borrow<py::array>(object);
    if (usable_as_it_is(array)) return array;      // what is not is copied below, each fault by itself
  } else if (py::hasattr(object, "__dlpack__")) {  // first: it shares memory where __array__ may copy
    array = numpy_call("from_dlpack", object, where);
  } else if (PyObject_CheckBuffer(object.ptr()) || py::hasattr(object, "__array__") || allow_plain) {
    array = numpy_call("asarray", object, where);
  } else {
    const std::string type = py::str(py::type::handle_of(object).attr("__name__"));
    throw CoreError(argument_error({"a value of type ", type}, "a NumPy array, a DLPack object or a buffer",
                                   where, "wrap it: numpy.asarray(value, dtype=...)"));
  }
  const char order = array.dtype().byteorder();
  const bool foreign = order == (PY_LITTLE_ENDIAN ? '>' : '<');
  if (foreign)
    array = py::reinterpret_steal<py::array>(
        array.attr("astype")(array.dtype().attr("newbyteorder")("=")).release());
  if (!is_aligned(array)) array = py::reinterpret_steal<py::array>(array.attr("copy")().release());
  if (!(array.flags() & py::array::c_style)) array = numpy_call("ascontiguousarray", array, where);
  return array;
}

bool is_plain(py::handle object) {
  PyObject* o = object.ptr();
  return PyList_Check(o) || PyTuple_Check(o) || PyLong_Check(o) || PyFloat_CheckExact(o);
}

py::array plain_array(py::handle object, DType declared, const std::string& where) {
  py::array array = numpy_call("asarray", object, where);
  if (declared == DType::undefined) return array;
  const py::dtype& want = numpy_dtype(declared);
  const std::string have = py::str(array.dtype());
  const auto numpy = py::module_::import("numpy");
  if (array.size() != 0 && !numpy.attr("can_cast")(array.dtype(), want, "same_kind").cast<bool>())
    throw CoreError(argument_error({"numbers that NumPy takes for ", have}, dtype_name(declared), where,
                                   {"pass numpy.array(value, '", dtype_name(declared), "')"}));
  py::array cast = array.attr("astype")(want);
  const char kind = want.kind();
  if ((kind == 'i' || kind == 'u') && !numpy.attr("array_equal")(cast, array).cast<bool>())
    throw CoreError(
        argument_error("an integer beyond its dtype", dtype_name(declared), where, "correct the value"));
  return cast;
}

DType dtype_of(const py::array& array) {
  const py::dtype dtype = array.dtype();
  const DType plain = from_kind(dtype.kind(), dtype.itemsize());
  if (plain != DType::undefined) return plain;
  // The types of ml_dtypes share kinds and sizes with others; their names tell them apart.
  const std::string name = py::str(dtype.attr("name"));
  for (int i = 1; i < tensor::kDTypeCount; ++i)
    if (tensor::kDTypes[i].numpy_name == name) return static_cast<DType>(i);
  return DType::undefined;
}

bool can_hold(const py::array& array, DType dtype) {
  const DType have = dtype_of(array);
  if (have == dtype) return true;
  // Without ml_dtypes, who has such values has their bits.
  if (dtype == DType::bfloat16) return have == DType::uint16;
  return tensor::is_storage_only(dtype) && have == DType::uint8;
}

Shape shape_of(const py::array& array, DType dtype, const std::string& where) {
  std::vector<int64_t> dims(array.shape(), array.shape() + array.ndim());
  return unwrap(Shape::checked(dims, dtype_size(dtype), where));
}

Tensor borrow(const py::array& array, DType dtype, const Shape& shape, bool writable) {
  PyObject* owner = array.ptr();
  Py_INCREF(owner);
  auto release = [owner] { drop_reference(owner); };  // on any thread, and perhaps after Python has ended
  Buffer buffer = Buffer::wrap(const_cast<void*>(array.data()), static_cast<size_t>(array.nbytes()),
                               std::move(release), writable);
  return Tensor(dtype, shape, std::move(buffer));
}

Tensor copy(const py::array& array, DType dtype, const Shape& shape) {
  Tensor out = unwrap(Tensor::allocate(dtype, shape));
  base::copy_bytes(out.mutable_data(), array.data(), array.nbytes());
  return out;
}

Buffer window_of_file(const py::array& array) {
  // Views of arrays and the memory that NumPy takes from an object stand between.
  py::object at = py::reinterpret_borrow<py::object>(array);
  while (!at.is_none() && !py::isinstance<base::MappedFile>(at)) {
    if (PyMemoryView_Check(at.ptr())) {
      PyObject* of = PyMemoryView_GET_BUFFER(at.ptr())->obj;
      at = of ? py::reinterpret_borrow<py::object>(of) : py::none();
    } else {
      at = py::getattr(at, "base", py::none());
    }
  }
  if (at.is_none() || array.nbytes() == 0 || !lies_in_order(array)) return {};
  const Buffer file = Buffer::of_file(py::cast<std::shared_ptr<base::MappedFile>>(at));
  const auto offset = static_cast<const std::byte*>(array.data()) - file.data();
  return file.part(static_cast<size_t>(offset), static_cast<size_t>(array.nbytes()));
}

py::array to_array(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  if (tensor.bytes() == 0)
    return py::array(numpy_dtype(tensor.dtype()), std::vector<py::ssize_t>(shape.begin(), shape.end()));
  std::array<Py_intptr_t, base::kMaxRank> dims;
  std::copy(shape.begin(), shape.end(), dims.begin());
  auto* keep = new Tensor(tensor);  // the array shows the engine's memory, and the capsule keeps it
  py::capsule owner(keep, [](void* p) { delete static_cast<Tensor*>(p); });
  // py::array's constructor makes two vectors, of dims and of strides that NumPy computes anyway: 60 ns of a
  // call that takes a microsecond.
  const auto& numpy = py::detail::npy_api::get();
  constexpr int kFlags = py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  auto array = py::reinterpret_steal<py::array>(numpy.PyArray_NewFromDescr_(
      numpy.PyArray_Type_, numpy_dtype(tensor.dtype()).inc_ref().ptr(), shape.rank(), dims.data(), nullptr,
      const_cast<void*>(tensor.data()), kFlags, nullptr));
  if (!array) throw py::error_already_set();
  numpy.PyArray_SetBaseObject_(array.ptr(), owner.release().ptr());
  return array;
}

}  // namespace walle::pybind
