// The JVM, its classes and its threads, as the library sees them.
//
// Thread rules: known() is written once, by JNI_OnLoad, before anything else runs. A thread of libwalle's own
// is attached at its first callback and leaves when it ends; as a daemon, so that a JVM that ends does not
// wait for it.
#pragma once

#include <jni.h>

#include <cstdint>

namespace walle::jni {

// What libwalle and Kotlin know each other's objects by: a pointer is a Long there, and a number is what
// callbacks get as `user` here, so that one that comes late finds nothing instead of freed memory.
template <class Type>
Type* pointer(jlong address) {
  return reinterpret_cast<Type*>(static_cast<uintptr_t>(address));
}
inline jlong address(const void* pointer) { return static_cast<jlong>(reinterpret_cast<uintptr_t>(pointer)); }

// Static methods of walle.rt.Upcalls; see there what each does.
struct Upcalls {
  jclass type;
  jmethodID error, memory, list, map, tensor;
  jmethodID result, log, app, http;
  jmethodID connect, read, write, cancel, disconnect;
  jmethodID make_key, request_of, is_of, sign;
};

// Kept from JNI_OnLoad on: a thread that the JVM did not start finds none of an app's classes by name.
struct Known {
  Upcalls upcalls;
  jclass object, string, boolean, integer, real, bytes, packed;
  jmethodID boolean_of, integer_of, real_of, boolean_value, integer_value, real_value;
  jfieldID packed_kind, packed_dtype, packed_items, packed_shape, packed_memory;
};

const Known& known();

// This thread's; nullptr: the JVM takes no more threads.
JNIEnv* env_of_thread();

// One local reference: a loop over a large array would otherwise fill the table of the thread.
template <class Type>
class Local {
 public:
  Local(JNIEnv* env, jobject made) : env_(env), held_(static_cast<Type>(made)) {}
  Local(const Local&) = delete;
  Local& operator=(const Local&) = delete;
  ~Local() {
    if (held_) env_->DeleteLocalRef(held_);
  }
  Type get() const { return held_; }
  explicit operator bool() const { return held_ != nullptr; }

 private:
  JNIEnv* env_;
  Type held_;
};

// The references of one callback, which on a thread of libwalle's own nobody else would give up.
class Frame {
 public:
  explicit Frame(JNIEnv* env, int references = 32)
      : env_(env), pushed_(env && env->PushLocalFrame(references) == JNI_OK) {}
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame() {
    if (pushed_) env_->PopLocalFrame(nullptr);
  }
  explicit operator bool() const { return pushed_; }

 private:
  JNIEnv* env_;
  bool pushed_;
};

}  // namespace walle::jni
