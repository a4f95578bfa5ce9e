#include "pybind/cells.h"

namespace walle::pybind {

namespace {

std::string python_type(const py::handle& value) { return Py_TYPE(value.ptr())->tp_name; }

Cell text_of(PyObject* o) {
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(o, &size);
  if (!text) throw py::error_already_set();
  return Cell::of(std::string_view(text, static_cast<size_t>(size)));
}

// What is left: a scalar of NumPy, or what NumPy can make a vector of.
Cell unusual_cell(const py::handle& value, Text where, py::object& held) {
  if (python_type(value).starts_with("numpy.") && !py::isinstance<py::array>(value)) {
    held = value.attr("item")();
    if (!python_type(held).starts_with("numpy.")) {
      py::object none;
      return cell_of(held, where, none);
    }
  }
  using Vector = py::array_t<float, py::array::c_style | py::array::forcecast>;
  if (auto row = Vector::ensure(value); row && row.ndim() == 1) {
    held = row;
    return Cell::of(std::span<const float>(row.data(), static_cast<size_t>(row.size())));
  }
  PyErr_Clear();  // NumPy's reason speaks of its own types; ours names those of a row
  throw CoreError(argument_error({"a value of type ", python_type(value)},
                                 "None, int, float, bool, str, bytes or a one-dimensional array of floats",
                                 where, "convert it")
                      .of_kind(base::ErrorKind::wrong_type));
}

}  // namespace

Cell cell_of(const py::handle& value, Text where, py::object& held) {
  PyObject* const o = value.ptr();
  if (o == Py_None) return {};
  if (PyBool_Check(o)) return Cell::of(o == Py_True);  // before int, whose subclass it is
  if (PyFloat_Check(o)) return Cell::of(PyFloat_AS_DOUBLE(o));
  if (PyLong_Check(o)) {
    const long long number = PyLong_AsLongLong(o);
    if (number == -1 && PyErr_Occurred()) throw py::error_already_set();
    return Cell::of(static_cast<int64_t>(number));
  }
  if (PyUnicode_Check(o)) return text_of(o);
  if (PyBytes_Check(o))
    return Cell::of_bytes({PyBytes_AS_STRING(o), static_cast<size_t>(PyBytes_GET_SIZE(o))});
  return unusual_cell(value, where, held);
}

py::object object_of(const Cell& cell) {
  if (!cell.present) return py::none();
  switch (cell.type) {
    case ColumnType::integer: return py::int_(cell.i);
    case ColumnType::real: return py::float_(cell.d);
    case ColumnType::boolean: return py::bool_(cell.i != 0);
    case ColumnType::text: return py::str(cell.text.data(), cell.text.size());
    case ColumnType::bytes: return py::bytes(cell.text.data(), cell.text.size());
    case ColumnType::vector: break;
  }
  Floats floats;
  cell.append_floats(floats);
  return py::array_t<float>(static_cast<py::ssize_t>(floats.size()), floats.data());
}

py::object values_of(tensor::Column&& column) {
  if (column.type() == ColumnType::integer) return array_over(std::move(column).take_integers());
  if (column.type() == ColumnType::real) return array_over(std::move(column).take_reals());
  if (column.type() == ColumnType::boolean)
    return array_over(std::move(column).take_booleans(), py::dtype::of<bool>());
  py::list out(column.size());
  for (size_t row = 0; row < column.size(); ++row) out[row] = object_of(column[row]);
  return out;
}

py::array presence_of(const tensor::Column& column) {
  std::vector<uint8_t> marks = column.presence();
  marks.resize(column.size(), 1);
  return array_over(std::move(marks), py::dtype::of<bool>());
}

}  // namespace walle::pybind
