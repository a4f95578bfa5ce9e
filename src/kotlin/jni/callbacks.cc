#include "callbacks.h"

#include <string>

#include "values.h"

namespace walle::jni {

bool came_back(JNIEnv* env) {
  if (!env->ExceptionCheck()) return true;
  env->ExceptionClear();
  return false;
}

namespace {

jobjectArray fields_of(JNIEnv* env, const walle_task_result_t& r) {
  Row row(env, 18);
  row.text(r.task).text(r.version).number(static_cast<int64_t>(r.number)).text(r.trigger);
  row.number(static_cast<int64_t>(r.seq)).number(r.ts).flag(r.ok != 0);
  row.add(r.value ? to_java(env, *r.value) : nullptr);
  row.text(r.error).text(r.phase).number(r.rows).number(r.sends);
  row.number(r.preprocess_us).number(r.execute_us).number(r.postprocess_us).number(r.waited_us);
  row.number(r.attempt).number(r.retry_at);
  return row.get();
}

// {why not, answer} of the app's function.
void pass_on(JNIEnv* env, jobjectArray said, walle_app_answer_t* answer) {
  const Local<jstring> why(env, env->GetObjectArrayElement(said, 0));
  if (why) {
    walle_app_fail(answer, to_utf8(env, why.get()).c_str(), nullptr);
    return;
  }
  const Local<jobject> value(env, env->GetObjectArrayElement(said, 1));
  Given given(env);
  walle_vm_value_t plain;
  walle_error_t error;
  if (!given.read(value.get(), plain)) return;
  if (walle_app_return(answer, &plain, &error) != WALLE_OK) walle_app_fail(answer, error.message, nullptr);
}

void ask_app(JNIEnv* env, void* user, const walle_vm_value_t* arguments, size_t count,
             walle_app_answer_t* answer) {
  Row row(env, static_cast<jsize>(count));
  for (size_t i = 0; i < count; ++i) row.add(to_java(env, arguments[i]));
  if (!came_back(env)) return;
  auto* said = static_cast<jobjectArray>(
      env->CallStaticObjectMethod(known().upcalls.type, known().upcalls.app, address(user), row.get()));
  if (came_back(env) && said) pass_on(env, said, answer);
  came_back(env);
}

}  // namespace

void on_log(void* user, const char* task, int level, const char* text, size_t size) {
  JNIEnv* env = env_of_thread();
  const Frame frame(env);
  if (!frame) return;
  jstring name = to_java(env, std::string_view(task));
  jstring line = name ? to_java(env, std::string_view(text, size)) : nullptr;
  if (line)
    env->CallStaticVoidMethod(known().upcalls.type, known().upcalls.log, address(user), name,
                              static_cast<jint>(level), line);
  came_back(env);
}

void on_result(void* user, const walle_task_result_t* result) {
  JNIEnv* env = env_of_thread();
  const Frame frame(env);
  if (!frame) return;
  jobjectArray fields = fields_of(env, *result);
  if (came_back(env))
    env->CallStaticVoidMethod(known().upcalls.type, known().upcalls.result, address(user), fields);
  came_back(env);
}

void on_app(void* user, const walle_vm_value_t* arguments, size_t count, walle_app_answer_t* answer) {
  JNIEnv* env = env_of_thread();
  const Frame frame(env);
  // Beforehand: whatever goes wrong from here on leaves no answer that looks like one.
  walle_app_fail(answer, "no memory for a call of the application", nullptr);
  if (frame) ask_app(env, user, arguments, count, answer);
}

}  // namespace walle::jni
