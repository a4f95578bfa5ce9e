// The Env of the tests: files live in memory, each with the bytes a
// process sees and the bytes a disk would have kept.
//
// lose_power() forgets whatever was not synced; fail_at(k) breaks the k-th operation from now; limit_disk,
// set_read_only and the clock do what they say. Maps opened before lose_power() must be closed by then. Not
// synchronised.
#pragma once

#include <map>
#include <mutex>
#include <random>

#include "base/env.h"

namespace walle::base {

struct FaultFile {
  std::string live;    // what a surviving machine sees
  std::string synced;  // what survives a power loss
  bool durable_name = false;
  bool locked = false;
};

class FaultEnv final : public Env {
 public:
  // Unsynced 512-byte sectors of mapped files survive independently with `survival` probability (a disk may
  // have written any of them); 0 keeps none.
  void lose_power(uint64_t seed = 0, double survival = 0.0);
  void fail_at(int64_t operations_from_now) { countdown_ = operations_from_now; }
  void limit_disk(int64_t bytes) { disk_bytes_ = bytes; }
  void set_read_only(bool value) { read_only_ = value; }
  void set_wall_us(int64_t value) { wall_us_ = value; }
  void advance_us(int64_t delta) {
    wall_us_ += delta;
    steady_us_ += delta;
  }
  int64_t operations() const { return operations_; }
  std::string& file(const std::string& path) { return files_[path]->live; }
  // Called before each operation that writes: a test that keeps copy() there has what kill -9 would leave.
  void before_writes(std::function<void()> hook) { hook_ = std::move(hook); }
  // Files as a surviving machine sees them at this moment; nobody holds them, nothing fails.
  std::unique_ptr<FaultEnv> copy() const;

  Result<std::unique_ptr<WritableMap>> map_writable(const std::string& path, size_t size) override;
  Result<std::string> read_file(const std::string& path) override { return read_prefix(path, SIZE_MAX); }
  Result<std::string> read_prefix(const std::string& path, size_t size) override;
  using Env::replace_file;
  Status replace_file(const std::string& path, uint64_t size, FileAccess access,
                      const std::function<Status(FileWriter&)>& fill) override;
  Status remove_file(const std::string& path) override;
  Status make_dirs(const std::string& path) override;
  Result<std::vector<std::string>> list_files(const std::string& dir) override;
  int64_t file_size(const std::string& path) override;
  int64_t wall_us() override { return wall_us_; }
  int64_t steady_us() override { return steady_us_; }

  Status step(std::string_view what, const std::string& path,
              bool writes);  // counts one operation; the injected failure

 private:
  int64_t used_bytes() const;

  std::map<std::string, std::shared_ptr<FaultFile>> files_;
  std::function<void()> hook_;
  int64_t countdown_ = -1;
  int64_t operations_ = 0;
  int64_t disk_bytes_ = -1;
  bool read_only_ = false;
  // November 2023; any time far from 0 would do.
  int64_t wall_us_ = 1'700'000'000'000'000;
  int64_t steady_us_ = 1'000'000;
};

}  // namespace walle::base
