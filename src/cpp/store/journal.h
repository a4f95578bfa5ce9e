// Journal: an append-only journal in a memory-mapped ring file: what append() accepted
// survives kill -9, because the frame's checksum is stored last and the page cache
// outlives the process; sync() makes it survive a power loss.
//
// The file is docs/reference/formats/journal.md: a header page, then the ring of frames with consecutive
// numbers, so that a stale frame of an earlier lap never continues the chain.
//
// Invariant: the chain ends at the newest frame, whatever older bytes lie behind it. The word where the next
// frame's number will be is 0 (the end mark), a number no frame has; that place is always kept free. Numbers
// stay below 2^62.
//
// Threads: one appender; at any time beside it one consumer (read, release) and any number of syncers.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "base/env.h"
#include "store/journal_frame.h"

namespace walle::store {

inline constexpr size_t kJournalHeaderBytes = 4096;  // a page: it is synced apart from the ring
// A frame's head, and up to 8 bytes at a lap's end that are too few for one.
inline constexpr size_t kEndMarkBytes = 24;

struct JournalRecovery {
  uint64_t first_seq = 0;  // oldest frame kept; first_seq > last_seq when the journal is empty
  uint64_t last_seq = 0;   // newest frame kept
  // Accepted frames that are gone: known from the header or from frames behind the damage.
  uint64_t lost = 0;
  uint64_t damage_offset = 0;  // file offset where reading stopped when lost > 0
  bool had_tail = false;       // false of a new file, and of one whose header is gone
};

// Whoever keeps the journal's frames elsewhere in the end knows more than its file does. Both are asked while
// the file is locked; when one fails, opening does.
struct JournalOwner {
  // Number of the oldest frame that must still be in the journal; it is found even where the header is gone.
  std::function<Result<uint64_t>()> expected_first;
  // Told what was found before anything in the file is changed: what is lost can be written down elsewhere
  // first, and no crash in between makes it forgotten. Returns the least number for the next frame, 0 for
  // any.
  std::function<Result<uint64_t>(const JournalRecovery&, size_t capacity)> before_mending;
};

// Where a frame lies, in bytes ever placed. Good as long as the frame is kept.
struct JournalPlace {
  uint64_t at = 0;
  uint64_t seq = 0;  // 0: nowhere
};

class Journal {
 public:
  // `capacity` counts the ring alone, a multiple of 4,096. An existing file keeps its own capacity.
  static Result<std::unique_ptr<Journal>> open(Env& env, const std::string& path, size_t capacity,
                                               const JournalOwner& owner = {});

  // Whether a payload of `size` bytes has space; after true the next commit() is of that size.
  bool reserve(size_t size);
  // Accepts the reserved payload, which `write(writer)` puts (see
  // base/checked_write.h); returns its sequence number.
  template <class Write>
  uint64_t commit(size_t size, Write&& write) {
    const uint64_t seq = committed_.load(std::memory_order_relaxed);
    write_frame_with(place(size, true), static_cast<uint32_t>(size), seq, write);
    accept(size, seq);
    return seq;
  }
  Result<uint64_t> append(std::span<const std::byte> payload);

  // Calls `visit` for every kept frame with seq >= from, oldest first, until it returns false. Looks from
  // `start` on where that is a place next_place() gave and its frame is kept, else from the oldest frame.
  void read(uint64_t from, const std::function<bool(uint64_t, std::span<const std::byte>)>& visit,
            JournalPlace start = {}) const;
  // The appender's, between reserve() and commit(): where the frame will lie.
  JournalPlace next_place() const {
    return {head_.load(std::memory_order_relaxed) + skipped_, committed_.load(std::memory_order_relaxed)};
  }
  // Frames up to and including `seq` may be overwritten from now on, even after a power loss.
  Status release(uint64_t seq);
  Status sync();
  // The frames alone: one write where sync() makes two. The header is only asked how many frames there should
  // be, and what it says may be old.
  Status sync_frames();
  // Zeros wherever no kept frame lies: released frames stay readable otherwise until they are overwritten.
  // The appender's.
  Status clear_released();

  uint64_t last_seq() const { return committed_.load(std::memory_order_acquire) - 1; }
  uint64_t first_seq() const { return tail_seq_.load(std::memory_order_acquire); }
  uint64_t unsynced() const { return last_seq() - synced_seq_.load(std::memory_order_acquire); }
  size_t capacity() const { return ring_.size(); }
  size_t used() const;
  // A quarter of the ring, so that skip space can never make a frame unplaceable.
  size_t max_payload() const { return ring_.size() / 4; }
  const JournalRecovery& recovery() const { return recovery_; }
  // The sequence number the next frame gets must be at least this one (after a lost journal behind kept
  // segments). Precondition: next_seq < kMaxSeq; nobody reads beside it.
  void skip_to(uint64_t next_seq);

 private:
  Journal(std::unique_ptr<base::WritableMap> map, std::string path);
  Status recover(const JournalOwner& owner);
  Status mend(uint64_t expected, uint64_t next);
  void clear_unused(uint64_t from_seq);
  void write_tail(uint64_t seq, uint64_t offset);
  void write_last_seq(uint64_t seq);
  void write_gap(uint64_t next_seq);
  void mark_end(size_t offset);
  bool find_place(size_t size, size_t behind);
  std::byte* place(size_t size, bool marked);
  void move_head(size_t size);
  Status sync_ring(uint64_t head);
  void accept(size_t size, uint64_t seq);

  std::unique_ptr<base::WritableMap> map_;
  std::string path_;
  std::span<std::byte> header_, ring_;
  std::atomic<uint64_t> committed_{1};  // next sequence number
  std::atomic<uint64_t> head_{0};       // total bytes ever placed: ring offset is head_ % capacity
  // That offset, the appender's: a division would cost as much as a checksum.
  size_t head_offset_ = 0;
  std::atomic<uint64_t> tail_{0};  // total bytes ever released, same counting
  std::atomic<uint64_t> tail_seq_{1};
  std::atomic<uint64_t> synced_seq_{0};
  std::atomic<uint64_t> synced_head_{0};
  std::mutex syncing_;
  uint64_t header_seq_ = 0;  // synced_seq_ when the header was last written
  uint64_t generation_ = 0;
  size_t skipped_ = 0;  // bytes of the lap the reserved frame leaves unused
  JournalRecovery recovery_;
};

}  // namespace walle::store
