#include "vm/host/value_codec.h"

#include <algorithm>
#include <bit>

namespace walle::vm {

namespace {

constexpr int kMaxDepth = 32;

// In the order of Value's alternatives; part of the format.
enum Tag : uint8_t { kNone, kBool, kInt, kFloat, kStr, kBytes, kList, kMap };

void put_number(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

void put_text(std::string& out, const std::string& text) {
  put_number(out, text.size(), 4);
  out += text;
}

void put_bytes(std::string& out, Tag tag, std::string_view bytes) {
  out.push_back(static_cast<char>(tag));
  put_number(out, bytes.size(), 4);
  out += bytes;
}

void put_fixed(std::string& out, Tag tag, uint64_t value, int bytes) {
  out.push_back(static_cast<char>(tag));
  put_number(out, value, bytes);
}

bool encode(std::string& out, const Value& value, int depth);

bool encode_list(std::string& out, const List& list, int depth) {
  put_fixed(out, kList, list.size(), 4);
  return std::all_of(list.begin(), list.end(),
                     [&](const Value& item) { return encode(out, item, depth + 1); });
}

bool encode_map(std::string& out, const Map& map, int depth) {
  put_fixed(out, kMap, map.size(), 4);
  for (const auto& [key, item] : map) {
    put_text(out, key);
    if (!encode(out, item, depth + 1)) return false;
  }
  return true;
}

bool encode(std::string& out, const Value& value, int depth) {
  if (depth > kMaxDepth || value.get<Tensor>()) return false;
  if (value.is_none()) put_fixed(out, kNone, 0, 0);
  if (const auto* v = value.get<bool>()) put_fixed(out, kBool, *v, 1);
  if (const auto* v = value.get<int64_t>()) put_fixed(out, kInt, static_cast<uint64_t>(*v), 8);
  if (const auto* v = value.get<double>()) put_fixed(out, kFloat, std::bit_cast<uint64_t>(*v), 8);
  if (const auto* v = value.get<std::string>()) put_bytes(out, kStr, *v);
  if (const auto* v = value.get<Bytes>()) put_bytes(out, kBytes, v->data);
  if (const auto* v = value.get<Buffer>())
    put_bytes(out, kBytes, {reinterpret_cast<const char*>(v->data()), v->size()});
  if (const auto* v = value.get<List>()) return encode_list(out, *v, depth);
  if (const auto* v = value.get<Map>()) return encode_map(out, *v, depth);
  return true;
}

struct Decoder {
  std::string_view rest;
  bool failed = false;

  uint64_t number(size_t bytes) {
    if (rest.size() < bytes) {
      failed = true;
      return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i)
      value |= static_cast<uint64_t>(static_cast<unsigned char>(rest[i])) << (8 * i);
    rest.remove_prefix(bytes);
    return value;
  }

  std::string text() {
    const size_t size = number(4);
    if (size > rest.size()) {
      failed = true;
      return {};
    }
    std::string out(rest.substr(0, size));
    rest.remove_prefix(size);
    return out;
  }

  Value list(int depth) {
    List out;
    for (uint64_t left = number(4); left > 0 && !failed; --left) out.push_back(value(depth + 1));
    return out;
  }

  Value map(int depth) {
    Map out;
    for (uint64_t left = number(4); left > 0 && !failed; --left) {
      std::string key = text();
      out.emplace_back(std::move(key), value(depth + 1));
    }
    return out;
  }

  Value value(int depth) {
    const uint64_t kind = number(1);
    if (depth > kMaxDepth) failed = true;
    if (failed) return {};
    switch (kind) {
      case kNone: return {};
      case kBool: return number(1) != 0;
      case kInt: return static_cast<int64_t>(number(8));
      case kFloat: return std::bit_cast<double>(number(8));
      case kStr: return text();
      case kBytes: return Bytes{text()};
      case kList: return list(depth);
      case kMap: return map(depth);
      default: failed = true; return {};
    }
  }
};

}  // namespace

std::optional<std::string> encode_value(const Value& value) {
  std::string out;
  if (!encode(out, value, 0)) return std::nullopt;
  return out;
}

std::optional<Value> decode_value(std::string_view bytes) {
  Decoder decoder{bytes};
  Value value = decoder.value(0);
  if (decoder.failed || !decoder.rest.empty()) return std::nullopt;
  return value;
}

}  // namespace walle::vm
