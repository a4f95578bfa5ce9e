#include "jvm.h"

namespace walle::jni {

namespace {

Known g_known{};
JavaVM* g_vm = nullptr;

// Leaves the JVM when the thread ends.
struct Attached {
  JNIEnv* env = nullptr;
  ~Attached() {
    if (env) g_vm->DetachCurrentThread();
  }
};

JNIEnv* attach() {
  JavaVMAttachArgs arguments{JNI_VERSION_1_6, const_cast<char*>("walle"), nullptr};
  JNIEnv* env = nullptr;
#ifdef __ANDROID__
  const jint status = g_vm->AttachCurrentThreadAsDaemon(&env, &arguments);
#else
  const jint status = g_vm->AttachCurrentThreadAsDaemon(reinterpret_cast<void**>(&env), &arguments);
#endif
  return status == JNI_OK ? env : nullptr;
}

// Looks names up until one is missing; then a Java exception says which.
class Finder {
 public:
  explicit Finder(JNIEnv* env) : env_(env) {}

  jclass type(const char* name) {
    if (failed_) return nullptr;
    const Local<jclass> found(env_, env_->FindClass(name));
    return found ? checked(static_cast<jclass>(env_->NewGlobalRef(found.get()))) : checked<jclass>(nullptr);
  }
  jmethodID upcall(const char* name, const char* signature) {
    return failed_ ? nullptr : checked(env_->GetStaticMethodID(upcalls_, name, signature));
  }
  jmethodID make(jclass type, const char* signature) {
    return failed_ ? nullptr : checked(env_->GetStaticMethodID(type, "valueOf", signature));
  }
  jmethodID method(jclass type, const char* name, const char* signature) {
    return failed_ ? nullptr : checked(env_->GetMethodID(type, name, signature));
  }
  jfieldID field(jclass type, const char* name, const char* signature) {
    return failed_ ? nullptr : checked(env_->GetFieldID(type, name, signature));
  }
  void upcalls_are(jclass type) { upcalls_ = type; }
  bool failed() const { return failed_; }

 private:
  template <class Type>
  Type checked(Type found) {
    failed_ = failed_ || found == nullptr;
    return found;
  }

  JNIEnv* env_;
  jclass upcalls_ = nullptr;
  bool failed_ = false;
};

Upcalls find_upcalls(Finder& find) {
  Upcalls out{};
  out.type = find.type("walle/rt/Upcalls");
  find.upcalls_are(out.type);
  out.error = find.upcall("error", "(ILjava/lang/String;)Ljava/lang/Throwable;");
  out.memory = find.upcall("memory", "(J)Ljava/nio/ByteBuffer;");
  out.list = find.upcall("list", "([Ljava/lang/Object;)Ljava/lang/Object;");
  out.map = find.upcall("map", "([Ljava/lang/Object;)Ljava/lang/Object;");
  out.tensor = find.upcall("tensor", "(I[JLjava/nio/ByteBuffer;)Ljava/lang/Object;");
  out.result = find.upcall("result", "(J[Ljava/lang/Object;)V");
  out.log = find.upcall("log", "(JLjava/lang/String;ILjava/lang/String;)V");
  out.app = find.upcall("app", "(J[Ljava/lang/Object;)[Ljava/lang/Object;");
  out.http = find.upcall("http", "(JJ[Ljava/lang/String;J[B)I");
  out.connect = find.upcall("connect", "(J[Ljava/lang/String;II)[Ljava/lang/Object;");
  out.read = find.upcall("read", "(J[B)I");
  out.write = find.upcall("write", "(J[B)I");
  out.cancel = find.upcall("cancel", "(JJ)V");
  out.disconnect = find.upcall("disconnect", "(J)V");
  out.make_key = find.upcall("makeKey", "(J)Ljava/lang/String;");
  out.request_of = find.upcall("requestOf", "(JLjava/lang/String;)Ljava/lang/String;");
  out.is_of = find.upcall("isOf", "(JLjava/lang/String;Ljava/lang/String;)Z");
  out.sign = find.upcall("sign", "(JLjava/lang/String;[B)[B");
  return out;
}

bool find_all(JNIEnv* env) {
  Finder find(env);
  Known& k = g_known;
  k.upcalls = find_upcalls(find);
  k.object = find.type("java/lang/Object");
  k.string = find.type("java/lang/String");
  k.boolean = find.type("java/lang/Boolean");
  k.integer = find.type("java/lang/Long");
  k.real = find.type("java/lang/Double");
  k.bytes = find.type("[B");
  k.packed = find.type("walle/rt/Packed");
  k.boolean_of = find.make(k.boolean, "(Z)Ljava/lang/Boolean;");
  k.integer_of = find.make(k.integer, "(J)Ljava/lang/Long;");
  k.real_of = find.make(k.real, "(D)Ljava/lang/Double;");
  k.boolean_value = find.method(k.boolean, "booleanValue", "()Z");
  k.integer_value = find.method(k.integer, "longValue", "()J");
  k.real_value = find.method(k.real, "doubleValue", "()D");
  k.packed_kind = find.field(k.packed, "kind", "I");
  k.packed_dtype = find.field(k.packed, "dtype", "I");
  k.packed_items = find.field(k.packed, "items", "[Ljava/lang/Object;");
  k.packed_shape = find.field(k.packed, "shape", "[J");
  k.packed_memory = find.field(k.packed, "memory", "Ljava/nio/ByteBuffer;");
  return !find.failed();
}

}  // namespace

const Known& known() { return g_known; }

JNIEnv* env_of_thread() {
  void* env = nullptr;
  if (g_vm->GetEnv(&env, JNI_VERSION_1_6) == JNI_OK) return static_cast<JNIEnv*>(env);
  thread_local Attached attached;
  attached.env = attach();
  return attached.env;
}

}  // namespace walle::jni

extern "C" JNIEXPORT jint JNI_OnLoad(JavaVM* vm, void*) {
  walle::jni::g_vm = vm;
  void* env = nullptr;
  if (vm->GetEnv(&env, JNI_VERSION_1_6) != JNI_OK) return JNI_ERR;
  return walle::jni::find_all(static_cast<JNIEnv*>(env)) ? JNI_VERSION_1_6 : JNI_ERR;
}
