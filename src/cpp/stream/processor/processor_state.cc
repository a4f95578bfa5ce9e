#include "stream/processor/processor_state.h"

#include "base/bytes.h"

namespace walle::stream {

namespace {
constexpr uint32_t kVersion = 3;
// The least that one entry of each list takes: what its count is checked against.
constexpr size_t kTaskBytes = 4 + 4 + 1 + 4 * 8 + 1 + 4 + 4;
constexpr size_t kTriggerBytes = 4 + 4 + 8 + 4 + 8 + 8 + 8;
constexpr size_t kFiringBytes = 8 * 8 + 4 + 2 + 2 + 2 + 4;
constexpr size_t kFormerBytes = 4 + 8;

void put_trigger(base::ByteWriter& out, const StoredTrigger& t) {
  out.put_text(t.name);
  out.put_text(t.text);
  out.put(t.order);
  out.put(t.stats.fired);
  out.put(t.stats.suppressed);
  out.put(t.stats.evicted);
  out.put(t.stats.last_ts);
}

}  // namespace

void put_firing(base::ByteWriter& out, const TaskFiring& f, std::string_view trigger_name) {
  out.put(f.number);
  out.put(f.key);
  out.put(f.seq);
  out.put(f.ts);
  out.put(f.start_ts);
  out.put(f.session);
  out.put(f.page_instance);
  out.put(f.coalesced);
  out.put(f.start_nth);
  out.put(f.last.ts);
  out.put(f.last.nth);
  out.put(static_cast<uint8_t>(f.scope.page | f.scope.session << 1));
  out.put(f.scope.count);
  for (size_t i = 0; i < f.scope.count; ++i) out.put(f.scope.fields[i]);
  out.put_text(trigger_name);
}

StoredFiring get_firing(base::ByteReader& in) {
  StoredFiring out;
  TaskFiring& f = out.firing;
  f.number = in.get<uint64_t>();
  f.key = in.get<uint64_t>();
  f.seq = in.get<uint64_t>();
  f.ts = in.get<int64_t>();
  f.start_ts = in.get<int64_t>();
  f.session = in.get<uint64_t>();
  f.page_instance = in.get<uint64_t>();
  f.coalesced = in.get<uint32_t>();
  f.start_nth = in.get<uint16_t>();
  f.last.ts = in.get<int64_t>();
  f.last.nth = in.get<uint16_t>();
  const auto within = in.checked<uint8_t>(0, 3);
  f.scope.page = (within & 1) != 0;
  f.scope.session = (within & 2) != 0;
  f.scope.count = in.checked<uint8_t>(0, uint8_t{kMaxKeyFields});
  for (size_t i = 0; in.ok() && i < f.scope.count; ++i) f.scope.fields[i] = in.get<uint16_t>();
  out.trigger_name = in.text();
  return out;
}

namespace {

void put_local(base::ByteWriter& out, const LocalTime& local) {
  out.put(local.first());
  out.put_count(local.changes().size());
  for (const UtcOffset& change : local.changes()) {
    out.put(change.from_us);
    out.put(change.offset_us);
  }
}

LocalTime get_local(base::ByteReader& in) {
  const auto first = in.get<int64_t>();
  std::vector<UtcOffset> changes(in.count(2 * sizeof(int64_t)));
  for (UtcOffset& change : changes) {
    change.from_us = in.get<int64_t>();
    change.offset_us = in.get<int64_t>();
  }
  LocalTime out(first, std::move(changes));
  in.check(out.valid());
  return out;
}
void put_task(base::ByteWriter& out, const StoredTask& t) {
  out.put_text(t.name);
  out.put(t.queue);
  out.put(t.when_full);
  out.put(t.newest);
  out.put(t.settled);
  out.put(t.dropped);
  out.put(t.coalesced);
  out.put(static_cast<uint8_t>(t.local != nullptr));
  if (t.local) put_local(out, *t.local);
  out.put_count(t.triggers.size());
  for (const StoredTrigger& trigger : t.triggers) put_trigger(out, trigger);
  out.put_count(t.waiting.size());
  for (const StoredFiring& firing : t.waiting) put_firing(out, firing.firing, firing.trigger_name);
}

StoredTrigger get_trigger(base::ByteReader& in) {
  StoredTrigger t;
  t.name = in.text();
  t.text = in.text();
  t.order = in.get<uint64_t>();
  t.stats.fired = in.get<uint32_t>();
  t.stats.suppressed = in.get<uint64_t>();
  t.stats.evicted = in.get<uint64_t>();
  t.stats.last_ts = in.get<int64_t>();
  return t;
}

StoredTask get_task(base::ByteReader& in) {
  StoredTask t;
  t.name = in.text();
  t.queue = in.checked<uint32_t>(1, kMaxQueue);
  t.when_full = in.checked(WhenFull::coalesce, WhenFull::drop_new);
  t.newest = in.get<uint64_t>();
  t.settled = in.get<uint64_t>();
  t.dropped = in.get<uint64_t>();
  t.coalesced = in.get<uint64_t>();
  if (in.flag()) t.local = std::make_shared<const LocalTime>(get_local(in));
  for (uint32_t n = in.count(kTriggerBytes); n-- > 0 && in.ok();) t.triggers.push_back(get_trigger(in));
  uint64_t before = t.settled;
  for (uint32_t n = in.count(kFiringBytes); n-- > 0 && in.ok();) {
    t.waiting.push_back(get_firing(in));
    const uint64_t number = t.waiting.back().firing.number;
    in.check(number > before && number <= t.newest);
    before = number;
  }
  return t;
}
}  // namespace

std::string encode_state(const ProcessorState& state) {
  base::ByteWriter out;
  out.put(kVersion);
  out.put(static_cast<uint8_t>(state.lost));
  out.put(state.seen);
  out.put(state.session);
  out.put(state.page_instance);
  out.put(state.next_order);
  put_local(out, state.local);
  out.put_count(state.tasks.size());
  for (const StoredTask& task : state.tasks) put_task(out, task);
  out.put_count(state.former.size());
  for (const auto& [name, newest] : state.former) {
    out.put_text(name);
    out.put(newest);
  }
  out.put_text(state.snapshot);
  return out.take();
}

Result<ProcessorState> decode_state(std::string_view bytes) {
  base::ByteReader in(bytes);
  ProcessorState state;
  const auto version = in.get<uint32_t>();
  if (in.ok() && version != kVersion)
    return model_error({"a processor's state of version ", version}, {"version ", kVersion}, "processor",
                       "open it with the release that wrote it");
  state.lost = in.flag();
  state.seen = in.get<uint64_t>();
  state.session = in.get<uint64_t>();
  state.page_instance = in.get<uint64_t>();
  state.next_order = in.get<uint64_t>();
  state.local = get_local(in);
  for (uint32_t n = in.count(kTaskBytes); n-- > 0 && in.ok();) state.tasks.push_back(get_task(in));
  for (uint32_t n = in.count(kFormerBytes); n-- > 0 && in.ok();) {
    const std::string name(in.text());
    state.former[name] = in.get<uint64_t>();
  }
  state.snapshot = in.text();
  if (!in.done())
    return model_error("a damaged state of the processor", "what a checkpoint wrote", "processor",
                       "install the tasks again");
  return state;
}

}  // namespace walle::stream
