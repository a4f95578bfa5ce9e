// walle.rt.Native: a device, its events and its tasks.
#include <walle/device.h>

#include "callbacks.h"
#include "errors.h"
#include "values.h"

using walle::jni::address;
using walle::jni::CText;
using walle::jni::CTexts;
using walle::jni::Given;
using walle::jni::guarded;
using walle::jni::pointer;
using walle::jni::Row;
using walle::jni::worked;

namespace {

walle_device_t* device_of(jlong device) { return pointer<walle_device_t>(device); }

std::vector<walle_app_function_t> functions_of(const CTexts& names, const std::vector<int64_t>& numbers) {
  std::vector<walle_app_function_t> out;
  for (size_t i = 0; i < names.size(); ++i)
    out.push_back({names[i], walle::jni::on_app, walle::jni::user_of(numbers[i])});
  return out;
}

jobjectArray described(JNIEnv* env, const walle_task_info_t& info) {
  const auto count = [](uint64_t n) { return static_cast<int64_t>(n); };
  Row row(env, 16);
  row.text(info.name).text(info.version).text(info.status).text(info.error);
  row.number(count(info.firings)).number(count(info.failures)).number(info.failures_in_row);
  row.flag(info.hot != 0).number(count(info.heap_bytes)).number(count(info.lost_workers));
  row.number(count(info.waiting)).number(count(info.dropped)).number(count(info.coalesced));
  row.number(count(info.retries)).number(count(info.retrying)).number(info.next_retry);
  return row.get();
}

jobjectArray described(JNIEnv* env, const walle_loss_t& loss) {
  const auto count = [](uint64_t n) { return static_cast<int64_t>(n); };
  Row row(env, 9);
  row.text(loss.what).text(loss.kind).text(loss.name);
  row.number(count(loss.first)).number(count(loss.last)).number(count(loss.count));
  row.flag(loss.exact != 0).number(loss.noticed).text(loss.cause);
  return row.get();
}

}  // namespace

extern "C" {

// numbers: workers, ready, hot tasks, cold after ms, grace ms, whether nothing runs in the background, log.
JNIEXPORT jlong JNICALL Java_walle_rt_Native_deviceOpen(JNIEnv* env, jclass, jstring path, jstring vm_library,
                                                        jlongArray numbers, jbyteArray key,
                                                        jobjectArray app_names, jlongArray app_numbers) {
  return guarded(env, [&]() -> jlong {
    const CText folder(env, path, "path");
    const CText library(env, vm_library, "vmLibrary");
    if (!folder || !library) return 0;
    const CTexts names(env, app_names, "the name of a function");
    if (!names) return 0;
    const std::vector<int64_t> n = walle::jni::longs_of(env, numbers);
    const std::string secret = walle::jni::bytes_of(env, key);
    const auto functions = functions_of(names, walle::jni::longs_of(env, app_numbers));
    walle_device_options_t options{};
    options.struct_size = sizeof options;
    options.vm_library = library.get();
    options.workers = static_cast<uint32_t>(n[0]);
    options.ready_isolates = static_cast<uint32_t>(n[1]);
    options.hot_tasks = static_cast<uint32_t>(n[2]);
    options.cold_after_ms = static_cast<uint32_t>(n[3]);
    options.grace_ms = static_cast<uint32_t>(n[4]);
    options.no_background = static_cast<uint32_t>(n[5]);
    options.key = key ? secret.data() : nullptr;
    options.key_bytes = secret.size();
    options.log = n[6] ? walle::jni::on_log : nullptr;
    options.log_user = walle::jni::user_of(n[6]);
    options.app = functions.data();
    options.app_count = functions.size();
    walle_error_t error;
    walle_device_t* device = nullptr;
    if (!worked(env, walle_device_open(folder.get(), &options, &device, &error), error)) return 0;
    return address(device);
  });
}

JNIEXPORT void JNICALL Java_walle_rt_Native_deviceClose(JNIEnv* env, jclass, jlong device) {
  walle_error_t error;
  worked(env, walle_device_close(device_of(device), &error), error);
}

JNIEXPORT void JNICALL Java_walle_rt_Native_deviceFree(JNIEnv*, jclass, jlong device) {
  walle_device_free(device_of(device));
}

JNIEXPORT void JNICALL Java_walle_rt_Native_deviceDeclare(JNIEnv* env, jclass, jlong device, jstring event,
                                                          jobjectArray names, jlongArray types,
                                                          jlongArray sensitivities) {
  guarded(env, [&] {
    const CText name(env, event, "the name of an event");
    const CTexts fields(env, names, "the name of a field");
    if (!name || !fields) return;
    const std::vector<int64_t> type = walle::jni::longs_of(env, types);
    const std::vector<int64_t> sensitivity = walle::jni::longs_of(env, sensitivities);
    std::vector<walle_field_t> given;
    for (size_t i = 0; i < fields.size(); ++i)
      given.push_back({fields[i], static_cast<walle_column_type_t>(type[i]),
                       static_cast<walle_sensitivity_t>(sensitivity[i])});
    walle_error_t error;
    worked(env, walle_device_declare(device_of(device), name.get(), given.data(), given.size(), &error),
           error);
  });
}

JNIEXPORT void JNICALL Java_walle_rt_Native_deviceDeclarePage(JNIEnv* env, jclass, jlong device,
                                                              jstring page) {
  guarded(env, [&] {
    const CText name(env, page, "the name of a page");
    walle_error_t error;
    if (name) worked(env, walle_device_declare_page(device_of(device), name.get(), &error), error);
  });
}

JNIEXPORT void JNICALL Java_walle_rt_Native_deviceDeclareState(JNIEnv* env, jclass, jlong device,
                                                               jstring state) {
  guarded(env, [&] {
    const CText name(env, state, "the name of a state");
    walle_error_t error;
    if (name) worked(env, walle_device_declare_state(device_of(device), name.get(), &error), error);
  });
}

JNIEXPORT jlong JNICALL Java_walle_rt_Native_deviceRecord(JNIEnv* env, jclass, jlong device, jstring event,
                                                          jstring page, jobjectArray fields,
                                                          jobjectArray values, jlong ts, jboolean on,
                                                          jboolean durable) {
  return guarded(env, [&]() -> jlong {
    const CText name(env, event, "the name of an event");
    const CText where(env, page, "the name of a page");
    if (!name || !where) return 0;
    const CTexts named(env, fields, "the name of a field");
    Given given(env);
    std::vector<walle_vm_value_t> read;
    if (!named || !given.read_all(values, read)) return 0;
    std::vector<walle_content_t> contents;
    for (size_t i = 0; i < named.size(); ++i) contents.push_back({named[i], read[i]});
    walle_event_t made{};
    made.struct_size = sizeof made;
    made.name = name.get();
    made.page = where.get();
    made.ts = ts;
    made.on = on;
    made.durable = durable;
    made.contents = contents.data();
    made.count = contents.size();
    walle_error_t error;
    uint64_t seq = 0;
    worked(env, walle_device_record(device_of(device), &made, &seq, &error), error);
    return static_cast<jlong>(seq);
  });
}

JNIEXPORT void JNICALL Java_walle_rt_Native_deviceAdvance(JNIEnv* env, jclass, jlong device, jlong now) {
  walle_error_t error;
  worked(env, walle_device_advance(device_of(device), now, &error), error);
}

JNIEXPORT void JNICALL Java_walle_rt_Native_deviceInstall(JNIEnv* env, jclass, jlong device, jstring path) {
  guarded(env, [&] {
    const CText text(env, path, "the path of a task");
    walle_error_t error;
    if (text) worked(env, walle_device_install(device_of(device), text.get(), &error), error);
  });
}

JNIEXPORT void JNICALL Java_walle_rt_Native_deviceInstallData(JNIEnv* env, jclass, jlong device,
                                                              jbyteArray bytes) {
  guarded(env, [&] {
    const std::string data = walle::jni::bytes_of(env, bytes);
    walle_error_t error;
    worked(env, walle_device_install_data(device_of(device), data.data(), data.size(), &error), error);
  });
}

JNIEXPORT void JNICALL Java_walle_rt_Native_deviceRemove(JNIEnv* env, jclass, jlong device, jstring task) {
  guarded(env, [&] {
    const CText name(env, task, "the name of a task");
    walle_error_t error;
    if (name) worked(env, walle_device_remove(device_of(device), name.get(), &error), error);
  });
}

JNIEXPORT void JNICALL Java_walle_rt_Native_deviceSetFact(JNIEnv* env, jclass, jlong device, jstring fact,
                                                          jboolean holds) {
  guarded(env, [&] {
    const CText name(env, fact, "the name of a fact");
    walle_error_t error;
    if (name) worked(env, walle_device_set_fact(device_of(device), name.get(), holds, &error), error);
  });
}

// offsets: from, offset, from, offset ...
JNIEXPORT void JNICALL Java_walle_rt_Native_deviceSetLocalTime(JNIEnv* env, jclass, jlong device,
                                                               jlongArray offsets) {
  guarded(env, [&] {
    const std::vector<int64_t> n = walle::jni::longs_of(env, offsets);
    std::vector<walle_utc_offset_t> changes;
    for (size_t i = 0; i + 1 < n.size(); i += 2) changes.push_back({n[i], n[i + 1]});
    walle_error_t error;
    worked(env,
           walle_device_set_local_time(device_of(device), changes.empty() ? nullptr : changes.data(),
                                       changes.size(), &error),
           error);
  });
}

JNIEXPORT jobjectArray JNICALL Java_walle_rt_Native_deviceTasks(JNIEnv* env, jclass, jlong device) {
  return guarded(env, [&]() -> jobjectArray {
    walle_error_t error;
    walle_device_tasks_t* tasks = nullptr;
    if (!worked(env, walle_device_tasks(device_of(device), &tasks, &error), error)) return nullptr;
    const size_t count = walle_device_tasks_count(tasks);
    Row rows(env, static_cast<jsize>(count));
    for (size_t i = 0; i < count; ++i) rows.add(described(env, *walle_device_tasks_at(tasks, i)));
    walle_device_tasks_free(tasks);
    return rows.get();
  });
}

JNIEXPORT jobjectArray JNICALL Java_walle_rt_Native_deviceLosses(JNIEnv* env, jclass, jlong device,
                                                                 jboolean verify) {
  return guarded(env, [&]() -> jobjectArray {
    walle_error_t error;
    walle_device_losses_t* losses = nullptr;
    if (!worked(env, walle_device_losses(device_of(device), verify, &losses, &error), error)) return nullptr;
    const size_t count = walle_device_losses_count(losses);
    Row rows(env, static_cast<jsize>(count));
    for (size_t i = 0; i < count; ++i) rows.add(described(env, *walle_device_losses_at(losses, i)));
    walle_device_losses_free(losses);
    return rows.get();
  });
}

JNIEXPORT void JNICALL Java_walle_rt_Native_deviceAcknowledgeLosses(JNIEnv* env, jclass, jlong device) {
  walle_error_t error;
  worked(env, walle_device_acknowledge_losses(device_of(device), &error), error);
}

JNIEXPORT jboolean JNICALL Java_walle_rt_Native_deviceWait(JNIEnv* env, jclass, jlong device, jint ms) {
  walle_error_t error;
  int idle = 0;
  worked(env, walle_device_wait(device_of(device), static_cast<uint32_t>(ms), &idle, &error), error);
  return idle != 0;
}

JNIEXPORT void JNICALL Java_walle_rt_Native_deviceOnResult(JNIEnv* env, jclass, jlong device, jlong number) {
  walle_error_t error;
  worked(env,
         walle_device_on_result(device_of(device), number ? walle::jni::on_result : nullptr,
                                walle::jni::user_of(number), &error),
         error);
}

}  // extern "C"
