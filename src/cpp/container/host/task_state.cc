#include "container/host/task_state.h"

#include <cmath>

#include "base/bytes.h"
#include "container/host/value_codec.h"
#include "store/state_map.h"

namespace walle::container {

namespace {

Error unreadable(const std::string& key) {
  return resource_error({"the value of key '", key, "'"}, "a value that walle.kv.put wrote", "walle.kv.get",
                        "delete the key");
}

Result<int64_t> expiry_at(int64_t now_us, std::optional<double> ttl_s) {
  if (!ttl_s) return 0;
  if (!(*ttl_s > 0) || *ttl_s > TaskState::kLongestTtlS)
    return argument_error({"a ttl of ", *ttl_s, " s"}, "more than 0 s and at most 101 years", "walle.kv.put",
                          "leave ttl out where a key is to stay");
  return now_us + std::max<int64_t>(1, std::llround(*ttl_s * 1e6));
}

Result<vm::Value> value_in(const std::string& key, std::string_view bytes) {
  bytes.remove_prefix(std::min(bytes.size(), sizeof(int64_t)));
  std::optional<vm::Value> value = decode_value(bytes);
  if (value) return std::move(*value);
  return unreadable(key);
}

}  // namespace

Result<vm::Value> TaskState::get(const std::string& key, vm::Value otherwise) {
  const std::optional<std::string> bytes = find(key);
  if (!bytes) return otherwise;
  if (!store::expired(*bytes, now_us())) return value_in(key, *bytes);
  drop(key);
  return otherwise;
}

Status TaskState::put(const std::string& key, const vm::Value& value, std::optional<double> ttl_s) {
  WALLE_ASSIGN(const int64_t expiry, expiry_at(now_us(), ttl_s));
  const std::optional<std::string> encoded = encode_value(value);
  if (!encoded)
    return argument_error("a value with a tensor or more than 32 levels",
                          "None, bool, int, float, str, bytes, list or map", "walle.kv.put",
                          "store tobytes() of a tensor");
  base::ByteWriter out;
  out.reserve(sizeof expiry + encoded->size());
  out.put(expiry);
  out.put_bytes(*encoded);
  return set(key, out.take());
}

Result<bool> TaskState::erase(const std::string& key) {
  const std::optional<std::string> bytes = find(key);
  if (!bytes) return false;
  const bool seen = !store::expired(*bytes, now_us());
  WALLE_ASSIGN(const bool removed, remove(key));
  return removed && seen;
}

Status TaskState::list(const Range& range, const Visit& found) const {
  const std::string& prefix = range.prefix;
  const int64_t now = now_us();
  const size_t most = range.limit.value_or(kMostListed + 1);
  size_t count = 0;
  // Behind a key comes that key with a zero byte.
  const std::string from = range.after ? std::max(prefix, *range.after + '\0') : prefix;
  each(from, [&](const std::string& key, const std::string& bytes) {
    if (!key.starts_with(prefix)) return key < prefix;
    if (store::expired(bytes, now)) return true;
    if (count == most) return false;
    ++count;
    return found(key, bytes);
  });
  if (range.limit || count <= kMostListed) return {};
  return resource_error({"more than ", kMostListed, " keys"}, {"at most ", kMostListed, " in one call"},
                        "walle.kv", "ask for some at a time: limit=1000, then after=the last key");
}

Result<std::vector<std::string>> TaskState::keys(const Range& range) const {
  std::vector<std::string> out;
  WALLE_TRY(list(range, [&](const std::string& key, const std::string&) {
    out.push_back(key);
    return true;
  }));
  return out;
}

Result<vm::Map> TaskState::items(const Range& range) const {
  vm::Map out;
  Status read;
  WALLE_TRY(list(range, [&](const std::string& key, const std::string& bytes) {
    Result<vm::Value> value = value_in(key, bytes);
    if (value.ok())
      out.emplace_back(key, std::move(*value));
    else
      read = value.take_error();
    return read.ok();
  }));
  WALLE_TRY(std::move(read));
  return out;
}

}  // namespace walle::container
