#include "vm/host/value_codec.h"

#include <algorithm>

#include "base/bytes.h"

namespace walle::vm {

namespace {

constexpr int kMaxDepth = 32;
constexpr size_t kLeastValue = 1;      // a tag
constexpr size_t kLeastEntry = 4 + 1;  // an empty key and a tag

// In the order of Value's alternatives; part of the format.
enum Tag : uint8_t { kNone, kBool, kInt, kFloat, kStr, kBytes, kList, kMap };

class Encoder {
 public:
  bool value(const Value& value, int depth) {
    if (depth > kMaxDepth || value.get<Tensor>()) return false;
    if (value.is_none()) out_.put(kNone);
    if (const auto* v = value.get<bool>()) number(kBool, static_cast<uint8_t>(*v));
    if (const auto* v = value.get<int64_t>()) number(kInt, *v);
    if (const auto* v = value.get<double>()) number(kFloat, *v);
    if (const auto* v = value.get<std::string>()) text(kStr, *v);
    if (const auto* v = value.get<Bytes>()) text(kBytes, v->data);
    if (const auto* v = value.get<Buffer>()) text(kBytes, base::as_text(std::span(v->data(), v->size())));
    if (const auto* v = value.get<List>()) return list(*v, depth);
    if (const auto* v = value.get<Map>()) return map(*v, depth);
    return out_.ok();
  }
  std::string take() { return out_.take(); }

 private:
  template <class T>
  void number(Tag tag, T value) {
    out_.put(tag);
    out_.put(value);
  }

  void text(Tag tag, std::string_view bytes) {
    out_.put(tag);
    out_.put_text(bytes);
  }

  bool list(const List& items, int depth) {
    out_.put(kList);
    out_.put_count(items.size());
    return std::all_of(items.begin(), items.end(), [&](const Value& item) { return value(item, depth + 1); });
  }

  bool map(const Map& entries, int depth) {
    out_.put(kMap);
    out_.put_count(entries.size());
    for (const auto& [key, item] : entries) {
      out_.put_text(key);
      if (!value(item, depth + 1)) return false;
    }
    return out_.ok();
  }

  base::ByteWriter out_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : in_(bytes) {}
  bool done() const { return in_.done(); }

  Value value(int depth) {
    const auto kind = in_.get<uint8_t>();
    if (depth > kMaxDepth) in_.fail();
    if (!in_.ok()) return {};
    switch (kind) {
      case kNone: return {};
      case kBool: return in_.get<uint8_t>() != 0;
      case kInt: return in_.get<int64_t>();
      case kFloat: return in_.get<double>();
      case kStr: return std::string(in_.text());
      case kBytes: return Bytes{std::string(in_.text())};
      case kList: return list(depth);
      case kMap: return map(depth);
      default: in_.fail(); return {};
    }
  }

 private:
  Value list(int depth) {
    List out;
    for (uint32_t left = in_.count(kLeastValue); left > 0 && in_.ok(); --left)
      out.push_back(value(depth + 1));
    return out;
  }

  Value map(int depth) {
    Map out;
    for (uint32_t left = in_.count(kLeastEntry); left > 0 && in_.ok(); --left) {
      std::string key(in_.text());
      out.emplace_back(std::move(key), value(depth + 1));
    }
    return out;
  }

  base::ByteReader in_;
};

}  // namespace

std::optional<std::string> encode_value(const Value& value) {
  Encoder encoder;
  if (!encoder.value(value, 0)) return std::nullopt;
  return encoder.take();
}

std::optional<Value> decode_value(std::string_view bytes) {
  Decoder decoder(bytes);
  Value value = decoder.value(0);
  if (!decoder.done()) return std::nullopt;
  return value;
}

}  // namespace walle::vm
