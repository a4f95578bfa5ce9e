#include "container/device/commits.h"

#include <algorithm>

#include "base/record_trace.h"
#include "base/trace.h"
#include "container/device/commit_frame.h"

namespace walle::container {

namespace {
Error too_large(size_t size, size_t most, Text task) {
  return argument_error({"a commit of ", size, " bytes"}, {"at most ", most}, {"task '", task, "'"},
                        "leave fewer or smaller rows per firing, or open the device with a larger journal");
}
// From the gate, in the phase that sent it, to here, where its number is known: what joins it with what the
// tunnel and the server do.
void trace_send(const FrameSend& send) {
  if (!base::trace_enabled()) return;
  const int64_t id = base::record_trace_id(send.permit->stream, send.seq);
  if (send.permit->begun_ns != 0) base::trace_wait("egress wait", send.permit->begun_ns, id);
  const base::TraceSpan span("outbox", id);
}
}  // namespace

Status Commits::check_process() const {
  if (process_ == base::fork_generation()) [[likely]]
    return {};
  return resource_error("a device that was opened before fork(), used in the child",
                        "the process that opened it", {"'", dir_, "'"},
                        "close it before fork() and open it in one of the two");
}

// The frame with the numbers of rows and records, so that a replay needs nothing else. With the lock.
Status Commits::compose(const Commit& c) {
  FrameOut& f = *frame_;
  f.task = c.task;
  f.number = c.number;
  f.rows.clear();
  f.sends.clear();
  f.retried = c.retried;
  f.retry = c.retry;
  f.state.clear();
  f.events = c.events;
  f.after = 0;
  if (EventRecorder* recorder = recorder_.load(); recorder != nullptr && !c.events.empty())
    f.after = recorder->newest();
  if (c.events.size() > kMaxFrameEvents)
    return argument_error({c.events.size(), " events in one commit"}, {"at most ", kMaxFrameEvents},
                          {"task '", c.task, "'"}, "record fewer events in one firing");
  if (c.only_if) {
    WALLE_ASSIGN(const std::shared_ptr<store::StateMap> map, maps_->open(c.only_if->map));
    if (map->get(c.only_if->key) != c.only_if->value)
      return argument_error("a state that has changed since", "the one that was looked at", "commits",
                            "look again");
  }
  for (const Commit::Change& change : c.state)
    f.state.push_back({.map = change.map, .key = change.key, .value = change.value});
  if (c.number > 0) {
    const auto known = settled_.find(c.task);
    if (known != settled_.end() && c.number <= known->second)
      return argument_error({"firing ", c.number, ", which is settled"}, {"a number above ", known->second},
                            {"task '", c.task, "'"}, "hand out only what lies behind settled()");
  }
  for (const store::TableRows& r : c.rows) {
    if (r.rows == 0) continue;
    const auto place = tables_->place(r.table);
    if (!place || r.columns == 0 || r.columns > place->columns) return bad_rows(r);
    uint64_t first = place->row;
    for (const FrameRows& before : f.rows)
      if (before.rows.table == r.table) first = before.first + before.rows.rows;
    f.rows.push_back({.rows = r, .first = first});
  }
  for (const stream::Permit& p : c.sends) {
    uint64_t seq = 0;
    for (const FrameSend& before : f.sends)
      if (before.permit->stream == p.stream) seq = before.seq + 1;
    f.sends.push_back({.permit = &p, .seq = seq > 0 ? seq : outbox_->next(p.stream)});
  }
  return {};
}

Error Commits::bad_rows(const store::TableRows& r) const {
  auto info = tables_->info(r.table);
  if (!info.ok()) return info.take_error();
  return argument_error({"rows of ", r.columns, " columns"}, {"1 to ", info->decl.columns.size()},
                        {"result table '", r.table, "'"},
                        "make rows with add_row() and the table's declaration");
}

// With the lock, which is let go for a checkpoint where the journal is full.
template <class Write>
Result<uint64_t> Commits::place(size_t size, std::string_view task, std::unique_lock<std::mutex>& lock,
                                Write&& write) {
  const size_t most = size + (sealed_ ? sealed_->aead().added_bytes() : 0);
  if (most > journal_->max_payload()) return too_large(most, journal_->max_payload(), task);
  bool waited = false;
  while (!journal_->reserve(most)) {
    waited = true;
    lock.unlock();
    WALLE_TRY(checkpoint());  // nobody maintained it in time
    lock.lock();
    if (journal_->reserve(most)) break;
    if (journal_->used() == 0)
      return resource_error("no space in the journal after a checkpoint", "space for one commit",
                            {"'", dir_, "'"}, "open the device with a larger journal");
  }
  return write(waited);
}

Result<uint64_t> Commits::commit(const Commit& c) {
  WALLE_TRY(check_process());
  const base::TraceSpan span("commit", static_cast<int64_t>(c.number));
  std::unique_lock lock(lock_);
  WALLE_TRY(compose(c));
  const FrameOut& f = *frame_;
  FrameSize size;
  put_frame(f, size);
  WALLE_ASSIGN(const uint64_t number, place(size.size(), c.task, lock, [&](bool waited) -> Result<uint64_t> {
                 if (waited) WALLE_TRY(compose(c));  // others have committed meanwhile
                 if (!sealed_) return journal_->commit(size.size(), [&](auto& w) { put_frame(f, w); });
                 FrameText plain;
                 put_frame(f, plain);
                 return append(plain.take());
               }));
  // From here on nothing can fail: what the frame says is what the parts hold.
  for (const FrameRows& r : f.rows) tables_->apply(number, r.first, r.rows);
  for (const FrameSend& s : f.sends) apply_send(number, s.seq, *s.permit);
  if (f.retried != 0) retries_.change(f.task, f.retried, f.retry);
  maps_->apply(number, f.state);
  put_pending(number, f.after, c.events);
  if (c.number > 0) settled_[c.task] = c.number;
  for (const FrameSend& s : f.sends) trace_send(s);
  const bool sends = !f.sends.empty();
  lock.unlock();
  // The commit stands whatever becomes of it: what waits is tried again, and told by maintain().
  if (!c.events.empty()) (void)drain().ok();
  if (sends) {
    const std::lock_guard telling(telling_);
    if (on_send_) on_send_();
  }
  return number;
}

void Commits::put_pending(uint64_t number, uint64_t after, std::vector<RecordedEvent> events) {
  int64_t id = static_cast<int64_t>(number * kMaxFrameEvents);
  for (RecordedEvent& e : events) pending_.push_back({.id = id++, .after = after, .event = std::move(e)});
}

void Commits::record_into(EventRecorder* recorder) {
  const std::lock_guard draining(draining_);
  recorder_ = recorder;
}

std::optional<PendingEvent> Commits::oldest() const {
  const std::lock_guard lock(lock_);
  return pending_.empty() ? std::nullopt : std::optional(pending_.front());
}

void Commits::recorded(int64_t id) {
  const std::lock_guard lock(lock_);
  while (!pending_.empty() && pending_.front().id <= id) pending_.pop_front();
}

Status Commits::drain() {
  const std::lock_guard draining(draining_);
  EventRecorder* recorder = recorder_.load();
  while (const std::optional<PendingEvent> next = oldest()) {
    if (recorder == nullptr)
      return resource_error("events that tasks have recorded, and no log", "the device's event log",
                            "commits", "open the device");
    WALLE_TRY(recorder->append(*next));
    recorded(next->id);
  }
  return {};
}

void Commits::on_send(std::function<void()> callback) {
  const std::lock_guard telling(telling_);
  on_send_ = std::move(callback);
}

void Commits::apply_send(uint64_t number, uint64_t seq, const stream::Permit& p) {
  gate_->redo(number, p);
  outbox_->add(number, p.stream,
               {.seq = seq,
                .ts = p.entry.ts,
                .priority = p.priority,
                .task = p.package.empty() ? p.entry.task : p.entry.task + "@" + p.package,
                .feature = p.entry.feature,
                .bytes = p.bytes});
}

// A frame that there is room for. With the lock.
Result<uint64_t> Commits::append(const std::string& frame) {
  if (!sealed_) return journal_->append(std::as_bytes(std::span(frame)));
  // Bound to its number: a frame cannot be put in the place of another.
  const std::string number = store::put_number(journal_->last_seq() + 1);
  WALLE_ASSIGN(const std::string sealed, sealed_->aead().seal(frame, number));
  return journal_->append(std::as_bytes(std::span(sealed)));
}

uint64_t Commits::settled(const std::string& task) const {
  const std::lock_guard lock(lock_);
  const auto found = settled_.find(task);
  return found == settled_.end() ? 0 : found->second;
}

Status Commits::forget_retries(const std::string& task) {
  if (retries_.waiting(task).count == 0) return {};
  Commit all;
  all.task = task;
  all.retried = kAllRetries;
  return commit(all).status();
}

Status Commits::declare(const store::TableDecl& decl) {
  WALLE_TRY(check_process());
  // No frame comes in between: one with rows of this table would be taken for another's.
  const std::lock_guard checkpointing(checkpointing_);
  const std::lock_guard lock(lock_);
  return tables_->declare(decl, journal_->last_seq(), journal_->capacity() / kLeastRow);
}

Status Commits::drop(const std::string& table) {
  WALLE_TRY(check_process());
  return tables_->drop(table);
}

Status Commits::acknowledge(const std::vector<store::Loss>& seen) {
  WALLE_TRY(check_process());
  return tables_->acknowledge(seen);
}

Result<std::vector<stream::OutboxRecord>> Commits::read_outbox(const std::string& stream, uint64_t from,
                                                               size_t limit) {
  WALLE_TRY(check_process());
  std::vector<stream::OutboxRecord> out = outbox_->read(stream, from, limit);
  if (!out.empty()) WALLE_TRY(journal_->sync_frames());
  return out;
}

Status Commits::acknowledge(const std::string& stream, uint64_t seq) {
  WALLE_TRY(check_process());
  const std::string frame = acknowledge_frame(stream, seq);
  std::unique_lock lock(lock_);
  if (!outbox_->would_change(stream, seq)) return {};
  WALLE_ASSIGN(const uint64_t number, place(frame.size(), stream, lock, [&](bool) { return append(frame); }));
  outbox_->acknowledge(number, stream, seq);
  return {};
}

Status Commits::acknowledge_outbox_loss() {
  WALLE_TRY(check_process());
  outbox_->acknowledge_loss();
  return checkpoint();
}

Status Commits::sync() {
  WALLE_TRY(check_process());
  return journal_->sync();
}

Status Commits::maintain() {
  WALLE_TRY(check_process());
  WALLE_TRY(drain());
  const int64_t now = env_.steady_us();
  const uint64_t waiting = tables_->waiting_rows();
  const bool full = journal_->used() > journal_->capacity() / 2;
  const bool old = waiting > 0 && now - checkpointed_at_.load() >= options_.batch_us;
  if (full || waiting >= options_.batch_rows || old) return checkpoint();
  if (journal_->unsynced() > 0 && now - synced_at_.load() >= options_.sync_us) {
    WALLE_TRY(journal_->sync());
    synced_at_ = now;
  }
  return {};
}

Status Commits::checkpoint() {
  WALLE_TRY(check_process());
  const std::lock_guard checkpointing(checkpointing_);
  const base::TraceSpan span("checkpoint");
  // Frames before what was made of them: a power loss must not leave a journal that ends before its parts.
  WALLE_TRY(journal_->sync());
  std::unique_lock lock(lock_);
  // Frames may go when the log has what they record.
  while (!pending_.empty()) {
    lock.unlock();
    WALLE_TRY(drain());
    lock.lock();
  }
  const uint64_t number = journal_->last_seq();
  stream::LedgerStep ledger = gate_->begin_checkpoint(number);
  const stream::OutboxStep outbox = outbox_->begin_checkpoint(number, journal_->capacity() / kLeastRecord);
  store::StateMaps::Step maps = maps_->begin_checkpoint(number, now_us());
  const store::StateFile::Changes state = state_changes(number);
  lock.unlock();
  // Each that is done is done: an error of a later one leaves frames that the earlier ones pass over.
  Status status = tables_->checkpoint(number, journal_->capacity() / kLeastRow);
  if (Status s = gate_->checkpoint(std::move(ledger)); !s.ok()) status = std::move(s);
  if (Status s = outbox_->checkpoint(outbox); !s.ok()) status = std::move(s);
  if (Status s = maps_->checkpoint(std::move(maps)); !s.ok()) status = std::move(s);
  WALLE_TRY(std::move(status));
  if (EventRecorder* recorder = recorder_.load()) WALLE_TRY(recorder->sync());
  WALLE_TRY(state_->apply(state));
  WALLE_TRY(journal_->release(number));
  synced_at_ = checkpointed_at_ = env_.steady_us();
  return {};
}

}  // namespace walle::container
