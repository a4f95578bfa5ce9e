#include "store/journal.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/checked.h"
#include "base/crc32c.h"

namespace walle::store {

namespace {
constexpr uint64_t kMagic = 0x314c4e524a4c4157ull;  // "WALJRNL1"
// Numbers that change too often for a checksum are stored beside their complement.
constexpr uint64_t kCapacityOffset = 8;  // and 16
constexpr uint64_t kLastSeqOffset = 24;  // and 32: the newest accepted seq

struct Tail {
  uint64_t generation, seq, offset;
  uint32_t crc, zero;
};
constexpr uint64_t kTailOffset[2] = {64, 128};

template <class T>
T load(std::span<const std::byte> bytes, size_t at) {
  T out;
  std::memcpy(&out, bytes.data() + at, sizeof out);
  return out;
}
template <class T>
void put(std::span<std::byte> bytes, size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// `crc` sits in front of the twelve bytes (size, seq) and the payload, which lie next to each other.
uint32_t frame_crc(const std::byte* frame, size_t payload) { return base::crc32c(0, frame + 4, kFrameHeaderBytes - 4 + payload); }
size_t frame_bytes(size_t payload) { return static_cast<size_t>(base::round_up(static_cast<int64_t>(kFrameHeaderBytes + payload), 8)); }
uint32_t tail_crc(const Tail& t) { return base::crc32c(0, &t, 24); }

std::optional<uint64_t> load_pair(std::span<const std::byte> bytes, size_t at) {
  const auto value = load<uint64_t>(bytes, at);
  if (load<uint64_t>(bytes, at + 8) != ~value) return std::nullopt;
  return value;
}

bool valid_capacity(uint64_t c) { return c >= 8192 && c % 4096 == 0 && c <= (uint64_t{1} << 30); }

// The frame becomes valid with its checksum, which is stored last.
void write_frame(std::byte* frame, uint32_t size, uint64_t seq, std::span<const std::byte> payload) {
  std::byte head[kFrameHeaderBytes - 4];
  std::memcpy(head, &size, 4);
  std::memcpy(head + 4, &seq, 8);
  const uint32_t crc = base::crc32c(base::crc32c(0, head, sizeof head), payload.data(), payload.size());
  std::memcpy(frame + 4, head, sizeof head);
  if (!payload.empty()) std::memcpy(frame + kFrameHeaderBytes, payload.data(), payload.size());
  std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(frame)).store(crc, std::memory_order_release);
}
}  // namespace

FrameView decode_frame(std::span<const std::byte> ring, size_t offset) {
  if (offset > ring.size() || ring.size() - offset < kFrameHeaderBytes) return {};
  const auto size = load<uint32_t>(ring, offset + 4);
  const auto seq = load<uint64_t>(ring, offset + 8);
  const size_t payload = size == kSkipFrame ? 0 : size == kGapFrame ? 8 : size;
  if (payload > ring.size() - offset - kFrameHeaderBytes) return {};
  if (load<uint32_t>(ring, offset) != frame_crc(ring.data() + offset, payload)) return {};
  if (size == kSkipFrame) return {FrameView::Kind::skip, seq, {}};
  const auto kind = size == kGapFrame ? FrameView::Kind::gap : FrameView::Kind::frame;
  return {kind, seq, ring.subspan(offset + kFrameHeaderBytes, payload)};
}

Journal::Journal(std::unique_ptr<base::WritableMap> map, std::string path) : map_(std::move(map)), path_(std::move(path)) {
  header_ = map_->bytes().first(kJournalHeaderBytes);
  ring_ = map_->bytes().subspan(kJournalHeaderBytes);
}

Result<std::unique_ptr<Journal>> Journal::open(Env& env, const std::string& path, size_t capacity) {
  if (!valid_capacity(capacity))
    return argument_error("journal capacity " + std::to_string(capacity), "a multiple of 4096 between 8192 and 2^30", "capacity",
                          "use 4194304");
  const int64_t existing = env.file_size(path);
  size_t bytes = capacity + kJournalHeaderBytes;
  if (existing >= static_cast<int64_t>(kJournalHeaderBytes)) {
    // A truncated file is grown back: the frames that are still there are recovered, the rest counted as lost.
    WALLE_ASSIGN(const std::string old, env.read_file(path));
    const auto own = load_pair(std::as_bytes(std::span(old)), kCapacityOffset);
    if (own && valid_capacity(*own))
      bytes = *own + kJournalHeaderBytes;
    else if (existing > static_cast<int64_t>(bytes))
      bytes = static_cast<size_t>(base::round_up(existing, 4096));
  }
  WALLE_ASSIGN(auto map, env.map_writable(path, bytes));
  auto journal = std::unique_ptr<Journal>(new Journal(std::move(map), path));
  WALLE_TRY(journal->recover());
  return journal;
}

Status Journal::recover() {
  Tail best{0, 1, 0, 0, 0};
  for (const uint64_t at : kTailOffset) {
    const auto t = load<Tail>(header_, at);
    if (t.crc == tail_crc(t) && t.generation > best.generation && t.seq > 0 && t.offset % 8 == 0 && t.offset < ring_.size()) best = t;
  }
  generation_ = best.generation;

  uint64_t seq = best.seq, at = best.offset;
  const uint64_t start = at;
  while (at - start < ring_.size()) {
    const size_t offset = at % ring_.size();
    const FrameView f = decode_frame(ring_, offset);
    if (f.kind == FrameView::Kind::none || f.seq != seq) {
      if (ring_.size() - offset < kFrameHeaderBytes) {  // no room for even a skip frame: the lap ends here
        at += ring_.size() - offset;
        continue;
      }
      break;
    }
    at += f.kind == FrameView::Kind::skip ? ring_.size() - offset : frame_bytes(f.payload.size());
    if (f.kind == FrameView::Kind::frame) ++seq;
    if (f.kind == FrameView::Kind::gap) seq = std::max(seq, load<uint64_t>(f.payload, 0));
  }
  tail_ = start, head_ = at, tail_seq_ = best.seq, committed_ = seq;
  synced_seq_ = seq - 1, synced_head_ = at;
  recovery_ = {best.seq, seq - 1, lost_behind(at, seq), 0};
  if (recovery_.lost) recovery_.damage_offset = kJournalHeaderBytes + at % ring_.size();
  put(header_, 0, kMagic);
  put(header_, kCapacityOffset, static_cast<uint64_t>(ring_.size()));
  put(header_, kCapacityOffset + 8, ~static_cast<uint64_t>(ring_.size()));
  if (recovery_.lost) write_gap(seq + recovery_.lost);
  write_last_seq(last_seq());
  if (generation_ == 0) write_tail(tail_seq_, tail_ % ring_.size());
  return map_->sync(0, kJournalHeaderBytes);
}

void Journal::write_last_seq(uint64_t seq) {
  put(header_, kLastSeqOffset, seq);
  put(header_, kLastSeqOffset + 8, ~seq);
}

void Journal::write_gap(uint64_t next_seq) {
  if (!reserve(8)) return;  // a full ring lost nothing: the count came from a damaged header
  place(kGapFrame, committed_.load(), std::as_bytes(std::span(&next_seq, 1)));
  committed_ = next_seq;
}

// How many accepted frames lie behind the first unreadable one: the header knows the newest number; failing that, any
// later frame that still reads tells of those before it.
uint64_t Journal::lost_behind(uint64_t at, uint64_t expected) const {
  uint64_t newest = expected - 1;
  const auto claimed = load_pair(header_, kLastSeqOffset);
  if (load<uint64_t>(header_, 0) == kMagic && claimed && *claimed < expected + ring_.size()) newest = std::max(newest, *claimed);
  for (size_t step = 0; step + 8 <= ring_.size(); step += 8) {
    const FrameView f = decode_frame(ring_, (at + step) % ring_.size() / 8 * 8);
    if (f.kind == FrameView::Kind::frame && f.seq >= expected && f.seq < expected + ring_.size() / kFrameHeaderBytes)
      newest = std::max(newest, f.seq);
  }
  return newest + 1 - expected;
}

void Journal::write_tail(uint64_t seq, uint64_t offset) {
  Tail t{++generation_, seq, offset, 0, 0};
  t.crc = tail_crc(t);
  put(header_, kTailOffset[generation_ % 2], t);
}

bool Journal::reserve(size_t size) {
  if (size > max_payload()) return false;
  const uint64_t head = head_.load(std::memory_order_relaxed);
  const size_t offset = head % ring_.size(), need = frame_bytes(size), left = ring_.size() - offset;
  const uint64_t start = need <= left ? head : head + left;
  if (start + need - tail_.load(std::memory_order_acquire) > ring_.size()) return false;
  if (start != head && left >= kFrameHeaderBytes)
    write_frame(ring_.data() + offset, kSkipFrame, committed_.load(std::memory_order_relaxed), {});
  reserved_at_ = start;
  return true;
}

void Journal::place(uint32_t size, uint64_t seq, std::span<const std::byte> payload) {
  std::byte* frame = ring_.data() + reserved_at_ % ring_.size();
  const size_t bytes = frame_bytes(payload.size());
  write_frame(frame, size, seq, payload);
  // The lines of a later frame arrive while the caller is busy elsewhere: should frames be alike, each line is asked for
  // about two frames before it is written.
  for (size_t ahead = 0; ahead < bytes && ahead < 512; ahead += 64) __builtin_prefetch(frame + 512 + ahead, 1);
  head_.store(reserved_at_ + bytes, std::memory_order_release);
}

uint64_t Journal::commit(std::span<const std::byte> payload) {
  const uint64_t seq = committed_.load(std::memory_order_relaxed);
  place(static_cast<uint32_t>(payload.size()), seq, payload);
  write_last_seq(seq);
  committed_.store(seq + 1, std::memory_order_release);
  return seq;
}

Result<uint64_t> Journal::append(std::span<const std::byte> payload) {
  if (payload.size() > max_payload())
    return argument_error("a record of " + std::to_string(payload.size()) + " bytes", "at most " + std::to_string(max_payload()) + " bytes",
                          "journal " + path_, "store large contents elsewhere and record their name");
  if (!reserve(payload.size()))
    return resource_error("the journal is full (" + std::to_string(used()) + " of " + std::to_string(capacity()) + " bytes wait)",
                          "space for " + std::to_string(payload.size()) + " bytes", "journal " + path_,
                          "compact it into segments, or open it with a larger capacity");
  return commit(payload);
}

void Journal::read(uint64_t from, const std::function<bool(uint64_t, std::span<const std::byte>)>& visit) const {
  const uint64_t end = committed_.load(std::memory_order_acquire);
  uint64_t at = tail_.load(std::memory_order_acquire), seq = tail_seq_.load(std::memory_order_acquire);
  while (seq < end) {
    const size_t offset = at % ring_.size();
    if (ring_.size() - offset < kFrameHeaderBytes) {
      at += ring_.size() - offset;
      continue;
    }
    const auto size = load<uint32_t>(ring_, offset + 4);
    if (size == kSkipFrame) {
      at += ring_.size() - offset;
      continue;
    }
    if (size == kGapFrame) {
      seq = load<uint64_t>(ring_, offset + kFrameHeaderBytes);
      at += frame_bytes(8);
      continue;
    }
    const auto number = load<uint64_t>(ring_, offset + 8);
    if (number >= from && !visit(number, ring_.subspan(offset + kFrameHeaderBytes, size))) return;
    at += frame_bytes(size);
    seq = number + 1;
  }
}

Status Journal::release(uint64_t upto) {
  uint64_t at = tail_.load(), seq = tail_seq_.load();
  const uint64_t end = std::min(upto + 1, committed_.load(std::memory_order_acquire));
  while (seq < end) {
    const size_t offset = at % ring_.size();
    const bool skip = ring_.size() - offset < kFrameHeaderBytes || load<uint32_t>(ring_, offset + 4) == kSkipFrame;
    if (skip) {
      at += ring_.size() - offset;
      continue;
    }
    const auto size = load<uint32_t>(ring_, offset + 4);
    const bool gap = size == kGapFrame;
    seq = gap ? load<uint64_t>(ring_, offset + kFrameHeaderBytes) : load<uint64_t>(ring_, offset + 8) + 1;
    at += frame_bytes(gap ? 8 : size);
  }
  write_tail(seq, at % ring_.size());
  // The new tail must be on the disk before a frame behind it is overwritten; otherwise a power loss could keep the old
  // tail beside new frames, and nothing would be found at it.
  WALLE_TRY(map_->sync(0, kJournalHeaderBytes));
  tail_seq_.store(seq, std::memory_order_release);
  tail_.store(at, std::memory_order_release);
  return {};
}

Status Journal::sync() {
  const uint64_t seq = last_seq(), head = head_.load(std::memory_order_acquire), from = synced_head_.load();
  if (head != from) {
    const size_t size = ring_.size(), a = from % size, b = head % size;
    if (head - from >= size) {  // more than a lap since the last time
      WALLE_TRY(map_->sync(kJournalHeaderBytes, size));
    } else if (b <= a) {
      WALLE_TRY(map_->sync(kJournalHeaderBytes + a, size - a));
      WALLE_TRY(map_->sync(kJournalHeaderBytes, b));
    } else {
      WALLE_TRY(map_->sync(kJournalHeaderBytes + a, b - a));
    }
    WALLE_TRY(map_->sync(0, kJournalHeaderBytes));
  }
  map_->prefault(kJournalHeaderBytes + head % ring_.size(), std::min<size_t>(32768, ring_.size() - head % ring_.size()));
  synced_head_.store(head);
  synced_seq_.store(seq, std::memory_order_release);
  return {};
}

size_t Journal::used() const { return static_cast<size_t>(head_.load(std::memory_order_acquire) - tail_.load(std::memory_order_acquire)); }

void Journal::skip_to(uint64_t next_seq) {
  if (next_seq <= committed_.load()) return;
  tail_seq_ = next_seq, committed_ = next_seq, tail_ = head_.load();
  synced_seq_ = next_seq - 1;
  write_tail(next_seq, tail_ % ring_.size());
}

}  // namespace walle::store
