#include "pybind/session_values.h"

#include <optional>

#include "base/copy.h"
#include "pybind/arrays.h"
#include "pybind/errors.h"

namespace walle::pybind {

namespace {

// The usual case, on the way of every call: an array of the declared dtype that can be used where it lies.
std::optional<Tensor> borrow_plain(py::handle object, DType declared) {
  if (!py::isinstance<py::array>(object)) return std::nullopt;
  const auto array = py::reinterpret_borrow<py::array>(object);
  // The limits are looked at here so that whatever fails them goes the long way, which says what is wrong.
  if (array.ndim() > base::kMaxRank || array.nbytes() > base::kMaxTensorBytes || !usable_as_it_is(array) ||
      dtype_of(array) != declared)
    return std::nullopt;
  Shape shape;
  for (py::ssize_t i = 0; i < array.ndim(); ++i) shape.push_back(array.shape(i));
  return borrow(array, declared, shape);
}

Tensor tensor_from(py::handle object, DType declared, const std::string& name) {
  if (auto plain = borrow_plain(object, declared)) return *std::move(plain);
  const std::string where = "input '" + name + "'";
  const py::array array = is_plain(object) ? plain_array(object, declared, where) : as_array(object, where);
  DType dtype = dtype_of(array);
  // Bits in a plain array stand for the type that the input declares. Any other dtype goes on as it is: the
  // session refuses it with the input's declaration in the message.
  if (dtype != declared && can_hold(array, declared)) dtype = declared;
  if (dtype == DType::undefined) {
    const std::string have = py::str(array.dtype());
    const std::string want =
        declared == DType::undefined ? "a numeric or boolean dtype" : std::string(dtype_name(declared));
    throw CoreError(
        argument_error({"an array of dtype ", have}, want, where, "convert it with .astype(...)"));
  }
  return borrow(array, dtype, shape_of(array, dtype, where));
}

ir::RuntimeValue sequence_from(py::handle object, const ir::Value& declared) {
  auto sequence = std::make_shared<ir::Sequence>();
  sequence->dtype = declared.dtype;
  for (const py::handle item : py::reinterpret_borrow<py::sequence>(object))
    sequence->items.push_back(tensor_from(item, declared.dtype, declared.name));
  return ir::RuntimeValue(std::shared_ptr<const ir::Sequence>(std::move(sequence)));
}

// Results that are somebody else's memory (an input handed through, a constant) are copied.
py::array fresh_array(const Tensor& tensor) {
  if (tensor.buffer().writable()) return to_array(tensor);
  Tensor own = unwrap(Tensor::allocate(tensor.dtype(), tensor.shape()));
  base::copy_bytes(own.mutable_data(), tensor.data(), tensor.bytes());
  return to_array(own);
}

}  // namespace

ir::RuntimeValue value_from(py::handle object, const ir::Value& declared) {
  const bool optional = declared.kind == ir::ValueKind::optional;
  if (declared.kind == ir::ValueKind::tensor) return tensor_from(object, declared.dtype, declared.name);
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) return sequence_from(object, declared);
  if (optional && object.is_none()) return {};
  if (optional) return tensor_from(object, declared.dtype, declared.name);
  const bool none = object.is_none();
  throw CoreError(argument_error(
      none ? "None" : "a value that is not a list", "a list of arrays", {"input '", declared.name, "'"},
      none ? "pass an empty list for an empty sequence" : "wrap the arrays in a list"));
}

ir::RuntimeValue shape_from(py::handle object, const ir::Value& declared) {
  const bool tuple = PyTuple_Check(object.ptr());
  const bool shape = declared.kind == ir::ValueKind::tensor
                         ? tuple || PyList_Check(object.ptr())
                         : declared.kind == ir::ValueKind::optional && tuple;
  if (!shape) return value_from(object, declared);
  const std::string where = "input '" + declared.name + "'";
  if (declared.dtype == DType::undefined)
    throw CoreError(argument_error("a shape where no dtype is declared", "an array", where,
                                   "give prepare() an array of the shape and dtype"));
  std::vector<int64_t> sizes;
  for (const py::handle item : object) {
    const auto size = py::reinterpret_steal<py::object>(PyNumber_Index(item.ptr()));
    const int64_t value = size ? PyLong_AsLongLong(size.ptr()) : -1;
    if (PyErr_Occurred()) PyErr_Clear();  // the error below says more
    if (value < 0)
      throw CoreError(argument_error({"the shape ", std::string(py::str(object))}, "sizes as int, 0 or more",
                                     where, "write every size as a number"));
    sizes.push_back(value);
  }
  const Shape checked = unwrap(Shape::checked(sizes, dtype_size(declared.dtype), where));
  return Tensor(declared.dtype, checked, Buffer());
}

py::object value_to_python(const ir::RuntimeValue& value) {
  if (const Tensor* tensor = value.tensor()) return fresh_array(*tensor);
  const ir::Sequence* sequence = value.sequence();
  if (sequence == nullptr) return py::none();
  py::list items;
  for (const Tensor& tensor : sequence->items) items.append(fresh_array(tensor));
  return items;
}

}  // namespace walle::pybind
