#include "vm/task_file.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/crc32c.h"
#include "base/utf8.h"

namespace walle::vm {

namespace {

constexpr std::string_view kMagic = "WTASK001";
constexpr size_t kHeaderBytes = 24, kPartBytes = 24, kAlignment = 64, kMaxName = 255;

template <class T>
void put(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

template <class T>
T load(std::string_view bytes, size_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

Error damaged(const std::string& what, size_t bytes) {
  return Error(base::ErrorGroup::task, {"a task file of " + std::to_string(bytes) + " bytes: " + what,
                                        "a file that TaskBundle.save wrote", "opening a task bundle",
                                        "compile the task again or fetch it again"});
}

struct Index {
  std::string_view rest;
  std::string_view file;

  Result<Resource> next(const Buffer& bytes) {
    if (rest.size() < kPartBytes) return damaged("the index ends early", file.size());
    const auto offset = load<uint64_t>(rest, 0), size = load<uint64_t>(rest, 8);
    const auto crc = load<uint32_t>(rest, 16), name_size = load<uint32_t>(rest, 20);
    rest.remove_prefix(kPartBytes);
    if (name_size > rest.size()) return damaged("the index ends early", file.size());
    const std::string name(rest.substr(0, name_size));
    rest.remove_prefix(name_size);
    if (offset > file.size() || size > file.size() - offset)
      return damaged("part '" + name + "' lies outside the file", file.size());
    if (base::crc32c(0, file.data() + offset, size) != crc)
      return damaged("the checksum of part '" + name + "' does not match", file.size());
    return Resource{name, Buffer::window(std::make_shared<Buffer>(bytes), file.data() + offset, size)};
  }
};

}  // namespace

bool valid_resource_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxName || !base::valid_utf8(name)) return false;
  if (std::any_of(name.begin(), name.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\\' || c == 0x7f; }))
    return false;
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") return false;
    at = end + 1;
  }
  return true;
}

Result<TaskFile> read_task_file(const Buffer& bytes) {
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (file.size() < kHeaderBytes || file.substr(0, kMagic.size()) != kMagic)
    return damaged("it does not begin as one", file.size());
  const auto crc = load<uint32_t>(file, 8), index_bytes = load<uint32_t>(file, 12),
             count = load<uint32_t>(file, 16);
  if (index_bytes > file.size() - kHeaderBytes) return damaged("it is cut short", file.size());
  Index index{file.substr(kHeaderBytes, index_bytes), file};
  if (base::crc32c(0, index.rest.data(), index.rest.size()) != crc || load<uint32_t>(file, 20) != 0)
    return damaged("the checksum of the index does not match", file.size());
  TaskFile out;
  WALLE_ASSIGN(Resource code, index.next(bytes));
  out.code = std::move(code.bytes);
  for (uint32_t i = 0; i < count; ++i) {
    WALLE_ASSIGN(Resource part, index.next(bytes));
    if (!valid_resource_name(part.name) || (i > 0 && part.name <= out.resources.back().name))
      return damaged("resource name '" + part.name + "' is not allowed or out of order", file.size());
    out.resources.push_back(std::move(part));
  }
  if (!index.rest.empty()) return damaged("the index is longer than its parts", file.size());
  return out;
}

Result<std::string> write_task_file(std::string_view code,
                                    std::vector<std::pair<std::string, std::string_view>> resources) {
  std::sort(resources.begin(), resources.end());
  size_t index_bytes = kPartBytes;
  for (size_t i = 0; i < resources.size(); ++i) {
    const std::string& name = resources[i].first;
    if (!valid_resource_name(name) || (i > 0 && name == resources[i - 1].first))
      return argument_error("resource name '" + name + "'", "a relative name of plain parts, each used once",
                            "TaskBundle.compile", "rename the file");
    index_bytes += kPartBytes + name.size();
  }
  resources.insert(resources.begin(), {std::string(), code});
  std::string index;
  uint64_t offset =
      static_cast<uint64_t>(base::round_up(static_cast<int64_t>(kHeaderBytes + index_bytes), kAlignment));
  std::vector<uint64_t> offsets;
  for (const auto& [name, bytes] : resources) {
    offsets.push_back(offset);
    put(index, offset);
    put(index, static_cast<uint64_t>(bytes.size()));
    put(index, base::crc32c(0, bytes.data(), bytes.size()));
    put(index, static_cast<uint32_t>(name.size()));
    index += name;
    offset = static_cast<uint64_t>(base::round_up(static_cast<int64_t>(offset + bytes.size()), kAlignment));
  }
  std::string out(kMagic);
  put(out, base::crc32c(0, index.data(), index.size()));
  put(out, static_cast<uint32_t>(index.size()));
  put(out, static_cast<uint32_t>(resources.size() - 1));
  put(out, uint32_t{0});
  out += index;
  for (size_t i = 0; i < resources.size(); ++i) {
    out.resize(offsets[i]);
    out += resources[i].second;
  }
  return out;
}

}  // namespace walle::vm
