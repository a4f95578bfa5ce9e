#include "tensors.h"

#include <algorithm>
#include <cstring>

#include "errors.h"
#include "values.h"

namespace walle::jni {

Tensors::Tensors(JNIEnv* env, jobjectArray names, jintArray dtypes, jobjectArray shapes, jobjectArray memory)
    : names_(env, names, "the name of a tensor"), good_(static_cast<bool>(names_)) {
  if (!good_) return;
  std::vector<jint> kinds(names_.size());
  if (!kinds.empty()) env->GetIntArrayRegion(dtypes, 0, static_cast<jsize>(kinds.size()), kinds.data());
  for (size_t i = 0; i < kinds.size() && good_; ++i) {
    const auto at = static_cast<jsize>(i);
    const Local<jobject> shape(env, env->GetObjectArrayElement(shapes, at));
    const Local<jobject> bytes(env, memory ? env->GetObjectArrayElement(memory, at) : nullptr);
    walle_tensor_t& tensor = tensors_.emplace_back();
    tensor.name = names_[i];
    tensor.dtype = static_cast<walle_dtype_t>(kinds[i]);
    good_ = read(env, shape.get(), bytes.get(), tensor);
  }
}

bool Tensors::read(JNIEnv* env, jobject shape, jobject memory, walle_tensor_t& out) {
  const std::vector<int64_t> sizes = longs_of(env, static_cast<jlongArray>(shape));
  out.rank = static_cast<int32_t>(std::min<size_t>(sizes.size(), WALLE_MAX_RANK));
  std::copy_n(sizes.begin(), out.rank, out.shape);
  if (!memory) return true;
  out.data = env->GetDirectBufferAddress(memory);
  out.bytes = static_cast<size_t>(env->GetDirectBufferCapacity(memory));
  return !env->ExceptionCheck();
}

std::vector<walle_result_memory_t> Tensors::as_memory() const {
  std::vector<walle_result_memory_t> out;
  for (const walle_tensor_t& tensor : tensors_) {
    walle_result_memory_t& memory = out.emplace_back();
    memory.name = tensor.name;
    memory.dtype = tensor.dtype;
    memory.rank = tensor.rank;
    std::copy_n(tensor.shape, WALLE_MAX_RANK, memory.shape);
    memory.data = const_cast<void*>(tensor.data);
    memory.bytes = tensor.bytes;
  }
  return out;
}

jobjectArray rows_of(JNIEnv* env, const walle_results_t* results,
                     const std::vector<walle_result_memory_t>& kept) {
  const size_t count = walle_results_count(results);
  Row rows(env, static_cast<jsize>(count));
  for (size_t i = 0; i < count && !env->ExceptionCheck(); ++i) {
    walle_error_t error;
    walle_tensor_t tensor;
    if (!worked(env, walle_results_get(results, i, &tensor, &error), error)) break;
    const bool there = std::any_of(kept.begin(), kept.end(), [&](const walle_result_memory_t& one) {
      return std::strcmp(one.name, tensor.name) == 0;
    });
    Row row(env, 4);
    row.text(tensor.name).number(tensor.dtype);
    row.add(long_array(env, tensor.shape, static_cast<size_t>(tensor.rank)));
    row.add(there ? nullptr : copied(env, tensor.data, tensor.bytes));
    rows.add(row.get());
  }
  return rows.get();
}

}  // namespace walle::jni
