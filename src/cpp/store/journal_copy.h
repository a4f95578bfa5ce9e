// JournalCopy: a journal's frames as they were at one moment, for whoever reads beside a writer or where
// nothing can be written: no lock, no mapping, no byte changed. Immutable.
#pragma once

#include <functional>

#include "base/env.h"
#include "store/journal.h"
#include "store/journal_chain.h"

namespace walle::store {

class JournalCopy {
 public:
  // `expected`: as JournalOwner::expected_first. A missing file is an empty journal.
  static Result<JournalCopy> read(Env& env, const std::string& path, uint64_t expected);

  // As Journal::read.
  void read(uint64_t from, const std::function<bool(uint64_t, std::span<const std::byte>)>& visit) const;
  uint64_t last_seq() const { return recovery_.last_seq; }
  size_t capacity() const { return bytes_.size() < kJournalHeaderBytes ? 0 : ring().size(); }
  const JournalRecovery& recovery() const { return recovery_; }

 private:
  std::span<const std::byte> header() const {
    return std::as_bytes(std::span(bytes_)).first(kJournalHeaderBytes);
  }
  std::span<const std::byte> ring() const {
    return std::as_bytes(std::span(bytes_)).subspan(kJournalHeaderBytes);
  }
  void follow(uint64_t expected);

  std::string bytes_;
  Chain chain_{};
  JournalRecovery recovery_;
};

}  // namespace walle::store
