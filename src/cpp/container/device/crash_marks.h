// CrashMarks: which task was at work when a process ended without a word.
//
// A process that the system kills for its memory, or that native code takes down, reports nothing; and the
// event that did it runs first after the next start, so the app would die for ever. A word for each task in a
// mapped file tells the next process: stores to a mapped file outlive a killed process at once and cost a
// firing a few nanoseconds, where a file written before each firing would cost a disk's answer. Not synced: a
// lost power supply is nobody's fault, and a word it leaves behind is complete.
//
// Threads: claim() and release() under the device's lock for installing; a Mark by the worker that has its
// task's turn. A word is stored whole and carries its own check, so a torn file reads as no marks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/env.h"
#include "container/device/task_result.h"

namespace walle::container {

// One version's word, for its runner. Without a word it does nothing.
class Mark {
 public:
  Mark() = default;
  Mark(uint64_t* word, uint32_t who, uint32_t deaths) : word_(word), who_(who), deaths_(deaths) {}

  void begin(Phase phase);
  // The process has outlived it, whatever came of the firing.
  void end();
  // Between two phases of one firing, or given up: nothing runs, and what was counted stays.
  void rest();

 private:
  void store(uint32_t deaths, uint32_t phase);

  uint64_t* word_ = nullptr;
  uint32_t who_ = 0;
  uint32_t deaths_ = 0;
};

// What an earlier process left.
struct Deaths {
  uint32_t count = 0;          // processes in a row
  std::optional<Phase> phase;  // in which the last one ended
};

class CrashMarks {
 public:
  // `dir`/marks.walm, made when it is not there. Damaged words are forgotten: they only spare a few deaths.
  static Result<std::unique_ptr<CrashMarks>> open(Env& env, const std::string& dir);

  // The word of a task's version; one that was at work when the last process ended counts that. A new version
  // begins at 0. `version` is whatever differs between two installs.
  Mark claim(const std::string& task, const std::string& version, Deaths& deaths);
  void release(const std::string& task);
  // Lets go of the words that nobody has claimed.
  void sweep();

 private:
  explicit CrashMarks(std::unique_ptr<base::WritableMap> map) : map_(std::move(map)) {}
  uint64_t* words() const;
  uint64_t* find(uint32_t who) const;

  std::unique_ptr<base::WritableMap> map_;
  std::map<std::string, uint64_t*, std::less<>> claimed_;
};

}  // namespace walle::container
