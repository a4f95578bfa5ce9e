// Texts: UTF-8 of the C API to Java's UTF-16 and back.
//
// Not by JNI's own functions, whose UTF-8 is another one: it has no characters of four bytes, and writes zero
// as two. What is no UTF-8, or no UTF-16, becomes U+FFFD.
#pragma once

#include <jni.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace walle::jni {

std::u16string utf16(std::string_view utf8);
std::string utf8(std::u16string_view utf16);

// nullptr: memory is short, and a Java exception says so.
jstring to_java(JNIEnv* env, std::string_view text);
// Of nullptr "".
std::string to_utf8(JNIEnv* env, jstring text);

// A text that goes to C, which ends it at its first zero.
class CText {
 public:
  // Throws WalleException where `text` holds a zero, which would silently name something else; `name` is what
  // the message calls it. Of nullptr get() is nullptr.
  CText(JNIEnv* env, jstring text, const char* name);
  explicit operator bool() const { return good_; }
  const char* get() const { return text_ ? text_->c_str() : nullptr; }

 private:
  std::optional<std::string> text_;
  bool good_ = true;
};

// Likewise of an array, whose entries may be nullptr.
class CTexts {
 public:
  CTexts(JNIEnv* env, jobjectArray texts, const char* name);
  explicit operator bool() const { return good_; }
  size_t size() const { return plain_.size(); }
  const char* operator[](size_t i) const { return plain_[i]; }

 private:
  std::vector<CText> texts_;
  std::vector<const char*> plain_;
  bool good_ = true;
};

}  // namespace walle::jni
