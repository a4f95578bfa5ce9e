// A task file comes from a server: nothing in it is used before a bound or a checksum has vouched for it.
// The checksum of the index is looked at first, so that a cut or flipped file is told as such and not as
// a strange resource.
#include "vm/task_file.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/crc32c.h"
#include "base/names.h"
#include "base/utf8.h"

namespace walle::vm {

namespace {

constexpr std::string_view kMagic = "WTASK001";  // the last digits are the format's version
constexpr size_t kHeaderBytes = 24;              // magic, checksum, index bytes, count, zero
constexpr size_t kPartBytes = 24;                // offset, size, checksum, length of the name
constexpr size_t kAlignment = 64;                // a resource may be a model, whose weights want a cache line

Error damaged(Text what, size_t bytes) {
  return base::task_error({"a task file of ", bytes, " bytes: ", what}, "a file that TaskBundle.save wrote",
                          "opening a task bundle", "compile the task again or fetch it again");
}

struct Index {
  base::ByteReader rest;
  std::string_view file;

  Result<Resource> next(const Buffer& bytes) {
    const auto offset = rest.get<uint64_t>();
    const auto size = rest.get<uint64_t>();
    const auto crc = rest.get<uint32_t>();
    const std::string name(rest.text());
    if (!rest.ok()) return damaged("the index ends early", file.size());
    if (offset > file.size() || size > file.size() - offset)
      return damaged({"part '", name, "' lies outside the file"}, file.size());
    if (base::crc32c(0, file.data() + offset, size) != crc)
      return damaged({"the checksum of part '", name, "' does not match"}, file.size());
    return Resource{name, bytes.part(offset, size)};
  }
};

}  // namespace

std::string line_of(std::string_view text, int number) {
  constexpr size_t kMostBytes = 200;
  for (; number > 1 && !text.empty(); --number) {
    const size_t end = text.find('\n');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  std::string_view line = text.substr(0, text.find('\n'));
  const size_t first = line.find_first_not_of(" \t\r\f");
  if (number != 1 || first == std::string_view::npos) return "";
  line = line.substr(first, line.find_last_not_of(" \t\r\f") + 1 - first).substr(0, kMostBytes);
  // A cut may have gone through a character.
  while (!line.empty() && !base::valid_utf8(line)) line.remove_suffix(1);
  return std::string(line);
}

Result<TaskFile> read_task_file(const Buffer& bytes) {
  const std::string_view file = base::as_text(std::span(bytes.data(), bytes.size()));
  base::ByteReader header(file);
  if (file.size() < kHeaderBytes || !header.expect(kMagic))
    return damaged("it does not begin as one", file.size());
  const auto crc = header.get<uint32_t>();
  const auto index_bytes = header.get<uint32_t>();
  const auto count = header.get<uint32_t>();
  const auto zero = header.get<uint32_t>();
  const std::string_view parts = header.bytes(index_bytes);
  if (!header.ok()) return damaged("it is cut short", file.size());
  if (base::crc32c(0, parts.data(), parts.size()) != crc || zero != 0)
    return damaged("the checksum of the index does not match", file.size());
  Index index{base::ByteReader(parts), file};
  TaskFile out;
  WALLE_ASSIGN(Resource code, index.next(bytes));
  out.code = std::move(code.bytes);
  std::string last;
  for (uint32_t i = 0; i < count; ++i) {
    WALLE_ASSIGN(Resource part, index.next(bytes));
    // In order, so that a look-up is a binary search, and no name is there twice.
    if (!base::valid_name(base::NameKind::file, part.name) || (i > 0 && part.name <= last))
      return damaged({"resource name '", part.name, "' is not allowed or out of order"}, file.size());
    last = part.name;
    const bool is_source = part.name.starts_with(kSourceFolder);
    if (is_source) part.name.erase(0, kSourceFolder.size());
    (is_source ? out.sources : out.resources).push_back(std::move(part));
  }
  if (!index.rest.done()) return damaged("the index is longer than its parts", file.size());
  return out;
}

Result<std::string> write_task_file(std::string_view code,
                                    std::vector<std::pair<std::string, std::string_view>> resources) {
  std::sort(resources.begin(),
            resources.end());  // equal contents give equal files, whatever order they came in
  size_t index_bytes = kPartBytes;
  for (size_t i = 0; i < resources.size(); ++i) {
    const std::string& name = resources[i].first;
    WALLE_TRY(base::check_name(base::NameKind::file, name, "TaskBundle.compile"));
    if (i > 0 && name == resources[i - 1].first)
      return argument_error({"file '", name, "' twice"}, "each once", "TaskBundle.compile", "rename one");
    index_bytes += kPartBytes + name.size();
  }
  // The code is the part without a name, which no resource can have.
  resources.insert(resources.begin(), {std::string(), code});
  base::ByteWriter index;
  uint64_t offset =
      static_cast<uint64_t>(base::round_up(static_cast<int64_t>(kHeaderBytes + index_bytes), kAlignment));
  std::vector<uint64_t> offsets;
  for (const auto& [name, bytes] : resources) {
    offsets.push_back(offset);
    index.put(offset);
    index.put(uint64_t{bytes.size()});
    index.put(base::crc32c(0, bytes.data(), bytes.size()));
    index.put_text(name);
    offset = static_cast<uint64_t>(base::round_up(static_cast<int64_t>(offset + bytes.size()), kAlignment));
  }
  base::ByteWriter out;
  out.reserve(offset);
  out.put_bytes(kMagic);
  out.put(base::crc32c(0, index.written().data(), index.size()));
  out.put_count(index.size());
  out.put_count(resources.size() - 1);
  out.put(uint32_t{0});
  out.put_bytes(index.written());
  for (size_t i = 0; i < resources.size(); ++i) {
    out.pad_to(offsets[i]);
    out.put_bytes(resources[i].second);
  }
  return out.take();
}

}  // namespace walle::vm
