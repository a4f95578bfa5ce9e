// BlobFolder: files by their digest: what packages are made of, on their way to the device and while one
// needs them.
//
// A file that comes lies at its place in full size from the first byte on, so a full disk is an error before
// anything is fetched; beside it, while it is not whole, "<digest>.part" says up to where its bytes are on
// the disk. So a transfer that was cut goes on behind its last byte, and one whose process died behind the
// last checkpoint. What lies there is believed when its digest was computed again, and at no other time.
//
// One owner at a time; not synchronised. docs/reference/formats/agent-state.md.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "base/env.h"
#include "link/crypto.h"
#include "link/transport.h"

namespace walle::link {

struct Blob {
  std::string digest;  // SHA-256 in lower-case hexadecimal
  uint64_t size = 0;
};

class BlobFolder {
 public:
  // A power loss costs at most so many bytes of a transfer; each checkpoint is two waits for the disk.
  static constexpr uint64_t kCheckpointBytes = uint64_t{1} << 20;

  // Creates the folder.
  static Result<BlobFolder> open(Env& env, const Crypto& crypto, std::string folder,
                                 uint64_t checkpoint_bytes = kCheckpointBytes);

  // Whether the file is there, whole. One that is not, and is not under way, is removed.
  Result<bool> has(const Blob& blob);
  // Gets the file from `url` unless it is there, and returns how many bytes came. After an error it is not
  // there, and what came of it is kept for the next time - unless all came and they were the wrong ones.
  Result<uint64_t> fetch(Transport& transport, const std::string& url, const Blob& blob);
  // Removes what is not named here, parts too.
  void sweep(const std::set<std::string>& kept);

  const std::string& path() const { return folder_; }
  std::string path(const Blob& blob) const { return folder_ + "/" + blob.digest; }

 private:
  class Arrival;

  BlobFolder(Env& env, const Crypto& crypto, std::string folder, uint64_t checkpoint_bytes)
      : env_(&env), crypto_(&crypto), folder_(std::move(folder)), checkpoint_bytes_(checkpoint_bytes) {}
  std::string part(const Blob& blob) const { return path(blob) + ".part"; }
  uint64_t arrived(const Blob& blob);
  Status forget(const Blob& blob);

  Env* env_;
  const Crypto* crypto_;
  std::string folder_;
  uint64_t checkpoint_bytes_;
};

}  // namespace walle::link
