// Opening a device's commits: what its parts have of the journal's frames, what they lack, and what is gone.
#include <algorithm>
#include <charconv>

#include "base/log.h"
#include "container/device/commit_frame.h"
#include "container/device/commits.h"

namespace walle::container {

namespace {
constexpr const char* kEgress = "/egress";
constexpr const char* kOutbox = "/outbox";

constexpr const char* kApplied = "applied";  // all parts have the frames up to this one
constexpr const char* kNewest = "newest";    // number of the newest frame, of a device that was closed
constexpr const char* kStateLost = "lost";
constexpr const char* kLostCommits = "lost commits";  // how many, until acknowledged
const std::string kSettled = "settled/";
const std::string kStream = "stream/";
const std::string kRetry = "retry/";
const std::string kMap = "map/";

using Found = store::StateFile::Found;

// Of "retry/TASK/NUMBER".
std::pair<std::string, uint64_t> retry_of(const std::string& key) {
  const size_t at = key.rfind('/');
  uint64_t number = 0;
  std::from_chars(key.data() + at + 1, key.data() + key.size(), number);
  return {key.substr(kRetry.size(), at - std::min(at, kRetry.size())), number};
}
}  // namespace

Commits::Commits(Env& env, std::unique_ptr<store::SealedEnv> sealed, std::string dir, CommitsOptions options)
    : below_(env),
      sealed_(std::move(sealed)),
      env_(sealed_ ? static_cast<Env&>(*sealed_) : env),
      dir_(std::move(dir)),
      options_(std::move(options)),
      frame_(std::make_unique<FrameOut>()) {}

Result<std::unique_ptr<Commits>> Commits::open(Env& env, const std::string& dir, CommitsOptions options) {
  base::watch_for_forks();
  std::unique_ptr<store::SealedEnv> sealed;
  if (!options.key.empty()) {
    WALLE_ASSIGN(auto aead, store::open_aead(env, dir, options.key));
    sealed = std::make_unique<store::SealedEnv>(env, std::move(aead));
  }
  for (const char* folder : {"", kCommitsTables, kCommitsMaps, kEgress, kOutbox})
    WALLE_TRY(env.make_dirs(dir + folder));
  auto commits = std::unique_ptr<Commits>(new Commits(env, std::move(sealed), dir, std::move(options)));
  Commits& c = *commits;
  // Under the journal's lock: what another process knows is not read before it has let go.
  const store::JournalOwner owner{
      .expected_first = [&c] { return c.open_parts(); },
      .before_mending = [&c](const store::JournalRecovery& found,
                             size_t capacity) { return c.check_files(found, capacity); }};
  WALLE_ASSIGN(c.journal_, store::Journal::open(env, dir + kCommitsJournal, c.options_.journal_bytes, owner));
  c.options_.key.clear();
  c.report_.journal = c.journal_->recovery();
  WALLE_TRY(c.replay());
  // Until it is closed again, the newest number is not known. That there is an applied one tells that there
  // has been a journal.
  const uint64_t applied = c.state_->number<uint64_t>(kApplied).value_or(0);
  WALLE_TRY(c.state_->apply({{kNewest, std::nullopt}, {kApplied, store::put_number(applied)}}));
  c.opened_ = true;
  return commits;
}

// The number of the oldest frame that must be in the journal.
Result<uint64_t> Commits::open_parts() {
  WALLE_ASSIGN(const auto files, env_.list_files(dir_));
  const bool empty =
      std::ranges::none_of(files, [](const std::string& f) { return f.starts_with(kCommitsState + 1); });
  WALLE_TRY(store::check_key(below_, dir_, sealed_ ? &sealed_->aead() : nullptr, true, empty));
  WALLE_ASSIGN(state_, store::StateFile::open(env_, dir_ + kCommitsState));
  // The state is written behind the parts' first files: beside it, one that is missing was removed.
  const bool there = state_->found() != Found::nothing;
  using store::Tables;
  using stream::Outbox;
  WALLE_ASSIGN(tables_, Tables::open(env_, dir_ + kCommitsTables,
                                     there ? Tables::Access::existing : Tables::Access::create));
  maps_ = std::make_unique<store::StateMaps>(env_, dir_ + kCommitsMaps);
  for (const std::string& key : state_->keys(kMap)) maps_->expect(key.substr(kMap.size()));
  WALLE_ASSIGN(gate_, stream::EgressGate::open(below_, dir_ + kEgress, options_.key));
  WALLE_ASSIGN(outbox_, Outbox::open(env_, dir_ + kOutbox + "/outbox.wals", options_.outbox,
                                     there ? Outbox::Access::existing : Outbox::Access::create));
  for (const std::string& key : state_->keys(kSettled))
    settled_[key.substr(kSettled.size())] = state_->number<uint64_t>(key).value_or(0);
  for (const std::string& key : state_->keys(kRetry)) {
    const auto [task, number] = retry_of(key);
    if (!retries_.change(task, number, *state_->get(key)))
      base::log(base::LogLevel::warning, "'" + dir_ + kCommitsState + "': '" + key + "' does not read");
  }
  if (outbox_->lost())
    for (const std::string& key : state_->keys(kStream))
      outbox_->not_before(key.substr(kStream.size()), state_->number<uint64_t>(key).value_or(0));
  const auto applied = state_->number<uint64_t>(kApplied);
  return applied ? *applied + 1 : 0;
}

// The least number that the next frame may have. What is lost is written down here, before the journal is
// mended and tells of it no more.
Result<uint64_t> Commits::check_files(const store::JournalRecovery& found, size_t capacity) {
  const uint64_t in_parts = std::max({tables_->applied(), gate_->applied(), outbox_->applied(),
                                      state_->number<uint64_t>(kApplied).value_or(0)});
  const uint64_t kept = found.last_seq + found.lost;
  const bool there = state_->readable();
  const auto applied = state_->number<uint64_t>(kApplied);
  const auto newest = state_->number<uint64_t>(kNewest);
  // A folder that was never opened to the end has no commits, whatever files a crash left of it.
  const bool empty = found.last_seq == 0 && !found.had_tail && in_parts == 0;
  const bool fresh = empty && !applied && state_->found() != Found::lost;
  if (fresh && !there) WALLE_TRY(state_->create());
  if (!fresh && !there) WALLE_TRY(state_->apply({{kStateLost, ""}}));
  report_.state_lost = state_->get(kStateLost).has_value();
  // A journal that goes on where the parts end is the one that was left. Frames are synced before parts have
  // them, so not even a power loss makes it end before.
  const bool same = found.had_tail ? kept >= applied.value_or(0) : kept > applied.value_or(0) || fresh;
  const uint64_t reserved = std::max(kept, in_parts) + capacity / kLeastFrame;
  const uint64_t given = newest ? *newest : same ? kept : reserved;
  const uint64_t known = std::max(found.last_seq, in_parts);
  if (found.lost == 0 && given <= known) return known + 1;
  report_.lost = given - std::min(given, known);
  const std::string cause =
      found.lost > 0 ? "damage at byte " + std::to_string(found.damage_offset) + " of the commits' journal"
                     : "the commits' journal was emptied, removed or replaced by an older one";
  base::log(base::LogLevel::warning, "device '" + dir_ + "': at most " + std::to_string(report_.lost) +
                                         " commits are lost: " + cause + "; today's budgets count as spent");
  const uint64_t before = state_->number<uint64_t>(kLostCommits).value_or(0);
  WALLE_TRY(state_->apply({{kLostCommits, store::put_number(before + report_.lost)}}));
  WALLE_TRY(tables_->lose_newest(cause, capacity / kLeastRow));
  WALLE_TRY(outbox_->lose_newest(capacity / kLeastRecord));
  WALLE_TRY(gate_->close_today());
  return std::max(given, in_parts) + 1;
}

Status Commits::replay() {
  const uint64_t applied = state_->number<uint64_t>(kApplied).value_or(0);
  std::string plain;
  Status applied_all;
  journal_->read(0, [&](uint64_t number, std::span<const std::byte> bytes) {
    std::string_view frame = base::as_text(bytes);
    if (sealed_ && !sealed_->aead().unseal(frame, store::put_number(number), plain)) {
      ++report_.unread;
      return true;
    }
    applied_all = apply(number, number > applied, sealed_ ? std::string_view(plain) : frame);
    return applied_all.ok();
  });
  WALLE_TRY(std::move(applied_all));
  WALLE_TRY(tables_->settle());
  outbox_->settle();
  // Of the group model: whoever wrote such frames was a newer version, or somebody else.
  if (report_.unread > 0)
    base::log(base::LogLevel::warning,
              "device '" + dir_ + "': " + std::to_string(report_.unread) + " commits do not read");
  return {};
}

Status Commits::apply(uint64_t number, bool fresh, std::string_view bytes) {
  FrameIn f;
  if (!read_frame(bytes, f)) {
    ++report_.unread;
    return {};
  }
  report_.replayed += fresh;
  for (const FrameRows& r : f.rows) tables_->apply(number, r.first, r.rows);
  for (const FrameIn::Send& s : f.sends) apply_send(number, s.seq, s.permit);
  if (f.kind == FrameKind::acknowledge) outbox_->acknowledge(number, std::string(f.stream), f.number);
  WALLE_TRY(maps_->redo(number, f.state));
  if (fresh) put_pending(number, f.after, std::move(f.events));
  if (!fresh || f.kind != FrameKind::commit) return {};
  if (f.retried != 0 && !retries_.change(f.task, f.retried, f.retry)) ++report_.unread;
  if (f.number == 0) return {};
  uint64_t& newest = settled_[std::string(f.task)];
  newest = std::max(newest, f.number);
  return {};
}

// What the state holds once the parts have everything up to `number`. With the lock.
store::StateFile::Changes Commits::state_changes(uint64_t number) const {
  store::StateFile::Changes out;
  out[kApplied] = store::put_number(number);
  for (const std::string& key : state_->keys(kSettled)) out[key] = std::nullopt;
  for (const auto& [task, firing] : settled_) out[kSettled + task] = store::put_number(firing);
  for (const std::string& key : state_->keys(kRetry)) out[key] = std::nullopt;
  retries_.each([&](const std::string& task, uint64_t firing, std::string packed) {
    out[kRetry + task + "/" + std::to_string(firing)] = std::move(packed);
  });
  for (const std::string& map : maps_->written()) out[kMap + map] = "";
  for (const stream::OutboxStream& s : outbox_->streams())
    // As far as numbers may be given out until the next checkpoint.
    out[kStream + s.name] = store::put_number(s.newest + journal_->capacity() / kLeastFrame);
  return out;
}

Status Commits::acknowledge_state_loss() {
  WALLE_TRY(check_process());
  WALLE_TRY(state_->apply({{kStateLost, std::nullopt}, {kLostCommits, std::nullopt}}));
  report_.state_lost = false;
  return {};
}

uint64_t Commits::lost() const { return state_->number<uint64_t>(kLostCommits).value_or(0); }

// The newest number is known exactly from now on, should the journal be gone at the next open. Where it
// cannot be written, the next open knows a bound instead.
Commits::~Commits() {
  if (opened_ && check_process().ok())
    (void)state_->apply({{kNewest, store::put_number(journal_->last_seq())}}).ok();
}

}  // namespace walle::container
