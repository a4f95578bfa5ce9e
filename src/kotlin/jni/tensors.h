// Tensors of a run: parallel arrays of names, dtypes, shapes and direct ByteBuffers, as Session.kt packs
// them. Their memory is the caller's, whose references keep it during the call.
#pragma once

#include <jni.h>
#include <walle/walle.h>

#include <vector>

#include "text.h"

namespace walle::jni {

class Tensors {
 public:
  Tensors(JNIEnv* env, jobjectArray names, jintArray dtypes, jobjectArray shapes, jobjectArray memory);
  // False: a Java exception is pending.
  explicit operator bool() const { return good_; }
  const std::vector<walle_tensor_t>& all() const { return tensors_; }
  // The same as memory for results.
  std::vector<walle_result_memory_t> as_memory() const;

 private:
  bool read(JNIEnv* env, jobject shape, jobject memory, walle_tensor_t& out);

  CTexts names_;
  std::vector<walle_tensor_t> tensors_;
  bool good_ = true;
};

// Name, dtype, shape, memory; memory nothing for one of `kept`, whose memory the caller has already.
jobjectArray rows_of(JNIEnv* env, const walle_results_t* results,
                     const std::vector<walle_result_memory_t>& kept);

}  // namespace walle::jni
