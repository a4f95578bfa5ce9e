#include "container/host/value_codec.h"

#include <algorithm>

#include "base/bytes.h"

namespace walle::container {

namespace {

using vm::Bytes;
using vm::List;
using vm::Map;
using vm::Value;

constexpr int kMaxDepth = 32;      // half of what crosses the boundary: state is kept flat; bounds recursion
constexpr size_t kLeastValue = 1;  // a tag
constexpr size_t kLeastEntry = 4 + 1;  // an empty key and a tag

// In the order of Value's alternatives; part of the format.
enum Tag : uint8_t { kNone, kBool, kInt, kFloat, kStr, kBytes, kList, kMap };

// Members give false for what has no bytes of its own: tensors, and what lies too deep.
class Encoder {
 public:
  bool none() {
    out_.put(kNone);
    return out_.ok();
  }
  bool boolean(bool v) { return number(kBool, static_cast<uint8_t>(v)); }
  bool integer(int64_t v) { return number(kInt, v); }
  bool real(double v) { return number(kFloat, v); }
  bool text(std::string_view v) { return sized(kStr, v); }
  bool bytes(std::string_view v) { return sized(kBytes, v); }
  // Comes back as bytes: who put it cannot be told from the file, and both are read alike.
  bool buffer(const Buffer& v) { return sized(kBytes, base::as_text(std::span(v.data(), v.size()))); }
  bool tensor(const Tensor&) { return false; }

  bool list(const List& items) {
    out_.put(kList);
    out_.put_count(items.size());
    return std::ranges::all_of(items, [&](const Value& item) { return part(item); });
  }

  bool map(const Map& entries) {
    out_.put(kMap);
    out_.put_count(entries.size());
    return std::ranges::all_of(entries, [&](const auto& entry) {
      out_.put_text(entry.first);
      return part(entry.second);
    });
  }

  std::string take() { return out_.take(); }

 private:
  bool part(const Value& value) {
    if (depth_ == kMaxDepth) return false;
    ++depth_;
    const bool good = visit(value, *this);
    --depth_;
    return good;
  }

  template <class T>
  bool number(Tag tag, T value) {
    out_.put(tag);
    out_.put(value);
    return out_.ok();
  }

  bool sized(Tag tag, std::string_view bytes) {
    out_.put(tag);
    out_.put_text(bytes);
    return out_.ok();
  }

  base::ByteWriter out_;
  int depth_ = 0;
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : in_(bytes) {}
  bool done() const { return in_.done(); }

  Value value(int depth) {
    const auto kind = in_.get<uint8_t>();
    in_.check(depth <= kMaxDepth);  // a file somebody else wrote must not exhaust the stack
    if (!in_.ok()) return {};
    switch (kind) {
      case kNone: return {};
      case kBool: return in_.flag();
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
    // count() refuses more items than the bytes that are left could hold.
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

std::optional<std::string> encode_value(const vm::Value& value) {
  Encoder encoder;
  if (!visit(value, encoder)) return std::nullopt;
  return encoder.take();
}

std::optional<vm::Value> decode_value(std::string_view bytes) {
  Decoder decoder(bytes);
  Value value = decoder.value(0);
  if (!decoder.done()) return std::nullopt;
  return value;
}

}  // namespace walle::container
