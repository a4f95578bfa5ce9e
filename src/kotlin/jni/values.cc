#include "values.h"

#include <algorithm>
#include <cstring>

#include "errors.h"

namespace walle::jni {

namespace {

// On any thread, also one that the JVM has never seen.
void let_go(void* reference) {
  if (JNIEnv* env = env_of_thread()) env->DeleteGlobalRef(static_cast<jobject>(reference));
}

jobject items_to_java(JNIEnv* env, const walle_vm_value_t& value, size_t count, jmethodID method) {
  Row row(env, static_cast<jsize>(count));
  for (size_t i = 0; i < count; ++i) row.add(to_java(env, value.as.items[i]));
  const Local<jobjectArray> held(env, row.get());
  if (env->ExceptionCheck()) return nullptr;
  return env->CallStaticObjectMethod(known().upcalls.type, method, held.get());
}

jobject tensor_to_java(JNIEnv* env, const walle_vm_tensor_t& tensor) {
  size_t size = walle_dtype_size(tensor.dtype);
  for (int32_t i = 0; i < tensor.rank; ++i) size *= static_cast<size_t>(tensor.shape[i]);
  const Local<jlongArray> shape(env, long_array(env, tensor.shape, static_cast<size_t>(tensor.rank)));
  const Local<jobject> memory(env, copied(env, walle_vm_buffer_data(tensor.buffer), size));
  if (!shape || !memory) return nullptr;
  return env->CallStaticObjectMethod(known().upcalls.type, known().upcalls.tensor,
                                     static_cast<jint>(tensor.dtype), shape.get(), memory.get());
}

}  // namespace

Given::~Given() {
  for (walle_vm_buffer_t* buffer : buffers_) walle_vm_buffer_free(buffer);
}

bool Given::read(jobject value, walle_vm_value_t& out) {
  const Known& k = known();
  out = {};
  if (!value) return true;
  const auto is = [&](jclass type) { return env_->IsInstanceOf(value, type) == JNI_TRUE; };
  if (is(k.packed)) return read_packed(value, out);
  if (is(k.string) || is(k.bytes)) {
    const bool text = is(k.string);
    const std::string& kept = texts_.emplace_back(text ? to_utf8(env_, static_cast<jstring>(value))
                                                       : bytes_of(env_, static_cast<jbyteArray>(value)));
    out.kind = text ? WALLE_KIND_STR : WALLE_KIND_BYTES;
    out.size = kept.size();
    out.as.text = kept.data();
  } else if (is(k.integer)) {
    out.kind = WALLE_KIND_INT;
    out.as.integer = env_->CallLongMethod(value, k.integer_value);
  } else if (is(k.real)) {
    out.kind = WALLE_KIND_FLOAT;
    out.as.real = env_->CallDoubleMethod(value, k.real_value);
  } else if (is(k.boolean)) {
    out.kind = WALLE_KIND_BOOL;
    out.as.integer = env_->CallBooleanMethod(value, k.boolean_value);
  }
  return !env_->ExceptionCheck();
}

bool Given::read_all(jobjectArray values, std::vector<walle_vm_value_t>& out) {
  const jsize count = values ? env_->GetArrayLength(values) : 0;
  for (jsize i = 0; i < count; ++i) {
    const Local<jobject> value(env_, env_->GetObjectArrayElement(values, i));
    if (!read(value.get(), out.emplace_back())) return false;
  }
  return true;
}

bool Given::read_packed(jobject packed, walle_vm_value_t& out) {
  out.kind = static_cast<walle_vm_kind_t>(env_->GetIntField(packed, known().packed_kind));
  if (out.kind == WALLE_KIND_TENSOR) return read_tensor(packed, out);
  if (out.kind == WALLE_KIND_BUFFER) return read_buffer(packed, out.as.buffer);
  return read_items(packed, out);
}

bool Given::read_items(jobject packed, walle_vm_value_t& out) {
  const Local<jobjectArray> items(env_, env_->GetObjectField(packed, known().packed_items));
  std::vector<walle_vm_value_t> read;
  if (!read_all(items.get(), read)) return false;
  const std::vector<walle_vm_value_t>& kept = lists_.emplace_back(std::move(read));
  out.size = out.kind == WALLE_KIND_MAP ? kept.size() / 2 : kept.size();
  out.as.items = kept.data();
  return true;
}

bool Given::read_tensor(jobject packed, walle_vm_value_t& out) {
  const Local<jlongArray> shape(env_, env_->GetObjectField(packed, known().packed_shape));
  const std::vector<int64_t> sizes = longs_of(env_, shape.get());
  walle_vm_tensor_t tensor{};
  tensor.dtype = static_cast<walle_dtype_t>(env_->GetIntField(packed, known().packed_dtype));
  tensor.rank = static_cast<int32_t>(std::min<size_t>(sizes.size(), WALLE_MAX_RANK));
  std::copy_n(sizes.begin(), tensor.rank, tensor.shape);
  if (!read_buffer(packed, tensor.buffer)) return false;
  out.as.tensor = &tensors_.emplace_back(tensor);
  return true;
}

bool Given::read_buffer(jobject packed, walle_vm_buffer_t*& out) {
  const Local<jobject> memory(env_, env_->GetObjectField(packed, known().packed_memory));
  void* data = env_->GetDirectBufferAddress(memory.get());
  const jlong size = env_->GetDirectBufferCapacity(memory.get());
  jobject reference = env_->NewGlobalRef(memory.get());
  if (size < 0 || !reference) {
    throw_memory_error(env_);
    return false;
  }
  walle_error_t error;
  const bool wrapped = worked(
      env_, walle_vm_buffer_wrap(data, static_cast<size_t>(size), 1, let_go, reference, &out, &error), error);
  if (wrapped) {
    buffers_.push_back(out);
  } else {
    env_->DeleteGlobalRef(reference);
  }
  return wrapped;
}

jobject to_java(JNIEnv* env, const walle_vm_value_t& value) {
  switch (value.kind) {
    case WALLE_KIND_NONE: return nullptr;
    case WALLE_KIND_BOOL: return boxed(env, value.as.integer != 0);
    case WALLE_KIND_INT: return boxed(env, value.as.integer);
    case WALLE_KIND_FLOAT: return boxed(env, value.as.real);
    case WALLE_KIND_STR: return to_java(env, std::string_view(value.as.text, value.size));
    case WALLE_KIND_BYTES: return byte_array(env, value.as.text, value.size);
    case WALLE_KIND_LIST: return items_to_java(env, value, value.size, known().upcalls.list);
    case WALLE_KIND_MAP: return items_to_java(env, value, 2 * value.size, known().upcalls.map);
    case WALLE_KIND_TENSOR: return tensor_to_java(env, *value.as.tensor);
    case WALLE_KIND_BUFFER:
      return copied(env, walle_vm_buffer_data(value.as.buffer), walle_vm_buffer_size(value.as.buffer));
  }
  return nullptr;
}

jobject boxed(JNIEnv* env, bool value) {
  return env->CallStaticObjectMethod(known().boolean, known().boolean_of, static_cast<jboolean>(value));
}
jobject boxed(JNIEnv* env, int64_t value) {
  return env->CallStaticObjectMethod(known().integer, known().integer_of, static_cast<jlong>(value));
}
jobject boxed(JNIEnv* env, double value) {
  return env->CallStaticObjectMethod(known().real, known().real_of, value);
}

jbyteArray byte_array(JNIEnv* env, const void* data, size_t size) {
  jbyteArray out = env->NewByteArray(static_cast<jsize>(size));
  if (out) env->SetByteArrayRegion(out, 0, static_cast<jsize>(size), static_cast<const jbyte*>(data));
  return out;
}

jlongArray long_array(JNIEnv* env, const int64_t* data, size_t size) {
  static_assert(sizeof(jlong) == sizeof(int64_t));
  jlongArray out = env->NewLongArray(static_cast<jsize>(size));
  if (out) env->SetLongArrayRegion(out, 0, static_cast<jsize>(size), reinterpret_cast<const jlong*>(data));
  return out;
}

jobject copied(JNIEnv* env, const void* data, size_t size) {
  jobject out =
      env->CallStaticObjectMethod(known().upcalls.type, known().upcalls.memory, static_cast<jlong>(size));
  if (env->ExceptionCheck()) return nullptr;
  if (size > 0) std::memcpy(env->GetDirectBufferAddress(out), data, size);
  return out;
}

std::string bytes_of(JNIEnv* env, jbyteArray bytes) {
  if (!bytes) return {};
  std::string out(static_cast<size_t>(env->GetArrayLength(bytes)), '\0');
  env->GetByteArrayRegion(bytes, 0, static_cast<jsize>(out.size()), reinterpret_cast<jbyte*>(out.data()));
  return out;
}

std::vector<int64_t> longs_of(JNIEnv* env, jlongArray numbers) {
  std::vector<int64_t> out(numbers ? static_cast<size_t>(env->GetArrayLength(numbers)) : 0);
  if (!out.empty())
    env->GetLongArrayRegion(numbers, 0, static_cast<jsize>(out.size()), reinterpret_cast<jlong*>(out.data()));
  return out;
}

}  // namespace walle::jni
