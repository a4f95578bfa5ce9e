#include "container/device/commit_frame.h"

namespace walle::container {

namespace {
// What one takes at least, for counts that are read from a file.
constexpr size_t kLeastRows = 4 + 8 + 4 + 2 + 4;
constexpr size_t kLeastChange = 4 + 4 + 1;
constexpr size_t kLeastEvent = 4 + 8 + 4;
constexpr size_t kLeastSend = 4 + 8 + 1 + 8 + 8 + 3 * 4;

FrameRows read_rows(base::ByteReader& in) {
  FrameRows r;
  r.rows.table = in.text();
  r.first = in.get<uint64_t>();
  r.rows.rows = in.get<uint32_t>();
  r.rows.columns = in.get<uint16_t>();
  r.rows.bytes = in.text();
  return r;
}

FrameIn::Send read_send(base::ByteReader& in) {
  FrameIn::Send s;
  s.permit.stream = in.text();
  s.seq = in.get<uint64_t>();
  const auto priority = in.get<uint8_t>();
  s.permit.priority = priority & static_cast<uint8_t>(~kAsks);
  s.permit.entry.ts = in.get<int64_t>();
  s.permit.entry.rows = in.get<int64_t>();
  s.permit.entry.task = in.text();
  s.permit.entry.feature = in.text();
  s.permit.bytes = in.text();
  if (priority & kAsks) s.permit.package = in.text();
  s.permit.entry.bytes = static_cast<int64_t>(s.permit.bytes.size());
  return s;
}

store::StateChange read_change(base::ByteReader& in) {
  store::StateChange c;
  c.map = in.text();
  c.key = in.text();
  if (in.flag()) c.value = in.text();
  return c;
}
}  // namespace

std::string acknowledge_frame(std::string_view stream, uint64_t seq) {
  base::ByteWriter out;
  out.put(static_cast<uint8_t>(FrameKind::acknowledge));
  out.put_text(stream);
  out.put(seq);
  return out.take();
}

bool read_frame(std::string_view bytes, FrameIn& out) {
  base::ByteReader in(bytes);
  out = FrameIn();
  out.kind = in.checked(FrameKind::commit, FrameKind::acknowledge);
  if (out.kind == FrameKind::acknowledge)
    out.stream = in.text();
  else
    out.task = in.text();
  out.number = in.get<uint64_t>();
  if (out.kind != FrameKind::commit) return in.done();
  for (uint32_t n = in.count(kLeastRows); n > 0 && in.ok(); --n) out.rows.push_back(read_rows(in));
  for (uint32_t n = in.count(kLeastSend); n > 0 && in.ok(); --n) out.sends.push_back(read_send(in));
  for (uint32_t n = in.count(kLeastChange); n > 0 && in.ok(); --n) out.state.push_back(read_change(in));
  const uint32_t events = in.count(kLeastEvent);
  if (events > 0) out.after = in.get<uint64_t>();
  in.check(events <= kMaxFrameEvents);
  for (uint32_t n = events; n > 0 && in.ok(); --n) {
    RecordedEvent e;
    e.event = in.text();
    e.ts = in.get<int64_t>();
    e.fields = in.text();
    out.events.push_back(std::move(e));
  }
  if (in.ok() && !in.done()) {
    out.retried = in.get<uint64_t>();
    out.retry = in.text();
    in.check(out.retried != 0);
  }
  return in.done();
}

}  // namespace walle::container
