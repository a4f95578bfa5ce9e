// Errors of the C API as Java's exceptions; and nothing that C++ throws passes a JNI function.
#pragma once

#include <jni.h>
#include <walle/walle.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace walle::jni {

void throw_error(JNIEnv* env, walle_status_t status, std::string_view message);
// Throws an argument error.
void refuse(JNIEnv* env, std::string_view message);
void throw_memory_error(JNIEnv* env);

// Whether the call worked; otherwise a WalleException is pending.
inline bool worked(JNIEnv* env, walle_status_t status, const walle_error_t& error) {
  if (status == WALLE_OK) return true;
  throw_error(env, status, error.message);
  return false;
}

// Runs the body of a JNI function. What it returns behind an exception nobody reads.
template <class Body>
auto guarded(JNIEnv* env, Body&& body) noexcept -> decltype(body()) {
  using Out = decltype(body());
  try {
    return std::forward<Body>(body)();
  } catch (const std::exception&) {
    throw_memory_error(env);  // nothing else is thrown here
  }
  if constexpr (!std::is_void_v<Out>) return Out{};
}

}  // namespace walle::jni
