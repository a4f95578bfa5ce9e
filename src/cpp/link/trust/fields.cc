#include "link/trust/fields.h"

namespace walle::link {

namespace {
constexpr size_t kMostQuoted = 80;

// What is given instead of a member that is not there.
template <class T>
const T& none() {
  static const T empty;
  return empty;
}
}  // namespace

Error malformed(Text given, Text expected, Text where) {
  return network_error(given, expected, where, "look at the file on the server; it was not used");
}

std::string in_quotes(std::string_view text) {
  if (text.size() <= kMostQuoted) return "'" + std::string(text) + "'";
  return "'" + std::string(text.substr(0, kMostQuoted)) + "...'";
}

Fields::Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
  if (!object.object()) fail("something else", "an object");
}

void Fields::fail(Text given, Text expected) {
  if (!failed_) failed_ = malformed(given, expected, where_);
}

const Json* Fields::need(std::string_view key, std::string_view type) {
  const Json* found = object_.find(key);
  if (!found) fail({"no \"", key, "\""}, {"\"", key, "\", ", type});
  return found;
}

const std::string& Fields::text(std::string_view key) {
  const Json* found = need(key, "a text");
  if (!found) return none<std::string>();
  if (const std::string* text = found->text()) return *text;
  fail({"\"", key, "\" of another type"}, "a text");
  return none<std::string>();
}

int64_t Fields::integer(std::string_view key, int64_t least, int64_t most) {
  const Json* found = need(key, "an integer");
  if (!found) return least;
  const int64_t* value = found->integer();
  if (value && *value >= least && *value <= most) return *value;
  fail({"\"", key, "\": ", (value ? std::to_string(*value) : "another type")},
       {"an integer from ", least, " to ", most});
  return least;
}

bool Fields::boolean(std::string_view key) {
  const Json* found = need(key, "true or false");
  if (!found) return false;
  if (const bool* value = found->boolean()) return *value;
  fail({"\"", key, "\" of another type"}, "true or false");
  return false;
}

const Json::Array& Fields::array(std::string_view key) {
  const Json* found = need(key, "an array");
  if (!found) return none<Json::Array>();
  if (const Json::Array* array = found->array()) return *array;
  fail({"\"", key, "\" of another type"}, "an array");
  return none<Json::Array>();
}

const Json::Object& Fields::object(std::string_view key) {
  const Json* found = need(key, "an object");
  if (!found) return none<Json::Object>();
  if (const Json::Object* object = found->object()) return *object;
  fail({"\"", key, "\" of another type"}, "an object");
  return none<Json::Object>();
}

}  // namespace walle::link
