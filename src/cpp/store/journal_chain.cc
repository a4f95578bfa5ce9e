#include "store/journal_chain.h"

#include <algorithm>

namespace walle::store {

namespace {
// How many readings of the ring the search for frames behind damage may cost.
constexpr uint64_t kSearchReadings = 8;

// Of the two copies the newer one that is possible; with none, the ring is read from its start.
Tail newest_tail(std::span<const std::byte> header, size_t ring_size) {
  Tail best;
  for (const size_t at : kTailOffset) {
    const auto t = load_tail(header, at);
    const bool counts =
        t && t->seq > 0 && t->seq < kMaxSeq && t->generation > best.generation && t->generation < kMaxSeq;
    if (counts && t->offset % kFrameAlignment == 0 && t->offset < ring_size) best = *t;
  }
  return best;
}

// Where frame `seq` lies, whatever else does.
std::optional<uint64_t> place_of(std::span<const std::byte> ring, uint64_t seq) {
  for (size_t at = 0; at + kFrameHeaderBytes <= ring.size(); at += kFrameAlignment) {
    if (base::load_le<uint64_t>(ring, at + kFrameSeqAt) != seq) continue;
    const FrameView f = decode_frame(ring, at);
    if (f.kind == FrameView::Kind::frame || f.kind == FrameView::Kind::gap) return at;
  }
  return std::nullopt;
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

Chain follow_chain(std::span<const std::byte> ring, const Tail& tail) {
  Chain chain{tail, tail.offset, tail.seq};
  while (chain.end < tail.offset + ring.size()) {
    const size_t offset = chain.end % ring.size();
    const size_t left = ring.size() - offset;
    const FrameView f = decode_frame(ring, offset);
    size_t bytes = left;  // of a skip frame, or too few for even that: the lap ends here
    uint64_t next = chain.next;
    if (left >= kFrameHeaderBytes && f.kind != FrameView::Kind::skip) bytes = frame_bytes(f.payload.size());
    // A frame of an earlier lap reads well but has a lower number; that is the usual end of the chain.
    if (left >= kFrameHeaderBytes && (f.kind == FrameView::Kind::none || f.seq != chain.next)) break;
    if (f.kind == FrameView::Kind::frame) ++next;
    if (f.kind == FrameView::Kind::gap) next = base::load_le<uint64_t>(f.payload, 0);
    const bool forward =
        f.kind != FrameView::Kind::gap || (next > chain.next && next - chain.next <= ring.size());
    if (!forward || chain.end + bytes > tail.offset + ring.size()) break;
    chain.end += bytes;
    chain.next = next;
  }
  return chain;
}

Chain find_chain(std::span<const std::byte> header, std::span<const std::byte> ring, uint64_t expected) {
  const Chain chain = follow_chain(ring, newest_tail(header, ring.size()));
  if (expected == 0 || chain.next > expected) return chain;
  const auto at = place_of(ring, expected);
  if (!at) return chain;
  Tail tail = chain.tail;
  tail.seq = expected;
  tail.offset = *at;
  const Chain other = follow_chain(ring, tail);
  return other.next > chain.next ? other : chain;
}

uint64_t lost_behind(std::span<const std::byte> header, std::span<const std::byte> ring, const Chain& chain) {
  uint64_t newest = newest_frame(ring, chain.end, chain.tail.offset + ring.size(), chain.next);
  const auto claimed = load_pair(header, kLastSeqOffset);
  if (base::load_le<uint64_t>(header, 0) == kJournalMagic && claimed && *claimed >= chain.next &&
      *claimed - chain.next < ring.size())
    newest = std::max(newest, *claimed);
  return newest + 1 - chain.next;
}

}  // namespace walle::store
