// Fields: the members of a JSON object, each asked for once with the type it must have. The first that is
// missing or of another type is the error that status() gives; what was asked then is an empty value.
//
// Borrows the object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "link/trust/json.h"

namespace walle::link {

// Metadata that is no metadata; `expected` says what it should have been.
Error malformed(Text given, Text expected, Text where);

// A text of a server, cut for a message.
std::string in_quotes(std::string_view text);

class Fields {
 public:
  // Anything but an object is an error at once.
  Fields(const Json& object, std::string where);

  const std::string& text(std::string_view key);
  // Between `least` and `most`, inclusive.
  int64_t integer(std::string_view key, int64_t least, int64_t most = INT64_MAX);
  bool boolean(std::string_view key);
  const Json::Array& array(std::string_view key);
  const Json::Object& object(std::string_view key);
  const Json* optional(std::string_view key) const { return object_.find(key); }

  void fail(Text given, Text expected);
  const std::string& where() const { return where_; }
  Status status() const { return failed_ ? Status(*failed_) : Status(); }

 private:
  const Json* need(std::string_view key, std::string_view type);

  const Json& object_;
  std::string where_;
  std::optional<Error> failed_;
};

}  // namespace walle::link
