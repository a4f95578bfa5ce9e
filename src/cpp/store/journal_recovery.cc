// Opening a journal: finds the chain of frames in whatever bytes a file holds, counts what is gone, and sees
// to it that nothing behind the chain can ever continue it.
#include "store/journal.h"
#include "store/journal_chain.h"

namespace walle::store {

Result<std::unique_ptr<Journal>> Journal::open(Env& env, const std::string& path, size_t capacity,
                                               const JournalOwner& owner) {
  if (!valid_capacity(capacity))
    return argument_error({"journal capacity ", capacity}, "a multiple of 4096 between 8192 and 2^30",
                          "capacity", "use 4194304");
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
          {"a file of ", existing, " bytes without a journal's header"},
          {"a journal, at most ", kMaxRing + kJournalHeaderBytes, " bytes"}, {"file ", path},
          "move it away: it is no journal, or its header is gone and it is too large to search");
    else if (existing > static_cast<int64_t>(bytes))
      bytes = base::round_up(existing, kRingUnit);
  }
  WALLE_ASSIGN(auto map, env.map_writable(path, bytes));
  auto journal = std::unique_ptr<Journal>(new Journal(std::move(map), path));
  WALLE_TRY(journal->recover(owner));
  return journal;
}

Status Journal::recover(const JournalOwner& owner) {
  uint64_t expected = 0;
  if (owner.expected_first) {
    WALLE_ASSIGN(expected, owner.expected_first());
  }
  const Chain chain = find_chain(header_, ring_, expected);
  generation_ = chain.tail.generation;
  tail_ = chain.tail.offset;
  tail_seq_ = chain.tail.seq;
  head_ = chain.end;
  head_offset_ = chain.end % ring_.size();
  committed_ = chain.next;
  // What a killed process wrote may lie in the page cache alone: the next sync is for all of it, or a power
  // loss could take a frame and with it those behind that were synced.
  synced_head_ = chain.tail.offset;
  synced_seq_ = chain.tail.seq - 1;
  recovery_ = {.first_seq = chain.tail.seq,
               .last_seq = chain.next - 1,
               .lost = lost_behind(header_, ring_, chain),
               .had_tail = generation_ > 0};
  if (recovery_.lost) recovery_.damage_offset = kJournalHeaderBytes + head_offset_;
  uint64_t next = 0;
  if (owner.before_mending) {
    WALLE_ASSIGN(next, owner.before_mending(recovery_, capacity()));
  }
  return mend(expected, next);
}

// Numbers that are lost or set aside are skipped in the chain itself, so that the next open counts them not
// again.
Status Journal::mend(uint64_t expected, uint64_t next) {
  const uint64_t found = committed_;
  base::store_le(header_, 0, kJournalMagic);
  store_pair(header_, kCapacityOffset, ring_.size());
  if (recovery_.lost) write_gap(found + recovery_.lost);
  // Frames that the owner has elsewhere need no bridge: the journal begins anew behind them.
  const bool bridge = committed_ > expected && next - committed_ <= ring_.size();
  if (next > committed_ && bridge) write_gap(next);
  clear_unused(found);
  if (next > committed_ && !bridge) skip_to(next);
  write_last_seq(last_seq());
  write_tail(tail_seq_, tail_ % ring_.size());
  return map_->sync(0, kJournalHeaderBytes);
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
  recovery_.first_seq = next_seq;
  tail_seq_ = next_seq;
  committed_ = next_seq;
  synced_seq_ = next_seq - 1;
  clear_unused(next_seq);
  write_tail(next_seq, head_offset_);
}

}  // namespace walle::store
