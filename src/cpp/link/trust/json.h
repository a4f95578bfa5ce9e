// Json: JSON as signed metadata uses it: read strictly and within limits, written as the canonical form that
// signatures cover.
//
// Refused beyond what is no JSON at all: numbers with a fraction, exponent or more than 64 bits, which have
// no canonical form; a key twice in one object, of which every reader believes another one; a byte order
// mark; more than kMostJsonDepth levels or kMostJsonValues values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"

namespace walle::link {

class Json {
 public:
  struct Member;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;  // sorted by the bytes of the key, which is the order of code points

  // Defined below Member: clang 14 asks for a whole one wherever a vector of them may be destroyed.
  Json();
  explicit Json(bool value);
  explicit Json(int64_t value);
  explicit Json(std::string value);
  explicit Json(Array value);
  // Sorts; keys that are there twice stay, and parse_json() refuses them.
  explicit Json(Object value);
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  const bool* boolean() const { return std::get_if<bool>(&value_); }
  const int64_t* integer() const { return std::get_if<int64_t>(&value_); }
  const std::string* text() const { return std::get_if<std::string>(&value_); }
  const Array* array() const { return std::get_if<Array>(&value_); }
  const Object* object() const { return std::get_if<Object>(&value_); }

  // The member of an object; null where there is none, and for what is no object.
  const Json* find(std::string_view key) const;
  // The same, moved out of its place: to copy a tree is code and memory for nothing.
  Json take(std::string_view key);

  // OLPC's canonical JSON, which securesystemslib signs: no blanks, sorted keys, and only `"` and `\`
  // escaped.
  std::string canonical() const;

 private:
  std::variant<std::monostate, bool, int64_t, std::string, Array, Object> value_;
};

struct Json::Member {
  std::string key;
  Json value;
};

inline Json::Json() = default;
inline Json::Json(bool value) : value_(value) {}
inline Json::Json(int64_t value) : value_(value) {}
inline Json::Json(std::string value) : value_(std::move(value)) {}
inline Json::Json(Array value) : value_(std::move(value)) {}
inline Json::Json(const Json& other) = default;
inline Json::Json(Json&& other) noexcept = default;
inline Json& Json::operator=(const Json& other) = default;
inline Json& Json::operator=(Json&& other) noexcept = default;
inline Json::~Json() = default;

// `where` names the text in errors.
Result<Json> parse_json(std::string_view text, const std::string& where);

}  // namespace walle::link
