#include "link/agent/blob_folder.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/bytes.h"

namespace walle::link {

namespace {
constexpr std::string_view kMagic = "WALPART1";
constexpr size_t kPartBytes = 8 + 8 + 8 + 4;  // magic, size of the file, bytes that arrived, checksum

std::string encode_part(uint64_t size, uint64_t arrived) {
  base::ByteWriter out;
  out.put_bytes(kMagic);
  out.put(size);
  out.put(arrived);
  out.put_checksum();
  return out.take();
}

Error wrong_bytes(Text given, const Blob& blob, Text url) {
  return network_error(given, {"the ", blob.size, " bytes with digest ", blob.digest}, {"'", url, "'"},
                       "look at what the server keeps under this digest; nothing was used");
}
}  // namespace

// One file on its way: bytes at their places, a checkpoint now and then.
class BlobFolder::Arrival {
 public:
  Arrival(BlobFolder& folder, const Blob& blob, std::unique_ptr<base::WritableMap> map, uint64_t from)
      : folder_(folder), blob_(blob), map_(std::move(map)), at_(from), safe_(from) {}

  Status take(std::string_view piece, const std::string& url) {
    if (piece.size() > blob_.size - at_) {
      too_many_ = true;
      return wrong_bytes("more bytes", blob_, url);
    }
    std::memcpy(map_->bytes().data() + at_, piece.data(), piece.size());
    at_ += piece.size();
    return at_ - safe_ >= folder_.checkpoint_bytes_ && at_ < blob_.size ? checkpoint() : Status();
  }
  // The bytes first: a part file that says more than the disk has would cost the whole transfer.
  Status checkpoint() {
    if (at_ == safe_) return {};
    WALLE_TRY(map_->sync(safe_, at_ - safe_));
    WALLE_TRY(folder_.env_->replace_file(folder_.part(blob_), encode_part(blob_.size, at_)));
    safe_ = at_;
    return {};
  }
  Status sync() { return at_ == safe_ ? Status() : map_->sync(safe_, at_ - safe_); }
  Result<bool> holds() {
    const std::unique_ptr<Digest> digest = folder_.crypto_->digest(DigestKind::sha256);
    WALLE_TRY(digest->add(base::as_text(map_->bytes())));
    WALLE_ASSIGN(const std::string raw, digest->finish());
    return to_hex(raw) == blob_.digest;
  }
  uint64_t at() const { return at_; }
  bool whole() const { return at_ == blob_.size; }
  bool too_many() const { return too_many_; }

 private:
  BlobFolder& folder_;
  const Blob& blob_;
  std::unique_ptr<base::WritableMap> map_;
  uint64_t at_, safe_;
  bool too_many_ = false;
};

Result<BlobFolder> BlobFolder::open(Env& env, const Crypto& crypto, std::string folder,
                                    uint64_t checkpoint_bytes) {
  WALLE_TRY(env.make_dirs(folder));
  return BlobFolder(env, crypto, std::move(folder), std::max<uint64_t>(checkpoint_bytes, 1));
}

// A file that is not of this size was never ours.
Status BlobFolder::forget(const Blob& blob) {
  for (const std::string& file : {part(blob), path(blob)}) {
    if (env_->file_size(file) >= 0) WALLE_TRY(env_->remove_file(file));
  }
  return {};
}

// Bytes that an earlier transfer left; 0 where that cannot be believed.
uint64_t BlobFolder::arrived(const Blob& blob) {
  if (env_->file_size(path(blob)) != static_cast<int64_t>(blob.size)) return 0;
  if (env_->file_size(part(blob)) != static_cast<int64_t>(kPartBytes)) return 0;
  const Result<std::string> bytes = env_->read_prefix(part(blob), kPartBytes);
  if (!bytes.ok()) return 0;
  base::ByteReader r(*bytes);
  if (!r.expect(kMagic)) return 0;
  const auto size = r.get<uint64_t>();
  const auto arrived = r.get<uint64_t>();
  if (!r.checksum() || !r.done() || size != blob.size || arrived > size) return 0;
  return arrived;
}

Result<bool> BlobFolder::has(const Blob& blob) {
  if (env_->file_size(path(blob)) < 0) return false;
  if (blob.size > 0 && arrived(blob) > 0) return false;
  if (env_->file_size(path(blob)) == static_cast<int64_t>(blob.size)) {
    bool holds = false;
    if (blob.size == 0) {
      WALLE_ASSIGN(const std::string digest, digest_hex(*crypto_, DigestKind::sha256, ""));
      holds = digest == blob.digest;
    } else {
      WALLE_ASSIGN(std::unique_ptr<base::WritableMap> map, env_->map_writable(path(blob), blob.size));
      WALLE_ASSIGN(holds, Arrival(*this, blob, std::move(map), blob.size).holds());
    }
    if (holds) return true;
  }
  // Not written over: an installed task may have the same file.
  WALLE_TRY(forget(blob));
  return false;
}

Result<uint64_t> BlobFolder::fetch(Transport& transport, const std::string& url, const Blob& blob) {
  WALLE_ASSIGN(const bool there, has(blob));
  if (there) return uint64_t{0};
  if (blob.size == 0) {
    WALLE_ASSIGN(const std::string digest, digest_hex(*crypto_, DigestKind::sha256, ""));
    if (digest != blob.digest) return wrong_bytes("an empty file", blob, url);
    WALLE_TRY(env_->replace_file(path(blob), ""));
    return uint64_t{0};
  }
  const uint64_t from = arrived(blob);
  if (from == 0) WALLE_TRY(forget(blob));
  WALLE_ASSIGN(std::unique_ptr<base::WritableMap> map, env_->map_writable(path(blob), blob.size));
  Arrival arrival(*this, blob, std::move(map), from);
  if (!arrival.whole()) {
    const Result<int> status = transport.get(
        {.url = url, .from = from}, [&](std::string_view piece) { return arrival.take(piece, url); });
    const bool refused = status.ok() && *status != kHttpOk && *status != kHttpPartial;
    if (!status.ok() || refused) {
      // What came before the cut is the next transfer's beginning.
      if (arrival.too_many() || (refused && *status == kHttpNotSatisfiable))
        WALLE_TRY(forget(blob));
      else
        (void)arrival.checkpoint().ok();
      if (!status.ok()) return Error(status.error());
      return network_error({"status ", *status}, "200 or 206", {"'", url, "'"},
                           "try again later, and look at the server's log");
    }
    if (!arrival.whole()) {
      (void)arrival.checkpoint().ok();
      return wrong_bytes({arrival.at(), " bytes"}, blob, url);
    }
  }
  WALLE_ASSIGN(const bool holds, arrival.holds());
  if (!holds) {
    WALLE_TRY(forget(blob));
    return wrong_bytes("bytes with another digest", blob, url);
  }
  WALLE_TRY(arrival.sync());
  if (env_->file_size(part(blob)) >= 0) WALLE_TRY(env_->remove_file(part(blob)));
  return arrival.at() - from;
}

void BlobFolder::sweep(const std::set<std::string>& kept) {
  const Result<std::vector<std::string>> files = env_->list_files(folder_);
  if (!files.ok()) return;
  for (const std::string& file : *files) {
    const std::string digest = file.substr(0, file.find('.'));
    // What cannot be removed stays for the next time.
    if (!kept.contains(digest)) (void)env_->remove_file(folder_ + "/" + file).ok();
  }
}

}  // namespace walle::link
