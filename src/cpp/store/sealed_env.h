// SealedEnv: an Env whose files are sealed with a key: what is replaced as a whole is encrypted on its way to
// the disk and back. Mapped files pass through as they are; who maps one seals what it puts there.
//
// A file is bound to its name, so that one file cannot be put in the place of another. One that does not open
// reads as its sealed bytes, which no format takes for its own: damage, and reported as such. Whether the key
// is the right one is asked first, of check_key().
#pragma once

#include <memory>

#include "base/aead.h"
#include "base/env.h"

namespace walle::store {

class SealedEnv final : public Env {
 public:
  SealedEnv(Env& below, std::shared_ptr<base::Aead> aead) : below_(below), aead_(std::move(aead)) {}

  Result<std::unique_ptr<base::WritableMap>> map_writable(const std::string& path, size_t size) override {
    return below_.map_writable(path, size);
  }
  Result<std::string> read_file(const std::string& path) override { return read_prefix(path, SIZE_MAX); }
  Result<std::string> read_prefix(const std::string& path, size_t size) override;
  using Env::replace_file;
  Status replace_file(const std::string& path, uint64_t size, base::FileAccess access,
                      const std::function<Status(base::FileWriter&)>& fill) override;
  Status remove_file(const std::string& path) override { return below_.remove_file(path); }
  Status make_dirs(const std::string& path) override { return below_.make_dirs(path); }
  Result<std::vector<std::string>> list_files(const std::string& dir) override {
    return below_.list_files(dir);
  }
  // Whether there is a file; what it holds is smaller.
  int64_t file_size(const std::string& path) override { return below_.file_size(path); }
  int64_t wall_us() override { return below_.wall_us(); }
  int64_t steady_us() override { return below_.steady_us(); }

  base::Aead& aead() { return *aead_; }

 private:
  Env& below_;
  std::shared_ptr<base::Aead> aead_;
};

// The key with the cipher that the files of `dir` were sealed with; where there are none yet, with that of
// new ones. Whether it is their key says check_key().
Result<std::shared_ptr<base::Aead>> open_aead(Env& env, const std::string& dir, std::string_view key);

// Whether the files of `dir` were sealed with this key (nullptr: with none), by a note in two copies that is
// made where `dir` is still empty and `writing`. An error for another key, a missing one, or one too many.
Status check_key(Env& env, const std::string& dir, base::Aead* aead, bool writing, bool empty);

}  // namespace walle::store
