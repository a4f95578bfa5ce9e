#include "errors.h"

#include "jvm.h"
#include "text.h"

namespace walle::jni {

void throw_error(JNIEnv* env, walle_status_t status, std::string_view message) {
  if (env->ExceptionCheck()) return;  // the first one says more
  const Local<jstring> text(env, to_java(env, message));
  if (!text) return;
  const Upcalls& upcalls = known().upcalls;
  const Local<jthrowable> made(
      env, env->CallStaticObjectMethod(upcalls.type, upcalls.error, static_cast<jint>(status), text.get()));
  if (made && !env->ExceptionCheck()) env->Throw(made.get());
}

void refuse(JNIEnv* env, std::string_view message) { throw_error(env, WALLE_ARGUMENT, message); }

void throw_memory_error(JNIEnv* env) {
  if (env->ExceptionCheck()) return;
  const Local<jclass> type(env, env->FindClass("java/lang/OutOfMemoryError"));
  if (type) env->ThrowNew(type.get(), "native memory is short");
}

}  // namespace walle::jni
