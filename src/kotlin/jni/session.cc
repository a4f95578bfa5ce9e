// walle.rt.Native: sessions and their runs.
#include <walle/walle.h>

#include "errors.h"
#include "tensors.h"
#include "values.h"

using walle::jni::CText;
using walle::jni::CTexts;
using walle::jni::guarded;
using walle::jni::Row;
using walle::jni::Tensors;
using walle::jni::worked;

namespace {

walle_session_t* session_of(jlong session) { return walle::jni::pointer<walle_session_t>(session); }
walle_cancel_t* cancel_of(jlong cancel) { return walle::jni::pointer<walle_cancel_t>(cancel); }

// Freed when the rows are made.
struct Results {
  walle_results_t* held = nullptr;
  ~Results() { walle_results_free(held); }
};

}  // namespace

extern "C" {

// texts: backend, precision, accuracy, plan cache, weights cache, debug; numbers: threads, tune, plans kept,
// bytes of them.
JNIEXPORT jlong JNICALL Java_walle_rt_Native_sessionCreate(JNIEnv* env, jclass, jlong model,
                                                           jobjectArray texts, jlongArray numbers) {
  return guarded(env, [&]() -> jlong {
    const CTexts text(env, texts, "an option of the session");
    const std::vector<int64_t> number = walle::jni::longs_of(env, numbers);
    if (!text) return 0;
    walle_session_options_t options{};
    options.struct_size = sizeof options;
    options.backend = text[0];
    options.precision = text[1];
    options.accuracy = text[2];
    options.plan_cache = text[3];
    options.weights_cache = text[4];
    options.debug = text[5];
    options.threads = static_cast<int32_t>(number[0]);
    options.tune = static_cast<int32_t>(number[1]);
    options.max_plans = static_cast<int32_t>(number[2]);
    options.max_plan_bytes = number[3];
    walle_error_t error;
    walle_session_t* session = nullptr;
    const auto* of = walle::jni::pointer<const walle_model_t>(model);
    if (!worked(env, walle_session_create(of, &options, &session, &error), error)) return 0;
    return walle::jni::address(session);
  });
}

JNIEXPORT void JNICALL Java_walle_rt_Native_sessionFree(JNIEnv*, jclass, jlong session) {
  walle_session_free(session_of(session));
}

JNIEXPORT jobjectArray JNICALL Java_walle_rt_Native_sessionRun(
    JNIEnv* env, jclass, jlong session, jstring signature, jdouble timeout, jlong cancel, jobjectArray names,
    jintArray dtypes, jobjectArray shapes, jobjectArray memory, jobjectArray out_names, jintArray out_dtypes,
    jobjectArray out_shapes, jobjectArray out_memory) {
  return guarded(env, [&]() -> jobjectArray {
    const CText signed_as(env, signature, "signature");
    const Tensors inputs(env, names, dtypes, shapes, memory);
    if (!signed_as || !inputs) return nullptr;
    const Tensors outputs(env, out_names, out_dtypes, out_shapes, out_memory);
    if (!outputs) return nullptr;
    const std::vector<walle_result_memory_t> kept = outputs.as_memory();
    walle_run_options_t options{};
    options.struct_size = sizeof options;
    options.signature = signed_as.get();
    options.timeout = timeout;
    options.cancel = cancel_of(cancel);
    options.memory = kept.data();
    options.memory_count = kept.size();
    walle_error_t error;
    Results results;
    if (!worked(env,
                walle_session_run_with(session_of(session), &options, inputs.all().data(),
                                       inputs.all().size(), &results.held, &error),
                error))
      return nullptr;
    return walle::jni::rows_of(env, results.held, kept);
  });
}

JNIEXPORT void JNICALL Java_walle_rt_Native_sessionPrepare(JNIEnv* env, jclass, jlong session,
                                                           jobjectArray names, jintArray dtypes,
                                                           jobjectArray shapes, jobjectArray memory) {
  guarded(env, [&] {
    const Tensors inputs(env, names, dtypes, shapes, memory);
    walle_error_t error;
    if (inputs)
      worked(env,
             walle_session_prepare(session_of(session), inputs.all().data(), inputs.all().size(), &error),
             error);
  });
}

JNIEXPORT jstring JNICALL Java_walle_rt_Native_sessionExplain(JNIEnv* env, jclass, jlong session) {
  return guarded(env, [&]() -> jstring {
    walle_error_t error;
    const char* text = nullptr;
    if (!worked(env, walle_session_explain(session_of(session), &text, &error), error)) return nullptr;
    return walle::jni::to_java(env, std::string_view(text));
  });
}

JNIEXPORT jobjectArray JNICALL Java_walle_rt_Native_sessionState(JNIEnv* env, jclass, jlong session,
                                                                 jstring name) {
  return guarded(env, [&]() -> jobjectArray {
    const CText text(env, name, "the name of a state");
    walle_error_t error;
    Results contents;
    if (!text ||
        !worked(env, walle_session_state(session_of(session), text.get(), &contents.held, &error), error))
      return nullptr;
    return walle::jni::rows_of(env, contents.held, {});
  });
}

JNIEXPORT void JNICALL Java_walle_rt_Native_sessionSetState(JNIEnv* env, jclass, jlong session,
                                                            jobjectArray names, jintArray dtypes,
                                                            jobjectArray shapes, jobjectArray memory) {
  guarded(env, [&] {
    const Tensors value(env, names, dtypes, shapes, memory);
    walle_error_t error;
    if (value) worked(env, walle_session_set_state(session_of(session), value.all().data(), &error), error);
  });
}

JNIEXPORT void JNICALL Java_walle_rt_Native_sessionResetStates(JNIEnv* env, jclass, jlong session) {
  walle_error_t error;
  worked(env, walle_session_reset_states(session_of(session), &error), error);
}

JNIEXPORT jlong JNICALL Java_walle_rt_Native_cancelCreate(JNIEnv* env, jclass) {
  walle_cancel_t* cancel = walle_cancel_create();
  if (!cancel) walle::jni::throw_memory_error(env);
  return walle::jni::address(cancel);
}

JNIEXPORT void JNICALL Java_walle_rt_Native_cancelRequest(JNIEnv*, jclass, jlong cancel) {
  walle_cancel_request(cancel_of(cancel));
}

JNIEXPORT void JNICALL Java_walle_rt_Native_cancelFree(JNIEnv*, jclass, jlong cancel) {
  walle_cancel_free(cancel_of(cancel));
}

}  // extern "C"
