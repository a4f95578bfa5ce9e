// Values of walle/vm.h and tensors of walle/walle.h, from Java and to it.
//
// From Java they come as walle.rt.Values packed them: nothing, Boolean, Long, Double, String, byte[], or a
// Packed, which is a list, a map, a tensor or a buffer. Memory of tensors and buffers is shared: a task may
// keep it, so that each holds a reference to its ByteBuffer until libwalle lets go. To Java memory is copied,
// because a ByteBuffer's slices may outlive what libwalle would free.
#pragma once

#include <jni.h>
#include <walle/vm.h>

#include <deque>
#include <string>
#include <vector>

#include "jvm.h"
#include "text.h"

namespace walle::jni {

// Values of one call, and everything that they point to.
class Given {
 public:
  explicit Given(JNIEnv* env) : env_(env) {}
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;
  ~Given();

  // False: a Java exception is pending.
  bool read(jobject value, walle_vm_value_t& out);
  // Every entry of an array, one behind the other.
  bool read_all(jobjectArray values, std::vector<walle_vm_value_t>& out);

 private:
  bool read_packed(jobject packed, walle_vm_value_t& out);
  bool read_items(jobject packed, walle_vm_value_t& out);
  bool read_tensor(jobject packed, walle_vm_value_t& out);
  bool read_buffer(jobject packed, walle_vm_buffer_t*& out);

  JNIEnv* env_;
  std::deque<std::string> texts_;
  std::deque<std::vector<walle_vm_value_t>> lists_;
  std::deque<walle_vm_tensor_t> tensors_;
  std::vector<walle_vm_buffer_t*> buffers_;
};

// These return nullptr with a Java exception pending, the first of them also for no value.
jobject to_java(JNIEnv* env, const walle_vm_value_t& value);
jobject boxed(JNIEnv* env, bool value);
jobject boxed(JNIEnv* env, int64_t value);
jobject boxed(JNIEnv* env, double value);
jbyteArray byte_array(JNIEnv* env, const void* data, size_t size);
jlongArray long_array(JNIEnv* env, const int64_t* data, size_t size);
// A direct ByteBuffer of its own.
jobject copied(JNIEnv* env, const void* data, size_t size);

std::string bytes_of(JNIEnv* env, jbyteArray bytes);
std::vector<int64_t> longs_of(JNIEnv* env, jlongArray numbers);

// An Object[] that is filled from the front: how structs of the C API reach Kotlin, which names the places.
class Row {
 public:
  Row(JNIEnv* env, jsize size)
      : env_(env), array_(env->NewObjectArray(size, known().object, nullptr)), size_(size) {}

  Row& add(jobject value) {
    const Local<jobject> held(env_, value);
    if (array_ && at_ < size_ && !env_->ExceptionCheck())
      env_->SetObjectArrayElement(array_, at_++, held.get());
    return *this;
  }
  Row& text(const char* value) { return add(value ? jni::to_java(env_, std::string_view(value)) : nullptr); }
  Row& number(int64_t value) { return add(boxed(env_, value)); }
  Row& flag(bool value) { return add(boxed(env_, value)); }
  jobjectArray get() const { return array_; }

 private:
  JNIEnv* env_;
  jobjectArray array_;
  jsize size_;
  jsize at_ = 0;
};

}  // namespace walle::jni
