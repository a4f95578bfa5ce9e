// walle.rt.Native: a device and its server.
#include <walle/device.h>

#include "callbacks.h"
#include "errors.h"
#include "values.h"

using walle::jni::CText;
using walle::jni::CTexts;
using walle::jni::guarded;
using walle::jni::pointer;
using walle::jni::Row;
using walle::jni::worked;

namespace {
walle_device_t* device_of(jlong device) { return pointer<walle_device_t>(device); }
}  // namespace

extern "C" {

// texts: url, app, its version, the system's version, the model, the code, the broker; numbers: HTTP stack,
// stream, keys, milliseconds until a version is reported, whether a code may go in the clear.
JNIEXPORT void JNICALL Java_walle_rt_Native_deviceConnect(JNIEnv* env, jclass, jlong device,
                                                          jobjectArray texts, jbyteArray root,
                                                          jlongArray numbers) {
  guarded(env, [&] {
    const CTexts text(env, texts, "an option of the connection");
    if (!text) return;
    const std::vector<int64_t> n = walle::jni::longs_of(env, numbers);
    const std::string believed = walle::jni::bytes_of(env, root);
    const walle_stream_t stream = walle::jni::stream_of(n[1]);
    const walle_keys_t keys = walle::jni::keys_of(n[2]);
    walle_cloud_options_t options{};
    options.struct_size = sizeof options;
    options.url = text[0];
    options.app = text[1];
    options.app_version = text[2];
    options.os_version = text[3];
    options.device = text[4];
    options.enrol_code = text[5];
    options.broker = text[6];
    options.root = root ? believed.data() : nullptr;
    options.root_bytes = believed.size();
    options.http = walle::jni::on_http;
    options.http_user = walle::jni::user_of(n[0]);
    options.stream = &stream;
    options.keys = &keys;
    options.report_after_ms = static_cast<uint32_t>(n[3]);
    options.plain_enrolment = static_cast<uint32_t>(n[4]);
    walle_error_t error;
    worked(env, walle_device_connect(device_of(device), &options, &error), error);
  });
}

JNIEXPORT void JNICALL Java_walle_rt_Native_deviceDisconnect(JNIEnv* env, jclass, jlong device) {
  walle_error_t error;
  worked(env, walle_device_disconnect(device_of(device), &error), error);
}

JNIEXPORT jobjectArray JNICALL Java_walle_rt_Native_deviceCloud(JNIEnv* env, jclass, jlong device) {
  return guarded(env, [&]() -> jobjectArray {
    walle_cloud_state_t state{};
    state.struct_size = sizeof state;
    walle_error_t error;
    if (!worked(env, walle_device_cloud(device_of(device), &state, &error), error)) return nullptr;
    Row row(env, 10);
    row.text(state.device_id).text(state.transport).number(static_cast<int64_t>(state.epoch));
    row.flag(state.pulling != 0).number(static_cast<int64_t>(state.pulls)).text(state.error);
    row.number(static_cast<int64_t>(state.reports)).text(state.tunnel);
    row.number(static_cast<int64_t>(state.acknowledged)).text(state.tunnel_error);
    return row.get();
  });
}

JNIEXPORT jstring JNICALL Java_walle_rt_Native_deviceHeader(JNIEnv* env, jclass, jlong device) {
  return guarded(env, [&]() -> jstring {
    char text[WALLE_DEVICE_HEADER_BYTES];
    walle_error_t error;
    if (!worked(env, walle_device_header(device_of(device), text, &error), error)) return nullptr;
    return walle::jni::to_java(env, std::string_view(text));
  });
}

JNIEXPORT void JNICALL Java_walle_rt_Native_deviceSawHeader(JNIEnv* env, jclass, jlong device, jstring name,
                                                            jstring value) {
  guarded(env, [&] {
    const CText of(env, name, "the name of a header");
    const CText said(env, value, "the value of a header");
    walle_error_t error;
    if (of && said)
      worked(env, walle_device_saw_header(device_of(device), of.get(), said.get(), &error), error);
  });
}

JNIEXPORT void JNICALL Java_walle_rt_Native_devicePull(JNIEnv* env, jclass, jlong device) {
  walle_error_t error;
  worked(env, walle_device_pull(device_of(device), &error), error);
}

}  // extern "C"
