#include "store/journal_copy.h"

namespace walle::store {

namespace {
// A writer that releases frames while the file is read may overwrite what the tail of the copy points to. It
// does so once in some ten thousand events: the second attempt finds another journal, the third the same.
constexpr int kAttempts = 8;

// Whatever changes in the header when frames are released.
std::string_view tails_of(std::string_view file) {
  return file.substr(std::min(file.size(), kTailOffset[0]), kTailOffset[1] + kTailBytes - kTailOffset[0]);
}

// A whole journal of the size that its header says, zeros where the file ends early.
void complete(std::string& bytes) {
  bytes.resize(std::max(bytes.size(), kJournalHeaderBytes));
  const auto own = load_pair(std::as_bytes(std::span(bytes)), kCapacityOffset);
  uint64_t ring = bytes.size() - kJournalHeaderBytes;
  ring = own && valid_capacity(*own) ? *own : std::max(kMinRing, ring / kRingUnit * kRingUnit);
  bytes.resize(kJournalHeaderBytes + ring);
}
}  // namespace

Result<JournalCopy> JournalCopy::read(Env& env, const std::string& path, uint64_t expected) {
  JournalCopy out;
  for (int i = 0; i < kAttempts && env.file_size(path) >= 0; ++i) {
    // From the front to the back: the newest number in the header is no newer than the frames behind it.
    WALLE_ASSIGN(out.bytes_, env.read_prefix(path, kJournalHeaderBytes + kMaxRing));
    WALLE_ASSIGN(const std::string later, env.read_prefix(path, kJournalHeaderBytes));
    const bool settled = tails_of(out.bytes_) == tails_of(later);
    complete(out.bytes_);
    out.follow(expected);
    // A loss that a second look does not show was a frame half written.
    if (settled && out.recovery_.lost == 0) break;
  }
  return out;
}

void JournalCopy::follow(uint64_t expected) {
  chain_ = find_chain(header(), ring(), expected);
  recovery_ = {.first_seq = chain_.tail.seq,
               .last_seq = chain_.next - 1,
               .lost = 0,
               .had_tail = chain_.tail.generation > 0};
  // A writer may have put frames behind the end of the chain while the file was read: only the newest number
  // that was there before counts, unless there is none to be believed.
  const auto claimed = load_pair(header(), kLastSeqOffset);
  const bool later = claimed && *claimed < chain_.next;
  if (!later) recovery_.lost = lost_behind(header(), ring(), chain_);
  if (recovery_.lost) recovery_.damage_offset = kJournalHeaderBytes + chain_.end % ring().size();
}

void JournalCopy::read(uint64_t from,
                       const std::function<bool(uint64_t, std::span<const std::byte>)>& visit) const {
  uint64_t at = chain_.tail.offset;
  while (at < chain_.end) {
    const ChainPlace place = chain_place(ring(), at % ring().size());
    const bool wanted = place.kind == FrameView::Kind::frame && place.seq >= from;
    if (wanted && !visit(place.seq, place.payload)) return;
    at += place.bytes;
  }
}

}  // namespace walle::store
