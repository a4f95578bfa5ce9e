#include "store/mirrored_file.h"

#include <optional>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace walle::store {

namespace {
constexpr std::string_view kMirroredMagic = "WALMIRR1";  // with the layout's version: another one is not read
constexpr size_t kCopyHeadBytes = 28;                    // magic, checksum, number, kind, size
// A million writes a second reach it in 292,000 years; a higher one leaves no room to count on.
constexpr uint64_t kMaxNumber = uint64_t{1} << 63;

struct Copy {
  bool there = false;
  std::optional<Error> unread;  // of the disk
  bool whole = false;
  uint64_t number = 0;
  std::string content;
};

Copy read_copy(Env& env, const std::string& path, std::string_view kind, size_t most) {
  Copy out;
  if (env.file_size(path) < 0) return out;
  out.there = true;
  // One byte more than any copy has: a file of any size is looked at, and none is loaded that cannot be one.
  auto bytes = env.read_prefix(path, kCopyHeadBytes + most + 1);
  if (!bytes.ok())
    out.unread = bytes.take_error();
  else
    out.whole = decode_mirrored(*bytes, kind, out.number, out.content, most);
  return out;
}
}  // namespace

std::string encode_mirrored(std::string_view kind, uint64_t number, std::string_view content) {
  base::ByteWriter rest;
  rest.put(number);
  rest.put_bytes(kind);
  rest.put_text(content);
  base::ByteWriter out;
  out.reserve(kCopyHeadBytes + content.size());
  out.put_bytes(kMirroredMagic);
  out.put(base::crc32c(0, rest.written().data(), rest.size()));
  out.put_bytes(rest.written());
  return out.take();
}

bool decode_mirrored(std::string_view bytes, std::string_view kind, uint64_t& number, std::string& content,
                     size_t most) {
  base::ByteReader r(bytes);
  if (!r.expect(kMirroredMagic)) return false;
  const auto crc = r.get<uint32_t>();
  const std::string_view rest = bytes.substr(r.offset());
  if (!r.ok() || crc != base::crc32c(0, rest.data(), rest.size())) return false;
  const auto counted = r.get<uint64_t>();
  if (!r.expect(kind)) return false;
  const std::string_view text = r.text();
  if (!r.done() || counted == 0 || counted >= kMaxNumber || text.size() > most) return false;
  number = counted;
  content = text;
  return true;
}

Result<MirroredFile> MirroredFile::open(Env& env, std::string path, std::string kind, size_t most) {
  MirroredFile out(env, std::move(path), std::move(kind), most);
  Copy a = read_copy(env, out.path_, out.kind_, most);
  Copy b = read_copy(env, out.mirror_path(), out.kind_, most);
  out.number_ = std::max(a.number, b.number);
  if (!a.whole && !b.whole) {
    if (a.unread) return std::move(*a.unread);
    if (b.unread) return std::move(*b.unread);
    out.found_ = a.there || b.there ? Found::damaged : Found::nothing;
    return out;
  }
  Copy& newest = a.number >= b.number ? a : b;  // one that is not whole has number 0
  // One number is given to one content: two contents under one number were put there, and the first one
  // counts, as everywhere.
  out.uneven_ = a.number != b.number || a.content != b.content;
  out.found_ = a.whole && b.whole ? Found::whole : Found::mended;
  out.content_ = std::move(newest.content);
  return out;
}

Status MirroredFile::mend() {
  if (!uneven_) return {};
  // Under the number that it has: nothing was written, and the whole copy is not touched.
  const std::string bytes = encode_mirrored(kind_, number_, content_);
  for (const std::string& path : {path_, mirror_path()}) {
    const Copy copy = read_copy(*env_, path, kind_, most_);
    if (copy.whole && copy.number == number_ && copy.content == content_) continue;
    WALLE_TRY(env_->replace_file(path, bytes));
  }
  uneven_ = false;
  return {};
}

Status MirroredFile::write(std::string_view content) {
  if (content.size() > most_)
    return resource_error({content.size(), " bytes of state"}, {"at most ", most_}, {"'", path_, "'"},
                          "remove names that are no longer needed");
  // A new number for every try: what a failed one left in one copy is older than the next success.
  const std::string bytes = encode_mirrored(kind_, ++number_, content);
  uneven_ = true;
  WALLE_TRY(env_->replace_file(path_, bytes));
  WALLE_TRY(env_->replace_file(mirror_path(), bytes));
  uneven_ = false;
  content_ = content;
  return {};
}

Status MirroredFile::set_aside() {
  for (const std::string& path : {path_, mirror_path()}) {
    const Copy copy = read_copy(*env_, path, kind_, most_);
    if (!copy.there || copy.whole) continue;
    WALLE_ASSIGN(const std::string bytes, env_->read_prefix(path, kCopyHeadBytes + most_));
    WALLE_TRY(env_->replace_file(path + ".damaged", bytes));
  }
  return {};
}

}  // namespace walle::store
