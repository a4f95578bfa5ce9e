// walle.rt.Native: models.
#include <walle/walle.h>

#include <algorithm>

#include "errors.h"
#include "values.h"

using walle::jni::CText;
using walle::jni::guarded;
using walle::jni::Row;
using walle::jni::worked;

namespace {

walle_model_t* model_of(jlong model) { return walle::jni::pointer<walle_model_t>(model); }

// Which values of a model, as walle.rt.Model numbers them.
enum Side { kInputs = 0, kOutputs = 1, kOverridable = 2, kStates = 3 };

size_t count_of(const walle_model_t* model, jint side) {
  switch (side) {
    case kInputs: return walle_model_input_count(model);
    case kOutputs: return walle_model_output_count(model);
    case kOverridable: return walle_model_overridable_count(model);
    default: return walle_model_state_count(model);
  }
}

walle_status_t value_of(const walle_model_t* model, jint side, size_t index, walle_value_info_t* info,
                        walle_error_t* error) {
  switch (side) {
    case kInputs: return walle_model_input(model, index, info, error);
    case kOutputs: return walle_model_output(model, index, info, error);
    case kOverridable: return walle_model_overridable(model, index, info, error);
    default: return walle_model_state(model, index, info, error);
  }
}

const char* symbol_of(const walle_model_t* model, jint side, size_t index, int32_t axis) {
  if (side == kInputs) return walle_model_input_symbol(model, index, axis);
  if (side == kOutputs) return walle_model_output_symbol(model, index, axis);
  return nullptr;
}

jobjectArray described(JNIEnv* env, const walle_model_t* model, jint side, size_t index) {
  walle_value_info_t info;
  walle_error_t error;
  if (!worked(env, value_of(model, side, index, &info, &error), error)) return nullptr;
  const int32_t rank = std::max(info.rank, 0);
  Row symbols(env, rank);
  for (int32_t axis = 0; axis < rank; ++axis) symbols.text(symbol_of(model, side, index, axis));
  Row row(env, 4);
  row.text(info.name).number(info.dtype);
  row.add(info.rank < 0 ? nullptr : walle::jni::long_array(env, info.shape, static_cast<size_t>(rank)));
  row.add(symbols.get());
  return row.get();
}

using NameOf = const char* (*)(const walle_model_t*, size_t, size_t, const char**);

// Public name, graph's name, public name ...
jobjectArray names_of(JNIEnv* env, const walle_model_t* model, size_t signature, NameOf name_of) {
  jsize count = 0;
  while (name_of(model, signature, static_cast<size_t>(count), nullptr)) ++count;
  Row row(env, 2 * count);
  for (jsize i = 0; i < count; ++i) {
    const char* graph_name = nullptr;
    row.text(name_of(model, signature, static_cast<size_t>(i), &graph_name));
    row.text(graph_name);
  }
  return row.get();
}

}  // namespace

extern "C" {

JNIEXPORT jstring JNICALL Java_walle_rt_Native_version(JNIEnv* env, jclass) {
  return guarded(env, [&] { return walle::jni::to_java(env, std::string_view(walle_version())); });
}

JNIEXPORT jstring JNICALL Java_walle_rt_Native_dtypeName(JNIEnv* env, jclass, jint dtype) {
  return guarded(env, [&]() -> jstring {
    const char* name = walle_dtype_name(static_cast<walle_dtype_t>(dtype));
    return name ? walle::jni::to_java(env, std::string_view(name)) : nullptr;
  });
}

JNIEXPORT jint JNICALL Java_walle_rt_Native_dtypeSize(JNIEnv*, jclass, jint dtype) {
  return static_cast<jint>(walle_dtype_size(static_cast<walle_dtype_t>(dtype)));
}

JNIEXPORT jlong JNICALL Java_walle_rt_Native_modelLoad(JNIEnv* env, jclass, jstring path) {
  return guarded(env, [&]() -> jlong {
    walle_error_t error;
    walle_model_t* model = nullptr;
    const CText text(env, path, "path");
    if (!text || !worked(env, walle_model_load(text.get(), &model, &error), error)) return 0;
    return walle::jni::address(model);
  });
}

JNIEXPORT jlong JNICALL Java_walle_rt_Native_modelParse(JNIEnv* env, jclass, jobject bytes) {
  return guarded(env, [&]() -> jlong {
    walle_error_t error;
    walle_model_t* model = nullptr;
    const void* data = env->GetDirectBufferAddress(bytes);
    const auto size = static_cast<size_t>(env->GetDirectBufferCapacity(bytes));
    if (!worked(env, walle_model_parse(data, size, &model, &error), error)) return 0;
    return walle::jni::address(model);
  });
}

JNIEXPORT void JNICALL Java_walle_rt_Native_modelFree(JNIEnv*, jclass, jlong model) {
  walle_model_free(model_of(model));
}

JNIEXPORT jobjectArray JNICALL Java_walle_rt_Native_modelValues(JNIEnv* env, jclass, jlong model, jint side) {
  return guarded(env, [&] {
    const size_t count = count_of(model_of(model), side);
    Row row(env, static_cast<jsize>(count));
    for (size_t i = 0; i < count && !env->ExceptionCheck(); ++i)
      row.add(described(env, model_of(model), side, i));
    return row.get();
  });
}

JNIEXPORT jobjectArray JNICALL Java_walle_rt_Native_modelMetadata(JNIEnv* env, jclass, jlong model) {
  return guarded(env, [&] {
    const walle_model_t* of = model_of(model);
    const size_t count = walle_model_metadata_count(of);
    Row row(env, static_cast<jsize>(2 * count));
    for (size_t i = 0; i < count; ++i) {
      const char* key = walle_model_metadata_key(of, i);
      row.text(key).text(walle_model_metadata(of, key));
    }
    return row.get();
  });
}

JNIEXPORT jobjectArray JNICALL Java_walle_rt_Native_modelSignatures(JNIEnv* env, jclass, jlong model) {
  return guarded(env, [&] {
    const walle_model_t* of = model_of(model);
    const size_t count = walle_model_signature_count(of);
    Row row(env, static_cast<jsize>(3 * count));
    for (size_t i = 0; i < count; ++i) {
      row.text(walle_model_signature_name(of, i));
      row.add(names_of(env, of, i, walle_model_signature_input));
      row.add(names_of(env, of, i, walle_model_signature_output));
    }
    return row.get();
  });
}

}  // extern "C"
