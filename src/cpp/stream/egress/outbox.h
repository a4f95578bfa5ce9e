// Outbox: records that wait for the tunnel, by stream, numbered 1, 2, 3 ... in each, read from any number on
// and gone when they are acknowledged.
//
// Bounded in bytes and records. A record for which there is no room pushes out the oldest of the lowest
// priority, or is not taken where it is the lowest itself; either is counted, for its stream and durably, and
// its number is never given to another.
//
// Like tables (store/tables.h) it owns no journal: add() and acknowledge() carry the number of the frame
// that made them durable, checkpoint() writes all that waits into a file of two copies
// (docs/reference/formats/outbox.md), and a replay does nothing twice. Records that a damaged journal or file
// has taken are counted as lost until somebody acknowledges it, and their numbers are not used again.
// Thread-safe.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/env.h"
#include "store/mirrored_file.h"
#include "store/number_series.h"

namespace walle::stream {

struct OutboxOptions {
  // Both are limits on what waits. A mirrored file holds 16 MiB, with names and numbers.
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

// All that waits at one moment, as bytes; empty where the file has it.
struct OutboxStep {
  uint64_t number = 0;
  std::string content;
};

class Outbox {
 public:
  enum class Access : uint8_t {
    create,    // a folder without an outbox gets one
    existing,  // there has been one: a file that is not there was removed
    read_only
  };
  // `path` of its file, whose folder is there.
  static Result<std::unique_ptr<Outbox>> open(Env& env, const std::string& path, OutboxOptions options = {},
                                              Access access = Access::create);

  // Number of the next record of a stream.
  uint64_t next(const std::string& stream) const;
  // Frame `number` says this; nothing where it is in the file. A replay gives the numbers that were given.
  void add(uint64_t number, const std::string& stream, OutboxRecord record);
  void acknowledge(uint64_t number, const std::string& stream, uint64_t seq);
  bool would_change(const std::string& stream, uint64_t seq) const;
  // What the file lacks up to frame `number`, taken while nothing of a later one is added. `reserve`: how
  // many records may come before the next one, at most; their numbers are set aside.
  OutboxStep begin_checkpoint(uint64_t number, uint64_t reserve);
  // Durable when it returns; after an error the next step has it all. One step at a time.
  Status checkpoint(const OutboxStep& step);
  uint64_t applied() const;
  // The owner's newest frames are gone, and with them records of any stream, also of such as nobody knows:
  // `reserve` of each at most. Before the replay of those left.
  Status lose_newest(uint64_t reserve);
  // A number that somebody else knows to be given out: for when the file is lost.
  void not_before(const std::string& stream, uint64_t seq);
  // Behind the replay: numbers go on where none can have been given out.
  void settle();

  // Records with seq >= from that wait, oldest first, at most `limit`.
  std::vector<OutboxRecord> read(const std::string& stream, uint64_t from = 0, size_t limit = SIZE_MAX) const;
  std::vector<OutboxStream> streams() const;
  // Records were lost, of streams that are known or of others, with frames or with the file. Until
  // acknowledged.
  bool lost() const;
  // Durable with the next checkpoint.
  void acknowledge_loss();

 private:
  struct Stream {
    store::NumberSeries numbers;  // of which the newest is that of now
    uint64_t acknowledged = 0;
    uint64_t dropped = 0, dropped_bytes = 0, lost = 0;
    std::deque<OutboxRecord> waiting;
    uint64_t bytes = 0;
  };
  Outbox(store::MirroredFile file, OutboxOptions options, bool read_only)
      : file_(std::move(file)), options_(options), read_only_(read_only) {}
  // One that goes when there is no room: of the lowest priority the oldest.
  struct Victim {
    uint8_t priority = 0;
    int64_t ts = 0;
    const std::string* stream = nullptr;  // a key of streams_
    uint64_t seq = 0;
  };
  static bool goes_before(const Victim& a, const Victim& b);
  bool make_room(const OutboxRecord& record);
  void find_victims();
  void note_victim(const std::string& stream, const OutboxRecord& record);
  void drop(const Victim& victim);
  std::string serialize(uint64_t number) const;
  bool parse(std::string_view bytes);
  Status write(const std::string& content);

  mutable std::mutex lock_;
  store::MirroredFile file_;
  OutboxOptions options_;
  bool read_only_;
  uint64_t applied_ = 0;
  bool lost_ = false;
  uint64_t floor_ = 0;  // of streams that come: a lost frame may have known them
  bool changed_ = false;
  std::map<std::string, Stream> streams_;
  uint64_t bytes_ = 0, records_ = 0;  // waiting in all streams
  // Those that go first, the first one last: what a look at all that waits gives at once, since a full outbox
  // pushes one out at every send. Some may have left since. Whatever is not among them goes behind them.
  std::vector<Victim> victims_;
};

}  // namespace walle::stream
