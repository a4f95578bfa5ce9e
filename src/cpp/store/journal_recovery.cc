// Opening a journal: finds the chain of frames in whatever bytes a file holds, counts what is gone, and sees
// to it that nothing behind the chain can ever continue it.
#include <algorithm>

#include "store/journal.h"
#include "store/journal_header.h"

namespace walle::store {

namespace {

// Two pages: one page's ring would take payloads of a kilobyte only.
constexpr uint64_t kMinRing = 8192;
// Sizes of frames are 32 bits with two values taken, and offsets must stay far from both.
constexpr uint64_t kMaxRing = uint64_t{1} << 30;
constexpr uint64_t kRingUnit = 4096;  // a page: what is mapped and synced
// How many readings of the ring the search for frames behind damage may cost.
constexpr uint64_t kSearchReadings = 8;
bool valid_capacity(uint64_t c) { return c >= kMinRing && c % kRingUnit == 0 && c <= kMaxRing; }

struct Chain {
  uint64_t end;  // counted in bytes like Journal::head_
  uint64_t seq;  // of the frame that would come next
};

// A chain is never longer than the ring, and a gap in it never wider than what a ring can lose.
Chain follow_chain(std::span<const std::byte> ring, uint64_t start, uint64_t first_seq) {
  Chain chain{start, first_seq};
  while (chain.end < start + ring.size()) {
    const size_t offset = chain.end % ring.size(), left = ring.size() - offset;
    const FrameView f = decode_frame(ring, offset);
    size_t bytes = left;  // of a skip frame, or too few for even that: the lap ends here
    uint64_t next = chain.seq;
    if (left >= kFrameHeaderBytes && f.kind != FrameView::Kind::skip) bytes = frame_bytes(f.payload.size());
    // A frame of an earlier lap reads well but has a lower number; that is the usual end of the chain.
    if (left >= kFrameHeaderBytes && (f.kind == FrameView::Kind::none || f.seq != chain.seq)) break;
    if (f.kind == FrameView::Kind::frame) ++next;
    if (f.kind == FrameView::Kind::gap) next = base::load_le<uint64_t>(f.payload, 0);
    const bool forward =
        f.kind != FrameView::Kind::gap || (next > chain.seq && next - chain.seq <= ring.size());
    if (!forward || chain.end + bytes > start + ring.size()) break;
    chain = {chain.end + bytes, next};
  }
  return chain;
}

// The newest number among the frames in [from, end) of the ring, if it is one that accepted
// frames can have. Bytes that look like a frame everywhere would cost a checksum of the
// rest of the ring each: the sum of them is bounded.
uint64_t newest_frame(std::span<const std::byte> ring, uint64_t from, uint64_t end, uint64_t expected) {
  uint64_t newest = expected - 1;
  uint64_t work = kSearchReadings * ring.size();
  size_t offset = from % ring.size();
  const auto skip = [&](size_t bytes) {
    offset = offset + bytes < ring.size() ? offset + bytes : offset + bytes - ring.size();
    from += bytes;
  };
  for (; from + kFrameHeaderBytes <= end; skip(kFrameAlignment)) {
    const size_t left = ring.size() - offset;
    if (left < kFrameHeaderBytes) continue;
    const auto seq = base::load_le<uint64_t>(ring, offset + kFrameSeqAt);
    const auto size = base::load_le<uint32_t>(ring, offset + kFrameSizeAt);
    // Cheap questions first: of the words of a payload nearly all fail here, before any checksum. A ring of
    // frames without payload cannot hold more numbers than this.
    if (seq <= newest || seq - expected >= ring.size() / kFrameHeaderBytes || size > left - kFrameHeaderBytes)
      continue;
    if (kFrameHeaderBytes + size > work) break;
    work -= kFrameHeaderBytes + size;
    if (decode_frame(ring, offset).kind != FrameView::Kind::frame) continue;
    newest = seq;
    skip(frame_bytes(size) - kFrameAlignment);  // what is inside a payload is no frame
  }
  return newest;
}

}  // namespace

Result<std::unique_ptr<Journal>> Journal::open(Env& env, const std::string& path, size_t capacity) {
  if (!valid_capacity(capacity))
    return argument_error("journal capacity " + std::to_string(capacity),
                          "a multiple of 4096 between 8192 and 2^30", "capacity", "use 4194304");
  const int64_t existing = env.file_size(path);
  size_t bytes = capacity + kJournalHeaderBytes;
  if (existing >= static_cast<int64_t>(kJournalHeaderBytes)) {
    // A truncated file is grown back: the frames that are
    // still there are recovered, the rest counted as lost.
    WALLE_ASSIGN(const std::string header, env.read_prefix(path, kJournalHeaderBytes));
    const auto own = load_pair(std::as_bytes(std::span(header)), kCapacityOffset);
    if (own && valid_capacity(*own))
      bytes = *own + kJournalHeaderBytes;
    else if (static_cast<uint64_t>(existing) > kMaxRing + kJournalHeaderBytes)
      return resource_error(
          "a file of " + std::to_string(existing) + " bytes without a journal's header",
          "a journal, at most " + std::to_string(kMaxRing + kJournalHeaderBytes) + " bytes", "file " + path,
          "move it away: it is no journal, or its header is gone and it is too large to search");
    else if (existing > static_cast<int64_t>(bytes))
      bytes = base::round_up(existing, kRingUnit);
  }
  WALLE_ASSIGN(auto map, env.map_writable(path, bytes));
  auto journal = std::unique_ptr<Journal>(new Journal(std::move(map), path));
  WALLE_TRY(journal->recover());
  return journal;
}

Status Journal::recover() {
  // Of the two copies the newer one that is possible; with none, the ring is read from its start.
  Tail best;
  for (const size_t at : kTailOffset) {
    const auto t = load_tail(header_, at);
    const bool counts =
        t && t->seq > 0 && t->seq < kMaxSeq && t->generation > best.generation && t->generation < kMaxSeq;
    if (counts && t->offset % kFrameAlignment == 0 && t->offset < ring_.size()) best = *t;
  }
  generation_ = best.generation;
  const Chain chain = follow_chain(ring_, best.offset, best.seq);
  tail_ = best.offset;
  tail_seq_ = best.seq;
  head_ = chain.end;
  head_offset_ = chain.end % ring_.size();
  committed_ = chain.seq;
  // What a killed process wrote may lie in the page cache alone: the next sync is for all of it, or a power
  // loss could take a frame and with it those behind that were synced.
  synced_head_ = best.offset;
  synced_seq_ = best.seq - 1;
  recovery_ = {.first_seq = best.seq, .last_seq = chain.seq - 1, .lost = lost_behind()};
  if (recovery_.lost) recovery_.damage_offset = kJournalHeaderBytes + head_offset_;
  base::store_le(header_, 0, kJournalMagic);
  store_pair(header_, kCapacityOffset, ring_.size());
  // The lost numbers are skipped in the chain itself, so that the next open counts them not again.
  if (recovery_.lost) write_gap(chain.seq + recovery_.lost);
  clear_unused(chain.seq);
  write_last_seq(last_seq());
  if (generation_ == 0) write_tail(tail_seq_, tail_ % ring_.size());
  return map_->sync(0, kJournalHeaderBytes);
}

// How many accepted frames lie behind the first unreadable one: the header knows the newest number; failing
// that, any later frame that still reads tells of those before it.
uint64_t Journal::lost_behind() const {
  const uint64_t expected = committed_;
  uint64_t newest = newest_frame(ring_, head_, tail_ + ring_.size(), expected);
  const auto claimed = load_pair(header_, kLastSeqOffset);
  if (base::load_le<uint64_t>(header_, 0) == kJournalMagic && claimed && *claimed >= expected &&
      *claimed - expected < ring_.size())
    newest = std::max(newest, *claimed);
  return newest + 1 - expected;
}

// Behind the head lie frames of earlier laps, whose numbers are too low to continue the chain, and after a
// loss or in a forged file others: every word there that could be the number of a frame to come becomes 0.
// Only such words: the cleared ring of a log that is opened twenty times a day would otherwise be written to
// the flash each time.
void Journal::clear_unused(uint64_t from_seq) {
  // Until all of the ring is overwritten, by the shortest frames there are.
  const uint64_t coming = committed_ - from_seq + 2 * ring_.size() / kFrameHeaderBytes;
  const uint64_t end = tail_ + ring_.size();
  size_t offset = head_offset_;
  for (uint64_t at = head_; at < end; at += kFrameAlignment) {
    if (base::load_le<uint64_t>(ring_, offset) - from_seq < coming)
      base::store_le(ring_, offset, uint64_t{0});
    offset = offset + kFrameAlignment == ring_.size() ? 0 : offset + kFrameAlignment;
  }
}

void Journal::write_gap(uint64_t next_seq) {
  std::byte payload[kGapPayload];
  base::store_le(payload, next_seq);
  const bool marked = find_place(kGapPayload, kEndMarkBytes);
  if (!marked && !find_place(kGapPayload, 0))
    return;  // a full ring lost nothing: the count came from a damaged header
  write_frame(place(kGapPayload, marked), kGapFrame, committed_, payload);
  move_head(kGapPayload);
  committed_ = next_seq;
}

void Journal::skip_to(uint64_t next_seq) {
  if (next_seq <= committed_.load()) return;
  tail_ = head_.load();
  tail_seq_ = next_seq;
  committed_ = next_seq;
  synced_seq_ = next_seq - 1;
  clear_unused(next_seq);
  write_tail(next_seq, head_offset_);
}

}  // namespace walle::store
