// Any bytes as a journal's ring, as they are and with the checksums of a chain of frames made right: decoding
// never reads outside, recovery never fails, and what is appended after it is found by the next opening.
#include "base/bytes.h"
#include "base/fault_env.h"
#include "store/journal.h"

using walle::base::FaultEnv;
namespace base = walle::base;
namespace store = walle::store;

namespace {
constexpr size_t kRing = 8192;

void decode_everywhere(std::span<const std::byte> ring) {
  for (size_t at = 0; at < ring.size(); at += 8) {
    const auto f = store::decode_frame(ring, at);
    if (f.kind == store::FrameView::Kind::frame &&
        f.payload.size() + store::kFrameHeaderBytes > ring.size() - at)
      __builtin_trap();
  }
}

// Frames behind each other from offset 0 get their checksum; the first byte of a payload says whether the
// number, too.
void mend(std::string& ring) {
  uint64_t seq = 1;
  for (size_t at = 0; at + store::kFrameHeaderBytes <= ring.size();) {
    const auto size = base::load_le<uint32_t>(ring.data() + at + store::kFrameSizeAt);
    const size_t payload = size == store::kSkipFrame ? 0 : size == store::kGapFrame ? 8 : size;
    if (payload > ring.size() - at - store::kFrameHeaderBytes) return;
    if (payload == 0 || !(ring[at + store::kFrameHeaderBytes] & 1))
      base::store_le(ring.data() + at + store::kFrameSeqAt, seq);
    const uint32_t crc = base::crc32c(0, ring.data() + at + 4, store::kFrameHeaderBytes - 4 + payload);
    base::store_le(ring.data() + at, crc);
    if (size == store::kSkipFrame) return;
    if (size == store::kGapFrame)
      seq = base::load_le<uint64_t>(ring.data() + at + store::kFrameHeaderBytes);
    else
      ++seq;
    at += (store::kFrameHeaderBytes + payload + 7) / 8 * 8;
  }
}

uint64_t open_and_append(FaultEnv& env) {
  auto journal = store::Journal::open(env, "/j", kRing);
  if (!journal.ok()) __builtin_trap();
  uint64_t previous = 0;
  (*journal)->read(0, [&](uint64_t seq, std::span<const std::byte>) {
    if (seq <= previous) __builtin_trap();
    previous = seq;
    return true;
  });
  const std::byte payload[5] = {};
  const auto seq = (*journal)->append(payload);
  return seq.ok() ? *seq : 0;
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  decode_everywhere({reinterpret_cast<const std::byte*>(data), size});
  std::string ring(reinterpret_cast<const char*>(data), size);
  ring.resize(kRing);
  mend(ring);
  FaultEnv env;
  if (!env.replace_file("/j", std::string(store::kJournalHeaderBytes, '\0') + ring).ok()) __builtin_trap();
  const uint64_t appended = open_and_append(env);
  auto again = store::Journal::open(env, "/j", kRing);
  if (!again.ok() || (appended && ((*again)->last_seq() != appended || (*again)->recovery().lost)))
    __builtin_trap();
  return 0;
}
