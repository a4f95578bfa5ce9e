#include "text.h"

#include "errors.h"
#include "jvm.h"

namespace walle::jni {

namespace {

constexpr char32_t kReplacement = 0xFFFD;

bool continues(std::string_view text, size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

// The character at `at`, which moves behind it, or behind what cannot be one.
char32_t take(std::string_view text, size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) return first;
  const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  if (first < 0xC2 || first > 0xF4) return kReplacement;
  char32_t out = first & (0x3F >> more);
  for (int i = 0; i < more; ++i) {
    if (!continues(text, at)) return kReplacement;
    out = out << 6 | (static_cast<unsigned char>(text[at++]) & 0x3F);
  }
  constexpr char32_t kLeast[] = {0, 0x80, 0x800, 0x10000};  // of a form with so many further bytes
  const bool surrogate = out >= 0xD800 && out <= 0xDFFF;
  return surrogate || out < kLeast[more] || out > 0x10FFFF ? kReplacement : out;
}

void put(std::string& out, char32_t c) {
  const auto byte = [&out](char32_t bits) { out.push_back(static_cast<char>(bits)); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) {
    byte(0xC0 | c >> 6);
  } else if (c < 0x10000) {
    byte(0xE0 | c >> 12);
    byte(0x80 | (c >> 6 & 0x3F));
  } else {
    byte(0xF0 | c >> 18);
    byte(0x80 | (c >> 12 & 0x3F));
    byte(0x80 | (c >> 6 & 0x3F));
  }
  byte(0x80 | (c & 0x3F));
}

}  // namespace

std::u16string utf16(std::string_view utf8) {
  std::u16string out;
  out.reserve(utf8.size());
  for (size_t at = 0; at < utf8.size();) {
    const char32_t c = take(utf8, at);
    if (c < 0x10000) {
      out.push_back(static_cast<char16_t>(c));
    } else {
      out.push_back(static_cast<char16_t>(0xD7C0 + (c >> 10)));
      out.push_back(static_cast<char16_t>(0xDC00 + (c & 0x3FF)));
    }
  }
  return out;
}

std::string utf8(std::u16string_view utf16) {
  std::string out;
  out.reserve(utf16.size());
  for (size_t at = 0; at < utf16.size(); ++at) {
    char32_t c = utf16[at];
    const char32_t next = at + 1 < utf16.size() ? utf16[at + 1] : 0;
    if (c >= 0xD800 && c < 0xDC00 && next >= 0xDC00 && next < 0xE000) {
      c = 0x10000 + ((c - 0xD800) << 10) + (next - 0xDC00);
      ++at;
    } else if (c >= 0xD800 && c < 0xE000) {
      c = kReplacement;
    }
    put(out, c);
  }
  return out;
}

jstring to_java(JNIEnv* env, std::string_view text) {
  const std::u16string wide = utf16(text);
  return env->NewString(reinterpret_cast<const jchar*>(wide.data()), static_cast<jsize>(wide.size()));
}

std::string to_utf8(JNIEnv* env, jstring text) {
  if (!text) return {};
  std::u16string wide(static_cast<size_t>(env->GetStringLength(text)), u'\0');
  env->GetStringRegion(text, 0, static_cast<jsize>(wide.size()), reinterpret_cast<jchar*>(wide.data()));
  return utf8(wide);
}

CText::CText(JNIEnv* env, jstring text, const char* name) {
  good_ = !env->ExceptionCheck();
  if (!good_ || !text) return;
  text_ = to_utf8(env, text);
  good_ = text_->find('\0') == std::string::npos;
  constexpr const char* kWhy = " with a character of code 0; expected a text without. Next: leave it out";
  if (!good_) refuse(env, name + std::string(kWhy));
}

CTexts::CTexts(JNIEnv* env, jobjectArray texts, const char* name) {
  good_ = !env->ExceptionCheck();  // a second argument is not read behind a first that was refused
  if (!good_) return;
  const jsize count = texts ? env->GetArrayLength(texts) : 0;
  texts_.reserve(static_cast<size_t>(count));
  for (jsize i = 0; i < count && good_; ++i) {
    const Local<jstring> text(env, env->GetObjectArrayElement(texts, i));
    good_ = static_cast<bool>(texts_.emplace_back(env, text.get(), name));
  }
  // Behind the loop: a short text lies inside its object, which stays where it is from now on.
  for (const CText& text : texts_) plain_.push_back(text.get());
}

}  // namespace walle::jni
