// What is to leave the device and waits for the tunnel: records by stream, numbered 1, 2, 3 ... in each,
// read from any number on and gone when they are acknowledged.
//
// Bounded in bytes and records. A record for which there is no room pushes out the oldest of the lowest
// priority, or is not taken where it is the lowest itself; either is counted, for its stream and durably, and
// its number is never given to another.
//
// Like tables (store/tables.h) it owns no journal: add() and acknowledge() carry the number of the frame
// that made them durable, checkpoint() writes all that waits into a file of two copies
// (docs/reference/formats/outbox.md), and a replay does nothing twice. A lost file closes nothing: its streams
// are marked until somebody acknowledges the loss, and their numbers go on behind all that were used.
// Thread-safe.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/env.h"
#include "store/twin_file.h"

namespace walle::stream {

struct OutboxOptions {
  // Both are limits on what waits. A twin file holds 16 MiB, with names and numbers.
  uint64_t max_bytes = 4 << 20;
  uint64_t max_records = 16'384;
};

struct OutboxRecord {
  uint64_t seq = 0;
  int64_t ts = 0;  // us, of the send
  uint8_t priority = 5;
  std::string task, feature;
  std::string bytes;  // pack_batch()'s
};

struct OutboxStream {
  std::string name;
  uint64_t newest = 0;        // number given out last; 0: none
  uint64_t acknowledged = 0;  // up to here
  uint64_t waiting = 0;       // records
  uint64_t waiting_bytes = 0;
  uint64_t dropped = 0;  // records that were pushed out or not taken
  uint64_t dropped_bytes = 0;
  uint64_t lost = 0;  // records that a damaged journal or file has taken; at most, until acknowledged
};

class Outbox {
 public:
  // The folder is its own.
  static Result<std::unique_ptr<Outbox>> open(Env& env, std::string dir, OutboxOptions options = {},
                                              bool read_only = false);

  // Number of the next record of a stream.
  uint64_t next(const std::string& stream) const;
  // Frame `number` says this; nothing where it is in the file.
  void add(uint64_t number, const std::string& stream, OutboxRecord record);
  void acknowledge(uint64_t number, const std::string& stream, uint64_t seq);
  // All that waits, durably, and `number` with it. `reserve`: how many records may come before the next one.
  Status checkpoint(uint64_t number, uint64_t reserve);
  uint64_t applied() const;
  // The newest frames are gone: their numbers, in every stream, are not used again.
  Status lose_newest();
  // A stream whose newest number somebody else knows; for when the file is lost.
  void not_before(const std::string& stream, uint64_t newest);

  // Records with seq >= from that wait, oldest first, at most `limit`.
  std::vector<OutboxRecord> read(const std::string& stream, uint64_t from = 0, size_t limit = SIZE_MAX) const;
  std::vector<OutboxStream> streams() const;
  bool lost() const;  // the file was; until acknowledged
  Status acknowledge_loss();

 private:
  struct Stream {
    uint64_t newest = 0, acknowledged = 0, reserved = 0, dropped = 0, dropped_bytes = 0, lost = 0;
    std::deque<OutboxRecord> waiting;
    uint64_t bytes = 0;
  };
  Outbox(store::TwinFile file, OutboxOptions options, bool read_only)
      : file_(std::move(file)), options_(options), read_only_(read_only) {}
  bool make_room(const OutboxRecord& record);
  std::string serialize(uint64_t number) const;
  bool parse(std::string_view bytes);

  mutable std::mutex lock_;
  store::TwinFile file_;
  OutboxOptions options_;
  bool read_only_;
  uint64_t applied_ = 0;
  bool lost_ = false;
  bool changed_ = false;
  std::map<std::string, Stream> streams_;
  uint64_t bytes_ = 0, records_ = 0;  // waiting in all streams
};

}  // namespace walle::stream
