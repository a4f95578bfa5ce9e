#include "link/trust/json.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "link/limits.h"

namespace walle::link {

namespace {
// The parser's events as a tree. It keeps its own stack and so does this: depth costs no stack of the thread.
class Builder {
 public:
  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(Json(value)); }
  bool number_integer(int64_t value) { return add(Json(value)); }
  bool number_unsigned(uint64_t value) {
    if (value > INT64_MAX) return refuse("a number of more than 63 bits");
    return add(Json(static_cast<int64_t>(value)));
  }
  bool number_float(double /*value*/, const std::string& text) {
    return refuse({"the number ", text.substr(0, 40), ", which is no integer of 64 bits"});
  }
  bool string(std::string& value) { return add(Json(std::move(value))); }
  bool binary(std::vector<uint8_t>& /*value*/) { return refuse("binary data"); }

  bool start_object(size_t /*size*/) { return open(true); }
  bool start_array(size_t /*size*/) { return open(false); }
  bool key(std::string& value) {
    open_.back().key = std::move(value);
    return true;
  }
  bool end_array() {
    Json made(std::move(open_.back().array));
    open_.pop_back();
    return put(std::move(made));
  }
  bool end_object() {
    Json made(std::move(open_.back().object));
    open_.pop_back();
    const Json::Object& members = *made.object();
    const auto twice = std::ranges::adjacent_find(members, std::equal_to<>(), &Json::Member::key);
    if (twice != members.end())
      return refuse({"the key \"", twice->key.substr(0, 40), "\" twice in one object"});
    return put(std::move(made));
  }
  bool parse_error(size_t position, const std::string& token, const nlohmann::json::exception& /*why*/) {
    at_ = position;
    return refuse({"'", token.substr(0, 40), "'"});
  }

  Json take() { return std::move(root_); }
  const std::string& refused() const { return refused_; }
  std::optional<size_t> at() const { return at_; }

 private:
  struct Frame {
    bool is_object;
    std::string key;
    Json::Array array;
    Json::Object object;
  };

  bool refuse(Text what) {
    refused_ = what.str();
    return false;
  }
  bool open(bool is_object) {
    if (open_.size() == kMostJsonDepth) return refuse({"more than ", kMostJsonDepth, " levels"});
    if (!count()) return false;
    open_.push_back({is_object, {}, {}, {}});
    return true;
  }
  bool count() { return ++values_ <= kMostJsonValues || refuse({"more than ", kMostJsonValues, " values"}); }
  bool add(Json value) { return count() && put(std::move(value)); }
  bool put(Json value) {
    if (open_.empty())
      root_ = std::move(value);
    else if (Frame& frame = open_.back(); frame.is_object)
      frame.object.push_back({std::move(frame.key), std::move(value)});
    else
      frame.array.push_back(std::move(value));
    return true;
  }

  Json root_;
  std::vector<Frame> open_;
  size_t values_ = 0;
  std::string refused_;
  std::optional<size_t> at_;
};

void write_text(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

void write(std::string& out, const Json& value) {
  if (const bool* boolean = value.boolean()) {
    out += *boolean ? "true" : "false";
  } else if (const int64_t* integer = value.integer()) {
    out += std::to_string(*integer);
  } else if (const std::string* text = value.text()) {
    write_text(out, *text);
  } else if (const Json::Array* array = value.array()) {
    out += '[';
    for (const Json& element : *array) {
      if (&element != array->data()) out += ',';
      write(out, element);
    }
    out += ']';
  } else if (const Json::Object* object = value.object()) {
    out += '{';
    for (const Json::Member& member : *object) {
      if (&member != object->data()) out += ',';
      write_text(out, member.key);
      out += ':';
      write(out, member.value);
    }
    out += '}';
  } else {
    out += "null";
  }
}
}  // namespace

Json::Json(Object value) : value_(std::move(value)) {
  std::ranges::sort(*std::get_if<Object>(&value_), {}, &Member::key);
}

const Json* Json::find(std::string_view key) const {
  const Object* members = object();
  if (!members) return nullptr;
  const auto found = std::ranges::lower_bound(*members, key, {}, &Member::key);
  return found != members->end() && found->key == key ? &found->value : nullptr;
}

Json Json::take(std::string_view key) {
  const Json* const found = find(key);
  return found ? std::move(*const_cast<Json*>(found)) : Json();  // a part of this one, which is not const
}

std::string Json::canonical() const {
  std::string out;
  write(out, *this);
  return out;
}

Result<Json> parse_json(std::string_view text, const std::string& where) {
  Builder builder;
  const bool marked = text.starts_with("\xef\xbb\xbf");
  if (!marked && nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) return builder.take();
  const std::string place = builder.at() ? where + ", byte " + std::to_string(*builder.at()) : where;
  return network_error(marked ? "a byte order mark" : builder.refused(),
                       "JSON in UTF-8 with integers and each key once", place,
                       "look at the file; it was not used");
}

}  // namespace walle::link
