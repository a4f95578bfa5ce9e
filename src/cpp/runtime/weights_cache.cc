#include "runtime/weights_cache.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstdio>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace walle::runtime {

namespace {
constexpr std::string_view kMagic = "WALLEPKW";
constexpr uint16_t kVersion = 1;
constexpr std::string_view kSuffix = ".packed";
constexpr size_t kChecksumBytes = 4;

std::string header_of(const Digest& key, std::span<const std::byte> block) {
  base::ByteWriter out;
  out.put_bytes(kMagic);
  out.put(kVersion);
  out.put(key[0]);
  out.put(key[1]);
  out.put(uint64_t{block.size()});
  out.put(base::crc32c(0, block.data(), block.size()));
  out.pad_to(WeightsCache::kHeaderBytes - kChecksumBytes);
  out.put_checksum();
  return out.take();
}
}  // namespace

Digest WeightsCache::key_of(std::span<const Tensor* const> sources, const std::string& kind) const {
  base::Hasher hash;
  // What packs is also a matter of the byte order, which kinds do not say.
  hash.value(build_).value(uint16_t{kVersion}).value(uint8_t{std::endian::native == std::endian::little});
  hash.text(kind).value(uint64_t{sources.size()});
  Digest key{};
  for (const Tensor* source : sources) {
    const Tensor t = source->as_stored();
    hash.text(dtype_name(t.dtype())).text(t.shape().text());
    const Digest bytes = digest_of({t.address(), static_cast<size_t>(t.bytes())});
    for (size_t i = 0; i < key.size(); ++i) key[i] = base::mix(key[i], bytes[i]);
  }
  const uint64_t rest = hash.finish();
  return {base::mix(key[0], rest), base::mix(rest, key[1])};
}

std::string WeightsCache::path_of(const Digest& key) const {
  char name[33];
  std::snprintf(name, sizeof name, "%016llx%016llx", static_cast<unsigned long long>(key[0]),
                static_cast<unsigned long long>(key[1]));
  return folder_ + "/" + name + std::string(kSuffix);
}

WeightsCache::Answer WeightsCache::find(const Digest& key) const {
  const std::string path = path_of(key);
  const int64_t size = env_.file_size(path);
  if (size < 0) return {};
  Answer damaged;
  damaged.found = Found::damaged;
  if (size < static_cast<int64_t>(kHeaderBytes) ||
      size > kMostBlockBytes + static_cast<int64_t>(kHeaderBytes))
    return damaged;
  auto file = base::MappedFile::open(path);
  if (!file.ok() || (*file)->bytes().size() < kHeaderBytes) return damaged;
  const std::span<const std::byte> header = (*file)->bytes().first(kHeaderBytes);
  const std::span<const std::byte> block = (*file)->bytes().subspan(kHeaderBytes);
  if (base::as_text(header) != header_of(key, block)) return damaged;
  return {.found = Found::whole, .file = std::move(*file), .block = block};
}

// From the new name on and round: hashes are spread evenly, so every old file is as likely to go.
Status WeightsCache::make_room(const std::string& own, int64_t bytes) const {
  WALLE_ASSIGN(std::vector<std::string> names, env_.list_files(folder_));
  std::erase_if(names, [&](const std::string& name) { return !name.ends_with(kSuffix) || name == own; });
  std::vector<int64_t> sizes;
  for (const std::string& name : names) {
    sizes.push_back(std::max<int64_t>(env_.file_size(folder_ + "/" + name), 0));
    bytes += sizes.back();
  }
  size_t left = names.size();
  size_t next = static_cast<size_t>(std::ranges::upper_bound(names, own) - names.begin());
  for (; left > 0 && (bytes > limits_.bytes || left + 1 > limits_.files); --left, ++next) {
    const size_t i = next % names.size();
    (void)env_.remove_file(folder_ + "/" + names[i]);  // another process may have been quicker
    bytes -= sizes[i];
  }
  return {};
}

Result<bool> WeightsCache::keep(const Digest& key, std::span<const std::byte> block) const {
  const auto size = std::ssize(block);
  const int64_t whole = size + static_cast<int64_t>(kHeaderBytes);
  if (size < kLeastBlockBytes || size > kMostBlockBytes || whole > limits_.bytes) return false;
  WALLE_TRY(env_.make_dirs(folder_));
  const std::string path = path_of(key);
  WALLE_TRY(make_room(path.substr(folder_.size() + 1), whole));
  const std::string header = header_of(key, block);
  const auto fill = [&](base::FileWriter& out) -> Status {
    WALLE_TRY(out.write(0, std::as_bytes(std::span(header))));
    return out.write(kHeaderBytes, block);
  };
  WALLE_TRY(env_.replace_file(path, static_cast<uint64_t>(whole), base::FileAccess::owner, fill));
  return true;
}

uint64_t build_fingerprint() {
  Dl_info info{};
  struct stat file{};
  if (!::dladdr(reinterpret_cast<void*>(&build_fingerprint), &info) || !info.dli_fname ||
      ::stat(info.dli_fname, &file) != 0)
    return 0;
#ifdef __APPLE__
  const timespec& modified = file.st_mtimespec;
#else
  const timespec& modified = file.st_mtim;
#endif
  base::Hasher hash;
  hash.text(WALLE_VERSION_TEXT).value(static_cast<int64_t>(file.st_size));
  hash.value(static_cast<int64_t>(modified.tv_sec)).value(static_cast<int64_t>(modified.tv_nsec));
  return hash.finish();
}

}  // namespace walle::runtime
