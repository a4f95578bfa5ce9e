// Manifest check: what opening a log finds beside what its manifest (log_manifest.h) says there must be.
// Changes the manifest and nothing on the disk: the caller writes the manifest first and then does what is
// to be done with files, so that a crash in between forgets no loss.
#pragma once

#include "base/env.h"
#include "store/journal.h"
#include "stream/event/log_manifest.h"

namespace walle::stream {

// The least a frame of an event takes: bounds how many numbers a journal can hold.
inline constexpr uint64_t kLeastFrame = 48;

struct FoundSegments {
  std::vector<std::string> aside;    // files that do not read, or that hold what other segments hold
  std::vector<std::string> removed;  // retention or a crash in it left them
  uint64_t damaged = 0;
};

// Compares the segment files of `dir` with `manifest`, whose list becomes what is there and reads.
Result<FoundSegments> check_segments(Env& env, const std::string& dir, bool manifest_known,
                                     LogManifest& manifest);

// Compares what the journal kept; returns the least number that the next event may have. Segments come first.
uint64_t check_journal(const store::JournalRecovery& journal, size_t capacity, bool manifest_known,
                       int64_t now_us, LogManifest& manifest);

}  // namespace walle::stream
