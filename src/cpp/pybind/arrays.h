// NumPy arrays, DLPack objects and buffers to tensors and back, without copies where the memory allows it.
//
// NumPy has no bfloat16 and no float8: their bits travel as uint16 and uint8 (an array of the package
// ml_dtypes is recognised by its dtype's name and accepted too).
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <string>

#include "tensor/tensor.h"

namespace walle::pybind {

namespace py = pybind11;

// Any array-like that owns memory: ndarray, __dlpack__, buffer protocol, NumPy scalar. Lists and numbers are
// refused unless `allow_plain`, because their dtype would be a guess. C-contiguous, native byte order; copies
// only when it is not.
py::array as_array(py::handle object, const std::string& where, bool allow_plain = false);

// Numbers and nested lists of them, which have no dtype of their own: they take the declared one where
// NumPy's cast of the "same kind" and the integers' size allow it.
bool is_plain(py::handle object);
py::array plain_array(py::handle object, DType declared, const std::string& where);

// C-contiguous, aligned, native byte order: what as_array returns unchanged.
bool usable_as_it_is(const py::array& array);

// The dtype of an array, undefined when walle_rt has none for it (strings, objects, dates).
DType dtype_of(const py::array& array);

// The bits of `array` as a tensor of `dtype`; false when they cannot be read as that dtype.
bool can_hold(const py::array& array, DType dtype);

// Shares the array's memory and keeps the array alive. Precondition: can_hold(array, dtype), C-contiguous;
// `writable` only for an array that is.
Tensor borrow(const py::array& array, DType dtype, const Shape& shape, bool writable = false);
// The same bytes in memory of our own, aligned for kernels.
Tensor copy(const py::array& array, DType dtype, const Shape& shape);

Shape shape_of(const py::array& array, DType dtype, const std::string& where);

// The bytes of a C-contiguous array in native byte order over a MappedFile, aligned or not, as a window of
// that file; empty for any other array.
Buffer window_of_file(const py::array& array);

// An array over the tensor's bytes; the array keeps them alive.
py::array to_array(const Tensor& tensor);

}  // namespace walle::pybind
