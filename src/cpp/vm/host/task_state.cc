#include "vm/host/kv_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/hash.h"

namespace walle::vm {

namespace {

// File: "WKV1", 64-bit hash of the rest, then one encoded map. Values: kind byte, then fixed fields or a 32-bit size.
constexpr char kMagic[] = "WKV1";
constexpr int kMaxDepth = 32;

void put_number(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

void put_text(std::string& out, const std::string& text) {
  put_number(out, text.size(), 4);
  out += text;
}

bool encode(std::string& out, const Value& value, int depth) {
  if (depth > kMaxDepth || value.get<Tensor>()) return false;
  out.push_back(static_cast<char>(value.data.index()));
  if (const auto* v = value.get<bool>()) out.push_back(*v ? 1 : 0);
  if (const auto* v = value.get<int64_t>()) put_number(out, static_cast<uint64_t>(*v), 8);
  if (const auto* v = value.get<double>()) {
    uint64_t bits;
    std::memcpy(&bits, v, 8);
    put_number(out, bits, 8);
  }
  if (const auto* v = value.get<std::string>()) put_text(out, *v);
  if (const auto* v = value.get<Bytes>()) put_text(out, v->data);
  if (const auto* v = value.get<List>()) {
    put_number(out, v->size(), 4);
    for (const Value& item : *v) {
      if (!encode(out, item, depth + 1)) return false;
    }
  }
  if (const auto* v = value.get<Map>()) {
    put_number(out, v->size(), 4);
    for (const auto& [key, item] : *v) {
      put_text(out, key);
      if (!encode(out, item, depth + 1)) return false;
    }
  }
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
    for (size_t i = 0; i < bytes; ++i) value |= static_cast<uint64_t>(static_cast<unsigned char>(rest[i])) << (8 * i);
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

  Value value(int depth) {
    const uint64_t kind = number(1);
    if (depth > kMaxDepth) failed = true;
    if (failed) return {};
    switch (kind) {
      case 0: return {};
      case 1: return number(1) != 0;
      case 2: return static_cast<int64_t>(number(8));
      case 3: {
        const uint64_t bits = number(8);
        double real;
        std::memcpy(&real, &bits, 8);
        return real;
      }
      case 4: return text();
      case 5: return Bytes{text()};
      case 6: {
        List list;
        for (uint64_t left = number(4); left > 0 && !failed; --left) list.push_back(value(depth + 1));
        return list;
      }
      case 7: {
        Map map;
        for (uint64_t left = number(4); left > 0 && !failed; --left) {
          std::string key = text();
          map.emplace_back(std::move(key), value(depth + 1));
        }
        return map;
      }
      default: failed = true; return {};
    }
  }
};

Error file_error(const std::string& path, const std::string& what) {
  return resource_error("'" + path + "': " + what, "a readable and writable state file", "walle.kv",
                        "check the folder's permissions and space");
}

Status write_file(const std::string& path, const std::string& bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return file_error(path, std::strerror(errno));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = ::write(file, bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    done += static_cast<size_t>(wrote);
  }
  const bool ok = done == bytes.size() && ::fsync(file) == 0;
  const int why = errno;
  ::close(file);
  if (!ok) return file_error(path, std::strerror(why));
  return {};
}

}  // namespace

Result<std::shared_ptr<KvFile>> KvFile::open(std::string path) {
  std::shared_ptr<KvFile> file(new KvFile(std::move(path)));
  WALLE_TRY(file->load());
  return file;
}

Status KvFile::load() {
  std::ifstream in(path_, std::ios::binary);
  if (path_.empty() || !in) return {};
  std::stringstream content;
  content << in.rdbuf();
  const std::string bytes = content.str();
  Decoder header{bytes};
  const bool magic = bytes.size() >= 12 && bytes.compare(0, 4, kMagic) == 0;
  if (magic) header.rest.remove_prefix(4);
  const uint64_t hash = magic ? header.number(8) : 0;
  if (!magic || base::Hasher().bytes(header.rest.data(), header.rest.size()).finish() != hash) return file_error(path_, "damaged content");
  const Value all = header.value(0);
  const Map* map = all.get<Map>();
  if (header.failed || map == nullptr || !header.rest.empty()) return file_error(path_, "damaged content");
  for (const auto& [key, value] : *map) entries_[key] = value;
  return {};
}

Status KvFile::save(const std::map<std::string, Value>& entries) const {
  Map map;
  for (const auto& [key, value] : entries) map.emplace_back(key, value);
  std::string body;
  if (!encode(body, map, 0)) {
    return argument_error("a value with a tensor or more than 32 levels", "None, bool, int, float, str, bytes, list or map", "walle.kv.put",
                          "store tobytes() of a tensor");
  }
  if (body.size() > kMaxBytes) {
    return resource_error(std::to_string(body.size()) + " bytes of state", "at most " + std::to_string(kMaxBytes), "walle.kv.put",
                          "delete keys that are no longer needed");
  }
  if (path_.empty()) return {};
  std::string bytes = kMagic;
  put_number(bytes, base::Hasher().bytes(body.data(), body.size()).finish(), 8);
  bytes += body;
  const std::string fresh = path_ + ".new";
  WALLE_TRY(write_file(fresh, bytes));
  if (std::rename(fresh.c_str(), path_.c_str()) != 0) return file_error(path_, std::strerror(errno));
  const std::string folder = path_.substr(0, path_.find_last_of('/') + 1);
  const int directory = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    ::fsync(directory);
    ::close(directory);
  }
  return {};
}

Value KvFile::get(const std::string& key) const {
  const std::lock_guard guard(lock_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? Value() : found->second;
}

bool KvFile::has(const std::string& key) const {
  const std::lock_guard guard(lock_);
  return entries_.count(key) != 0;
}

Status KvFile::put(const std::string& key, const Value& value) {
  const std::lock_guard guard(lock_);
  std::map<std::string, Value> changed = entries_;
  changed[key] = value;
  WALLE_TRY(save(changed));
  entries_ = std::move(changed);
  return {};
}

Result<bool> KvFile::erase(const std::string& key) {
  const std::lock_guard guard(lock_);
  std::map<std::string, Value> changed = entries_;
  if (changed.erase(key) == 0) return false;
  WALLE_TRY(save(changed));
  entries_ = std::move(changed);
  return true;
}

std::vector<std::string> KvFile::keys(const std::string& prefix) const {
  const std::lock_guard guard(lock_);
  std::vector<std::string> out;
  for (auto it = entries_.lower_bound(prefix); it != entries_.end() && it->first.compare(0, prefix.size(), prefix) == 0; ++it)
    out.push_back(it->first);
  return out;
}

}  // namespace walle::vm
