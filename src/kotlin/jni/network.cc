// The app's HTTP stack and its stream, behind walle_http_t and walle_stream_t.
#include <algorithm>
#include <cstring>

#include "callbacks.h"
#include "errors.h"
#include "values.h"

namespace walle::jni {

namespace {

// Where a reply's body goes while its request is under way.
struct Sink {
  walle_http_sink_t take;
  void* sink;
};

// {method, url, content type, name, value, name, value ...}
jobjectArray texts_of(JNIEnv* env, const walle_http_request_t& request) {
  const auto count = static_cast<jsize>(3 + 2 * request.header_count);
  jobjectArray out = env->NewObjectArray(count, known().string, nullptr);
  for (jsize i = 0; out && i < count; ++i) {
    const char* text = i == 0   ? request.method
                       : i == 1 ? request.url
                       : i == 2 ? request.content_type
                                : request.headers[i - 3];
    if (!text) continue;
    const Local<jstring> held(env, to_java(env, std::string_view(text)));
    if (!held) return nullptr;
    env->SetObjectArrayElement(out, i, held.get());
  }
  return out;
}

// Zero at the end, cut to fit.
void copy_text(char* out, size_t size, const std::string& text) {
  if (size == 0) return;
  const size_t length = std::min(text.size(), size - 1);
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
}

jobjectArray peer_of(JNIEnv* env, const walle_stream_peer_t& peer) {
  const char* texts[] = {peer.host, peer.authorities, peer.certificate, peer.key};
  jobjectArray out = env->NewObjectArray(4, known().string, nullptr);
  for (jsize i = 0; out && i < 4; ++i) {
    const Local<jstring> held(env, to_java(env, std::string_view(texts[i])));
    if (!held) return nullptr;
    env->SetObjectArrayElement(out, i, held.get());
  }
  return out;
}

// A connection is the number that Kotlin gave it; {number, why not}.
void* stream_connect(void* user, const walle_stream_peer_t* peer, char* why, size_t why_bytes) {
  JNIEnv* env = env_of_thread();
  const Frame frame(env);
  if (!frame) return nullptr;
  jobjectArray texts = peer_of(env, *peer);
  if (!came_back(env)) return nullptr;
  auto* said = static_cast<jobjectArray>(
      env->CallStaticObjectMethod(known().upcalls.type, known().upcalls.connect, address(user), texts,
                                  static_cast<jint>(peer->port), static_cast<jint>(peer->timeout_ms)));
  if (!came_back(env) || !said) return nullptr;
  jobject number = env->GetObjectArrayElement(said, 0);
  if (number) {
    const jlong connection = env->CallLongMethod(number, known().integer_value);
    return came_back(env) ? pointer<void>(connection) : nullptr;
  }
  copy_text(why, why_bytes, to_utf8(env, static_cast<jstring>(env->GetObjectArrayElement(said, 1))));
  return nullptr;
}

// More than a TLS record is never there at once.
constexpr size_t kPiece = 16384;

int64_t stream_read(void*, void* connection, void* to, size_t size) {
  JNIEnv* env = env_of_thread();
  const Frame frame(env);
  if (!frame) return -1;
  const auto room = static_cast<jsize>(std::min(size, kPiece));
  jbyteArray bytes = env->NewByteArray(room);
  const jint count =
      bytes ? env->CallStaticIntMethod(known().upcalls.type, known().upcalls.read, address(connection), bytes)
            : -1;
  if (!came_back(env) || count > room) return -1;
  if (count > 0) env->GetByteArrayRegion(bytes, 0, count, static_cast<jbyte*>(to));
  return count;
}

int64_t stream_write(void*, void* connection, const void* bytes, size_t size) {
  JNIEnv* env = env_of_thread();
  const Frame frame(env);
  if (!frame) return -1;
  jbyteArray piece = byte_array(env, bytes, std::min(size, kPiece));
  const jint count = piece ? env->CallStaticIntMethod(known().upcalls.type, known().upcalls.write,
                                                      address(connection), piece)
                           : -1;
  return came_back(env) ? count : -1;
}

void stream_cancel(void* user, void* connection) {
  JNIEnv* env = env_of_thread();
  const Frame frame(env);
  if (!frame) return;
  env->CallStaticVoidMethod(known().upcalls.type, known().upcalls.cancel, address(user), address(connection));
  came_back(env);
}

void stream_close(void*, void* connection) {
  JNIEnv* env = env_of_thread();
  const Frame frame(env);
  if (!frame) return;
  env->CallStaticVoidMethod(known().upcalls.type, known().upcalls.disconnect, address(connection));
  came_back(env);
}

}  // namespace

int on_http(void* user, const walle_http_request_t* request, walle_http_sink_t take, void* sink) {
  JNIEnv* env = env_of_thread();
  const Frame frame(env);
  if (!frame) return 0;
  Sink to{take, sink};
  jobjectArray texts = texts_of(env, *request);
  jbyteArray body = request->body ? byte_array(env, request->body, request->body_bytes) : nullptr;
  if (!came_back(env)) return 0;
  const jint status = env->CallStaticIntMethod(known().upcalls.type, known().upcalls.http, address(user),
                                               address(&to), texts, static_cast<jlong>(request->from), body);
  return came_back(env) ? status : 0;
}

walle_stream_t stream_of(jlong number) {
  walle_stream_t stream{};
  stream.struct_size = sizeof stream;
  stream.user = user_of(number);
  stream.connect = stream_connect;
  stream.read = stream_read;
  stream.write = stream_write;
  stream.cancel = stream_cancel;
  stream.close = stream_close;
  return stream;
}

}  // namespace walle::jni

// Whether more is wanted. `sink` is good during the request that came with it, which Kotlin sees to.
extern "C" JNIEXPORT jboolean JNICALL Java_walle_rt_Native_httpTake(JNIEnv* env, jclass, jlong sink,
                                                                    jbyteArray bytes, jint size) {
  return walle::jni::guarded(env, [&]() -> jboolean {
    const auto* to = walle::jni::pointer<walle::jni::Sink>(sink);
    std::string piece(static_cast<size_t>(size), '\0');
    env->GetByteArrayRegion(bytes, 0, size, reinterpret_cast<jbyte*>(piece.data()));
    if (env->ExceptionCheck()) return JNI_FALSE;
    return to->take(to->sink, piece.data(), piece.size()) == 0;
  });
}
