// walle.rt.Native: what an application asks a task, is asked by it, and finds in its tables.
#include <walle/device.h>

#include <algorithm>

#include "callbacks.h"
#include "errors.h"
#include "values.h"

using walle::jni::CText;
using walle::jni::Given;
using walle::jni::guarded;
using walle::jni::Local;
using walle::jni::pointer;
using walle::jni::Row;
using walle::jni::worked;

namespace {

walle_device_t* device_of(jlong device) { return pointer<walle_device_t>(device); }

jobject answer_of(JNIEnv* env, walle_vm_result_t* result) {
  const walle_vm_value_t* value = walle_vm_result_value(result);
  jobject out = value ? walle::jni::to_java(env, *value) : nullptr;
  walle_vm_result_free(result);
  return out;
}

jobject texts_of(JNIEnv* env, const walle_column_t& column, size_t count) {
  Row row(env, static_cast<jsize>(count));
  for (size_t i = 0; i < count; ++i) {
    const walle_text_t& text = column.texts[i];
    if (column.type == WALLE_COLUMN_BYTES) {
      row.add(walle::jni::byte_array(env, text.data, text.size));
    } else {
      row.add(walle::jni::to_java(env, std::string_view(text.data, text.size)));
    }
  }
  return row.get();
}

jobject contents_of(JNIEnv* env, const walle_column_t& column, size_t count) {
  const auto size = static_cast<jsize>(count);
  switch (column.type) {
    case WALLE_COLUMN_INT: return walle::jni::long_array(env, column.ints, count);
    case WALLE_COLUMN_BOOL: return walle::jni::byte_array(env, column.bools, count);
    case WALLE_COLUMN_FLOAT: {
      jdoubleArray out = env->NewDoubleArray(size);
      if (out) env->SetDoubleArrayRegion(out, 0, size, column.floats);
      return out;
    }
    case WALLE_COLUMN_TEXT:
    case WALLE_COLUMN_BYTES: return texts_of(env, column, count);
  }
  return nullptr;
}

// {numbers, times, {name, type, present, contents} ...}
jobjectArray columns_of(JNIEnv* env, const walle_device_rows_t* rows) {
  const size_t count = walle_device_rows_count(rows);
  const size_t columns = walle_device_rows_columns(rows);
  Row out(env, static_cast<jsize>(2 + columns));
  std::vector<int64_t> numbers(count);
  std::copy_n(walle_device_rows_numbers(rows), count, numbers.begin());
  out.add(walle::jni::long_array(env, numbers.data(), count));
  out.add(walle::jni::long_array(env, walle_device_rows_times(rows), count));
  for (size_t i = 0; i < columns && !env->ExceptionCheck(); ++i) {
    const walle_column_t& column = *walle_device_rows_column(rows, i);
    Row row(env, 4);
    row.text(column.name).number(column.type);
    row.add(walle::jni::byte_array(env, column.present, count)).add(contents_of(env, column, count));
    out.add(row.get());
  }
  return out.get();
}

}  // namespace

extern "C" {

JNIEXPORT jobject JNICALL Java_walle_rt_Native_deviceCall(JNIEnv* env, jclass, jlong device, jstring task,
                                                          jstring function, jobjectArray arguments,
                                                          jdouble timeout) {
  return guarded(env, [&]() -> jobject {
    const CText name(env, task, "the name of a task");
    const CText called(env, function, "the name of a function");
    if (!name || !called) return nullptr;
    Given given(env);
    std::vector<walle_vm_value_t> values;
    if (!given.read_all(arguments, values)) return nullptr;
    walle_error_t error;
    walle_vm_result_t* result = nullptr;
    if (!worked(env,
                walle_device_call(device_of(device), name.get(), called.get(), values.data(), values.size(),
                                  timeout, &result, &error),
                error))
      return nullptr;
    return answer_of(env, result);
  });
}

JNIEXPORT jobject JNICALL Java_walle_rt_Native_deviceFeatures(JNIEnv* env, jclass, jlong device, jstring task,
                                                              jstring name, jobject keys) {
  return guarded(env, [&]() -> jobject {
    const CText of(env, task, "the name of a task");
    const CText feature(env, name, "the name of a feature");
    if (!of || !feature) return nullptr;
    Given given(env);
    walle_vm_value_t value;
    if (!given.read(keys, value)) return nullptr;
    walle_error_t error;
    walle_vm_result_t* result = nullptr;
    if (!worked(env,
                walle_device_features(device_of(device), of.get(), feature.get(), &value, &result, &error),
                error))
      return nullptr;
    return answer_of(env, result);
  });
}

JNIEXPORT void JNICALL Java_walle_rt_Native_deviceSetParams(JNIEnv* env, jclass, jlong device, jstring task,
                                                            jobject params) {
  guarded(env, [&] {
    const CText name(env, task, "the name of a task");
    Given given(env);
    walle_vm_value_t value;
    walle_error_t error;
    if (name && given.read(params, value))
      worked(env, walle_device_set_params(device_of(device), name.get(), &value, &error), error);
  });
}

// number 0: not any more.
JNIEXPORT void JNICALL Java_walle_rt_Native_deviceProvide(JNIEnv* env, jclass, jlong device, jstring name,
                                                          jlong number) {
  guarded(env, [&] {
    const CText called(env, name, "the name of a function");
    walle_error_t error;
    if (called)
      worked(env,
             walle_device_provide(device_of(device), called.get(), number ? walle::jni::on_app : nullptr,
                                  walle::jni::user_of(number), &error),
             error);
  });
}

JNIEXPORT jobjectArray JNICALL Java_walle_rt_Native_deviceRead(JNIEnv* env, jclass, jlong device,
                                                               jstring task, jstring table, jlong from,
                                                               jlong limit) {
  return guarded(env, [&]() -> jobjectArray {
    const CText name(env, task, "the name of a task");
    const CText of(env, table, "the name of a table");
    if (!name || !of) return nullptr;
    walle_error_t error;
    walle_device_rows_t* rows = nullptr;
    if (!worked(env,
                walle_device_read(device_of(device), name.get(), of.get(), static_cast<uint64_t>(from),
                                  static_cast<uint64_t>(limit), &rows, &error),
                error))
      return nullptr;
    jobjectArray out = columns_of(env, rows);
    walle_device_rows_free(rows);
    return out;
  });
}

}  // extern "C"
