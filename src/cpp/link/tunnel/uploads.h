// Uploads: which records of a source go into which message, and when; which are on their way; which have
// arrived.
//
// At once when nothing is on its way; behind an unacknowledged message when enough has come together or the
// oldest has waited long enough; never more than so many messages on their way. Acknowledgements come in any
// order, twice, and for what was sent on an earlier connection; the source hears of a record when all before
// it have arrived. No socket, no clock of its own. Not synchronised.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "link/tunnel/ack_message.h"
#include "link/tunnel/limits.h"
#include "link/tunnel/message.h"
#include "link/tunnel/record_source.h"

namespace walle::link {

struct UploadOptions {
  int64_t linger_us = 50'000;
  size_t linger_bytes = 3072;
  size_t most_in_flight = 32;
  int64_t resend_us = 30'000'000, most_resend_us = 600'000'000;
};

struct UploadCounts {
  uint64_t acknowledged = 0, refused = 0, resent = 0, record_bytes = 0;
};

class Uploads {
 public:
  Uploads(RecordSource& source, UploadOptions options) : source_(source), options_(options) {}

  // The source has something new.
  void notice() { news_ = true; }
  // The next message, where it is time for one. An error is the source's; it is asked again a second later.
  Result<std::optional<std::string>> next(int64_t now);
  // An error is the source's, which did not write the acknowledgement down: it is told again.
  Status acknowledge(const std::vector<AckEntry>& entries, int64_t now);
  // What is on its way may never arrive: it is read and sent again.
  void rewind();
  // Nothing was acknowledged for too long; rewinds, and waits twice as long the next time.
  bool resend_if_overdue(int64_t now);
  // Steady us at which next() or resend_if_overdue() may have something to do; INT64_MAX: not by time alone.
  int64_t deadline() const;

  size_t in_flight() const { return in_flight_.size(); }
  // Nothing waits that the source has told of, and nothing is on its way.
  bool idle() const { return !news_ && pending_.empty() && in_flight_.empty(); }
  const UploadCounts& counts() const { return counts_; }

 private:
  struct Stream {
    uint64_t done = 0;                        // the source knows of everything up to here
    uint64_t read_to = 0;                     // read up to here
    uint64_t sent_to = 0;                     // sent up to here at least once
    std::map<uint64_t, uint64_t> unarrived;   // sequence -> message that carries it; 0: none yet
    std::set<uint64_t> early;                 // arrived, before others that have not
    std::string dictionary;                   // the sink has it
    std::map<uint32_t, std::string> offered;  // it was asked to remember these
  };
  struct Pending {
    std::string stream;
    TunnelRecord record;
  };

  Status fill(int64_t now);
  Status read(const std::string& name, Stream& stream, bool& more);
  bool due(int64_t now) const;
  std::string compose(int64_t now);
  void arrived(Stream& stream, const SeqRun& run, bool refused);
  Status settle(const std::string& name, Stream& stream);

  RecordSource& source_;
  UploadOptions options_;
  bool news_ = true, unsettled_ = false;
  int64_t retry_at_ = 0;  // the source failed; 0: it did not
  std::map<std::string, Stream> streams_;
  std::string last_stream_;  // that was read first, so that none starves
  std::vector<Pending> pending_;
  size_t pending_bytes_ = 0;
  int64_t pending_since_ = 0;
  std::map<uint64_t, size_t> in_flight_;  // message -> records of it that have not arrived
  uint64_t messages_ = 0;
  int64_t progress_at_ = 0, resend_wait_ = 0;
  UploadCounts counts_;
};

}  // namespace walle::link
