// What libwalle calls: functions of the C API that ask Kotlin. Each knows whom by the number that
// walle.rt.Upcalls keeps; an exception over there has become an answer before it comes back.
#pragma once

#include <jni.h>
#include <walle/device.h>

#include "jvm.h"

namespace walle::jni {

inline void* user_of(jlong number) { return pointer<void>(number); }

// Kotlin catches what its callbacks throw; what is left is memory that is short. Whether nothing was.
bool came_back(JNIEnv* env);

void on_log(void* user, const char* task, int level, const char* text, size_t size);
void on_result(void* user, const walle_task_result_t* result);
void on_app(void* user, const walle_vm_value_t* arguments, size_t count, walle_app_answer_t* answer);
int on_http(void* user, const walle_http_request_t* request, walle_http_sink_t take, void* sink);
// The app's stream and its keys; `number` names them.
walle_stream_t stream_of(jlong number);
walle_keys_t keys_of(jlong number);

}  // namespace walle::jni
