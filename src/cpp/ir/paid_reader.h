// Texts and lists out of a FlatBuffer that may be hostile, each paid for from a budget.
//
// FlatBuffers may name one table many times, so that a small file can describe a huge graph: n nodes that
// name one list of n numbers decode to n * n numbers, and bodies multiply that again. The structure verifier
// bounds how often tables are visited, not what decoding them takes. So every byte that decoding allocates is
// paid for from a budget proportional to the file, and a file that is not what a writer made runs out of it.
// Counting bytes was preferred to refusing tables named twice: writers do share names and symbols
// (CreateSharedString), and a set of all addresses would cost every honest file.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <string>
#include <vector>

#include "base/limits.h"
#include "base/status.h"

namespace walle::ir::detail {

inline constexpr const char* kConvertAgain = "the file is damaged: copy or convert it again";

class PaidReader {
 public:
  // `where` names the file in messages.
  PaidReader(size_t graph_bytes, std::string where)
      : where_(std::move(where)), budget_(static_cast<int64_t>(graph_bytes) * kBytesPerByte + kFreeBytes) {}

 protected:
  Status pay(int64_t bytes);

  // Empty when there is none. UTF-8 is checked here once, because messages, JSON and Python take these texts
  // for granted.
  Result<std::string> text(const flatbuffers::String* s);
  // A name: bounded, so that messages and traces stay readable.
  Result<std::string> name(const flatbuffers::String* s);

  // The FlatBuffers verifier checks how a vector's length is aligned, not its elements; reading a misaligned
  // one is undefined behaviour and a fault on some processors.
  template <class T, class Vector>
  Status aligned(const Vector* v) const {
    if (!v || v->size() == 0 || reinterpret_cast<uintptr_t>(v->Data()) % alignof(T) == 0) return {};
    return model_error("a list at an odd address", {alignof(T), "-byte alignment"}, where_, kConvertAgain);
  }

  template <class T>
  Result<std::vector<T>> list(const flatbuffers::Vector<T>* v) {
    if (!v) return std::vector<T>();
    WALLE_TRY(aligned<T>(v));
    WALLE_TRY(pay(static_cast<int64_t>(v->size() * sizeof(T) + sizeof(std::vector<T>))));
    return std::vector<T>(v->begin(), v->end());
  }

  const std::string& where() const { return where_; }

 private:
  // In memory a record is several times what it is in the file (a text of four bytes becomes a std::string of
  // 32), and small files share more than large ones. Chosen wide, not measured: the budget is there to tell a
  // graph from a bomb, and no written file comes near it.
  static constexpr int64_t kBytesPerByte = 16;
  static constexpr int64_t kFreeBytes = int64_t{16} << 20;

  std::string where_;
  int64_t budget_;
};

}  // namespace walle::ir::detail
