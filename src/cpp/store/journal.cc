#include "store/journal.h"

#include <algorithm>

#include "store/journal_header.h"

namespace walle::store {

namespace {
constexpr size_t kCacheLine = 64;
// How far ahead of a frame its successors' lines are asked for: two frames of a 200-byte event.
constexpr size_t kPrefetchAhead = 512;
// Made cheap to write by every sync: the 128 events of 200 bytes that come before the next one take 29 KiB.
constexpr size_t kPrefault = 32768;
}  // namespace

Journal::Journal(std::unique_ptr<base::WritableMap> map, std::string path)
    : map_(std::move(map)), path_(std::move(path)) {
  // One mapping for both: header and ring are synced apart, but a file must not be two mappings of which one
  // fails.
  header_ = map_->bytes().first(kJournalHeaderBytes);
  ring_ = map_->bytes().subspan(kJournalHeaderBytes);
}

void Journal::write_last_seq(uint64_t seq) { store_pair(header_, kLastSeqOffset, seq); }

// The generation's parity chooses the copy, so that the other one stays whole while this one is written.
void Journal::write_tail(uint64_t seq, uint64_t offset) { store_tail(header_, {++generation_, seq, offset}); }

// The number of the frame that `offset` would hold is 0 until there is one.
void Journal::mark_end(size_t offset) { base::store_le(ring_, offset + kFrameSeqAt, uint64_t{0}); }

bool Journal::reserve(size_t size) { return size <= max_payload() && find_place(size, kEndMarkBytes); }

// Whether a frame for `size` bytes fits, with `behind` more bytes free behind it.
bool Journal::find_place(size_t size, size_t behind) {
  const size_t need = frame_bytes(size), left = ring_.size() - head_offset_;
  // Frames never wrap: a reader gets each payload as one span. What is left of the lap is skipped.
  skipped_ = need <= left ? 0 : left;
  const uint64_t used = head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_acquire);
  if (used + skipped_ + need + behind > ring_.size()) return false;
  // Too few bytes for a head need no skip frame: readers know that a lap ends there. The end mark behind it
  // comes first, so that a process killed in between leaves a chain that ends.
  if (skipped_ >= kFrameHeaderBytes) {
    mark_end(0);  // behind the skip frame
    write_frame(ring_.data() + head_offset_, kSkipFrame, committed_.load(std::memory_order_relaxed), {});
  }
  return true;
}

// Where the frame that find_place() found room for goes. With the
// end mark behind it, unless there is no room for one.
std::byte* Journal::place(size_t size, bool marked) {
  const size_t offset = skipped_ ? 0 : head_offset_, bytes = frame_bytes(size), end = offset + bytes;
  if (marked) mark_end(ring_.size() - end < kFrameHeaderBytes ? 0 : end);
  std::byte* frame = ring_.data() + offset;
  // The lines of a later frame arrive while the caller is busy elsewhere: should frames be alike, each line
  // is asked for about two frames before it is written.
  for (size_t ahead = 0; ahead < bytes && ahead < kPrefetchAhead; ahead += kCacheLine)
    __builtin_prefetch(frame + kPrefetchAhead + ahead, 1);
  return frame;
}

void Journal::move_head(size_t size) {
  const size_t bytes = frame_bytes(size), end = (skipped_ ? 0 : head_offset_) + bytes;
  head_offset_ = end == ring_.size() ? 0 : end;
  head_.store(head_.load(std::memory_order_relaxed) + skipped_ + bytes, std::memory_order_release);
}

void Journal::accept(size_t size, uint64_t seq) {
  // Head before number: a consumer that sees the new number finds its frame within the head.
  move_head(size);
  write_last_seq(seq);
  committed_.store(seq + 1, std::memory_order_release);
}

Result<uint64_t> Journal::append(std::span<const std::byte> payload) {
  if (payload.size() > max_payload())
    return argument_error({"a record of ", payload.size(), " bytes"}, {"at most ", max_payload(), " bytes"},
                          {"journal ", path_}, "store large contents elsewhere and record their name");
  if (!reserve(payload.size()))
    return resource_error({"the journal is full (", used(), " of ", capacity(), " bytes wait)"},
                          {"space for ", payload.size(), " bytes"}, {"journal ", path_},
                          "compact it into segments, or open it with a larger capacity");
  return commit(payload.size(), [&](auto& w) { w.copy(payload.data(), payload.size()); });
}

void Journal::read(uint64_t from, const std::function<bool(uint64_t, std::span<const std::byte>)>& visit,
                   JournalPlace start) const {
  const uint64_t end = committed_.load(std::memory_order_acquire);
  uint64_t at = tail_.load(std::memory_order_acquire), seq = tail_seq_.load(std::memory_order_acquire);
  if (start.seq > seq && start.at > at) {
    at = start.at;
    seq = start.seq;
  }
  while (seq < end) {
    const ChainPlace place = chain_place(ring_, at % ring_.size());
    const bool wanted = place.kind == FrameView::Kind::frame && place.seq >= from;
    if (wanted && !visit(place.seq, place.payload)) return;
    if (place.kind != FrameView::Kind::skip) seq = place.next_seq;
    at += place.bytes;
  }
}

Status Journal::release(uint64_t upto) {
  uint64_t at = tail_.load(), seq = tail_seq_.load();
  // Never beyond what was accepted: a consumer may name a number that is still to come.
  const uint64_t end = std::min(upto + 1, committed_.load(std::memory_order_acquire));
  while (seq < end) {
    const ChainPlace place = chain_place(ring_, at % ring_.size());
    if (place.kind != FrameView::Kind::skip) seq = place.next_seq;
    at += place.bytes;
  }
  write_tail(seq, at % ring_.size());
  // The new tail must be on the disk before a frame behind it is overwritten; otherwise a power loss could
  // keep the old tail beside new frames, and nothing would be found at it.
  WALLE_TRY(map_->sync(0, kJournalHeaderBytes));
  tail_seq_.store(seq, std::memory_order_release);
  tail_.store(at, std::memory_order_release);
  return {};
}

// Only what was written since the last time: a sync of the whole ring would read 4 MB of clean pages' state
// each second.
Status Journal::sync_ring(uint64_t head) {
  const uint64_t from = synced_head_.load();
  const size_t size = ring_.size();
  const size_t a = from % size;
  const size_t b = head % size;
  if (head - from >= size) return map_->sync(kJournalHeaderBytes, size);  // more than a lap
  if (b > a) return map_->sync(kJournalHeaderBytes + a, b - a);
  WALLE_TRY(map_->sync(kJournalHeaderBytes + a, size - a));
  return b > 0 ? map_->sync(kJournalHeaderBytes, b) : Status();
}

Status Journal::sync_frames() {
  const std::lock_guard lock(syncing_);
  const uint64_t seq = last_seq();
  const uint64_t head = head_.load(std::memory_order_acquire);
  if (head == synced_head_.load()) return {};
  WALLE_TRY(sync_ring(head));
  synced_head_.store(head);
  synced_seq_.store(seq, std::memory_order_release);
  return {};
}

Status Journal::sync() {
  WALLE_TRY(sync_frames());
  const std::lock_guard lock(syncing_);
  const uint64_t seq = synced_seq_.load();
  if (seq == header_seq_) return {};
  // The header last: the number it holds must never be newer than the frames on the disk, or a loss would
  // be counted that was none.
  WALLE_TRY(map_->sync(0, kJournalHeaderBytes));
  header_seq_ = seq;
  const uint64_t head = head_.load(std::memory_order_acquire);
  map_->prefault(kJournalHeaderBytes + head % ring_.size(),
                 std::min(kPrefault, ring_.size() - head % ring_.size()));
  return {};
}

Status Journal::clear_released() {
  const size_t size = ring_.size();
  const uint64_t free = tail_.load() + size - head_.load();
  const size_t first = std::min<size_t>(free, size - head_offset_);
  std::fill_n(ring_.begin() + static_cast<std::ptrdiff_t>(head_offset_), first, std::byte{0});
  std::fill_n(ring_.begin(), free - first, std::byte{0});
  return map_->sync(kJournalHeaderBytes, size);
}

size_t Journal::used() const {
  return head_.load(std::memory_order_acquire) - tail_.load(std::memory_order_acquire);
}

}  // namespace walle::store
