// The app's keys, behind walle_keys_t.
#include <cstring>

#include "callbacks.h"
#include "values.h"

namespace walle::jni {

namespace {

// How many bytes were written; -1: there are none, or no room for them.
int64_t written(const std::string& text, void* to, size_t size) {
  if (text.empty() || text.size() > size) return -1;
  std::memcpy(to, text.data(), text.size());
  return static_cast<int64_t>(text.size());
}

int64_t key_make(void* user, char* pem, size_t size) {
  JNIEnv* env = env_of_thread();
  const Frame frame(env);
  if (!frame) return -1;
  auto* made = static_cast<jstring>(
      env->CallStaticObjectMethod(known().upcalls.type, known().upcalls.make_key, address(user)));
  return came_back(env) ? written(to_utf8(env, made), pem, size) : -1;
}

int64_t key_request(void* user, const char* key, char* pem, size_t size) {
  JNIEnv* env = env_of_thread();
  const Frame frame(env);
  if (!frame) return -1;
  jstring own = to_java(env, std::string_view(key));
  if (!own) {
    came_back(env);
    return -1;
  }
  auto* made = static_cast<jstring>(
      env->CallStaticObjectMethod(known().upcalls.type, known().upcalls.request_of, address(user), own));
  return came_back(env) ? written(to_utf8(env, made), pem, size) : -1;
}

int key_is_of(void* user, const char* key, const char* certificate) {
  JNIEnv* env = env_of_thread();
  const Frame frame(env);
  if (!frame) return 0;
  jstring own = to_java(env, std::string_view(key));
  jstring shown = own ? to_java(env, std::string_view(certificate)) : nullptr;
  const jboolean is = shown ? env->CallStaticBooleanMethod(known().upcalls.type, known().upcalls.is_of,
                                                           address(user), own, shown)
                            : JNI_FALSE;
  return came_back(env) && is == JNI_TRUE;
}

int64_t key_sign(void* user, const char* key, const void* message, size_t bytes, void* signature,
                 size_t size) {
  JNIEnv* env = env_of_thread();
  const Frame frame(env);
  if (!frame) return -1;
  jstring own = to_java(env, std::string_view(key));
  jbyteArray given = own ? byte_array(env, message, bytes) : nullptr;
  auto* made =
      static_cast<jbyteArray>(given ? env->CallStaticObjectMethod(known().upcalls.type, known().upcalls.sign,
                                                                  address(user), own, given)
                                    : nullptr);
  return came_back(env) ? written(bytes_of(env, made), signature, size) : -1;
}

}  // namespace

walle_keys_t keys_of(jlong number) {
  walle_keys_t keys{};
  keys.struct_size = sizeof keys;
  keys.user = user_of(number);
  keys.make = key_make;
  keys.request = key_request;
  keys.is_of = key_is_of;
  keys.sign = key_sign;
  return keys;
}

}  // namespace walle::jni
