// The version, and the names of numbers.
#include <iterator>

#include "base/limits.h"
#include "tensor/dtype.h"
#include "walle/walle.h"

// The public header is for C compilers and cannot read the lists it repeats. The first, two in the middle,
// the last and the number of dtypes: one put in or left out anywhere moves at least one of them.
static_assert(WALLE_MAX_RANK == walle::base::kMaxRank);
static_assert(WALLE_FLOAT32 == static_cast<int>(walle::DType::float32));
static_assert(WALLE_INT8 == static_cast<int>(walle::DType::int8));
static_assert(WALLE_BOOL == static_cast<int>(walle::DType::boolean));
static_assert(WALLE_COMPLEX128 == static_cast<int>(walle::DType::complex128));
static_assert(WALLE_COMPLEX128 + 1 == walle::tensor::kDTypeCount);

namespace {
bool is_dtype(int dtype) { return dtype > WALLE_UNDEFINED && dtype < walle::tensor::kDTypeCount; }
}  // namespace

extern "C" {

const char* walle_version(void) { return WALLE_VERSION_TEXT; }

const char* walle_status_name(walle_status_t status) {
  static constexpr const char* kNames[] = {"ok",   "argument", "model",    "resource", "backend",
                                           "task", "network",  "internal", "timeout",  "cancelled"};
  const int number = status;
  return number >= 0 && number < static_cast<int>(std::size(kNames)) ? kNames[number] : nullptr;
}

const char* walle_dtype_name(walle_dtype_t dtype) {
  return is_dtype(dtype) ? walle::dtype_name(static_cast<walle::DType>(dtype)).data() : nullptr;
}

size_t walle_dtype_size(walle_dtype_t dtype) {
  return is_dtype(dtype) ? walle::dtype_size(static_cast<walle::DType>(dtype)) : 0;
}

}  // extern "C"
