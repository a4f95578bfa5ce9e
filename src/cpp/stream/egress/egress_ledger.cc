#include "stream/egress/egress_ledger.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/log.h"
#include "base/names.h"
#include "stream/egress/spent_days.h"

namespace walle::stream {

namespace {
using Changes = store::StateFile::Changes;
using Found = store::StateFile::Found;

// Of the ledger's journal. A send takes 44 bytes and its two names: about 12,000 of them.
constexpr size_t kLedgerBytes = 1 << 20;
// Of task and feature together, well below what a frame takes.
constexpr size_t kMaxNames = 64 << 10;

constexpr const char* kLedgerFile = "/ledger.walj";
constexpr const char* kStateFile = "/egress.wals";

const std::string kConsent = "consent/";
constexpr const char* kEntry = "entry";  // the newest send: its number in the journal, and its record
// Sends that one checkpoint wrote: the number of the first in the journal, and the records as texts.
constexpr const char* kBatch = "entries";
constexpr const char* kApplied = "applied";  // the frame of somebody's journal up to which all is counted
constexpr const char* kClosed = "closed";    // the last day whose spent budgets are not known
constexpr const char* kLost = "lost";
constexpr const char* kLostEntries = "lost entries";
}  // namespace

Result<std::unique_ptr<EgressLedger>> EgressLedger::open(Env& env, const std::string& dir,
                                                         std::shared_ptr<base::Aead> aead) {
  WALLE_TRY(env.make_dirs(dir));
  // First, because it holds the lock of the directory.
  WALLE_ASSIGN(auto journal, store::Journal::open(env, dir + kLedgerFile, kLedgerBytes));
  WALLE_ASSIGN(auto state, store::StateFile::open(env, dir + kStateFile));
  const Found found = state->found();
  auto ledger = std::unique_ptr<EgressLedger>(
      new EgressLedger(env, std::move(journal), std::move(state), std::move(aead)));
  ledger->applied_ = ledger->state_->number<uint64_t>(kApplied).value_or(0);
  if (found == Found::nothing || found == Found::lost) WALLE_TRY(ledger->begin());
  WALLE_TRY(ledger->read_journal());
  WALLE_TRY(ledger->settle());
  WALLE_TRY(ledger->settle_batch());
  const LedgerReport report = ledger->report();
  if (report.lost || report.lost_entries > 0)
    base::log(base::LogLevel::warning,
              "egress ledger '" + dir + "': " +
                  (report.lost ? "the counters were lost and the gate is closed"
                               : std::to_string(report.lost_entries) + " entries were lost") +
                  "; acknowledge_loss() when this is known");
  return ledger;
}

// A first start, or a loss: the journal has a record from the first start on.
Status EgressLedger::begin() {
  if (state_->found() == Found::lost || journal_->last_seq() > 0) return state_->apply({{kLost, ""}});
  return state_->create();
}

Status EgressLedger::read_journal() {
  std::string plain;
  journal_->read(0, [&](uint64_t seq, std::span<const std::byte> bytes) {
    if (aead_ && !aead_->unseal(base::as_text(bytes), store::put_number(seq), plain)) return true;
    // An entry that does not parse comes from a newer version; it must not keep the device from sending, and
    // the journal has checked its bytes. One without names tells only that there was a ledger.
    auto entry = read_entry(aead_ ? std::string_view(plain) : base::as_text(bytes));
    if (entry && !entry->task.empty()) entries_.emplace_back(seq, std::move(*entry));
    return true;
  });
  if (journal_->last_seq() > 0) return {};
  // So that a state which is missing later is known to have been there.
  WALLE_TRY(append(pack_entry({.ts = env_.wall_us()})));
  return journal_->sync();
}

// The newest send is in both files: what the journal lacks of it was cut off by a crash, and what it lacks
// besides is lost.
Status EgressLedger::settle() {
  uint64_t lost = journal_->recovery().lost;
  const std::optional<std::string> kept = state_->get(kEntry);
  base::ByteReader in(kept ? std::string_view(*kept) : std::string_view());
  const auto seq = in.get<uint64_t>();
  const std::string_view record = in.rest();
  const auto entry = read_entry(record);
  const bool believable = kept && entry && seq > 0 && seq < store::kMaxSeq - 1;
  const bool there = std::ranges::any_of(entries_, [&](const auto& e) { return e.first == seq; });
  Changes changes;
  if (believable && !there) {
    if (journal_->last_seq() >= seq) lost -= std::min<uint64_t>(lost, 1);  // it is not: here it is
    if (journal_->last_seq() + 1 < seq) {
      lost += seq - 1 - journal_->last_seq();
      journal_->skip_to(seq);
    }
  }
  // Before the journal is mended, which would be all there is to tell of the loss.
  if (lost > 0)
    changes[kLostEntries] = store::put_number(state_->number<uint64_t>(kLostEntries).value_or(0) + lost);
  if (!changes.empty()) WALLE_TRY(state_->apply(changes));
  if (!believable || there) return {};
  WALLE_TRY(append(record));
  WALLE_TRY(journal_->sync());
  entries_.emplace_back(journal_->last_seq(), *entry);
  base::ByteWriter newest;
  newest.put(journal_->last_seq());
  newest.put_bytes(record);
  return state_->apply({{kEntry, newest.take()}});
}

// As settle(), of what one checkpoint wrote together: the journal may have the first of them.
Status EgressLedger::settle_batch() {
  const std::optional<std::string> kept = state_->get(kBatch);
  base::ByteReader in(kept ? std::string_view(*kept) : std::string_view());
  auto seq = in.get<uint64_t>();
  if (!kept || seq == 0 || seq >= store::kMaxSeq - kept->size()) return {};
  if (journal_->last_seq() + 1 < seq) {
    const uint64_t lost = seq - 1 - journal_->last_seq();
    WALLE_TRY(state_->apply(
        {{kLostEntries, store::put_number(state_->number<uint64_t>(kLostEntries).value_or(0) + lost)}}));
    journal_->skip_to(seq);
  }
  bool missing = false;
  for (; in.left() > 0; ++seq) {
    const std::string_view record = in.text();
    const auto entry = read_entry(record);
    if (!in.ok() || !entry) break;
    if (seq <= journal_->last_seq()) continue;
    WALLE_TRY(append(record));
    entries_.emplace_back(journal_->last_seq(), *entry);
    missing = true;
  }
  return missing ? journal_->sync() : Status();
}

Status EgressLedger::append(std::string_view record) {
  std::string sealed;
  if (aead_) {
    // Bound to its number: an entry cannot be put in the place of another.
    WALLE_ASSIGN(sealed, aead_->seal(record, store::put_number(journal_->last_seq() + 1)));
    record = sealed;
  }
  const auto bytes = std::as_bytes(std::span(record));
  auto seq = journal_->append(bytes);
  if (seq.ok()) return {};
  // Full: the oldest quarter makes room. Budgets do not hang on it.
  WALLE_TRY(journal_->release(journal_->first_seq() + (journal_->last_seq() - journal_->first_seq()) / 4));
  {
    const std::lock_guard guard(lock_);
    while (!entries_.empty() && entries_.front().first < journal_->first_seq()) entries_.pop_front();
  }
  return journal_->append(bytes).status();
}

Spent EgressLedger::spent(const std::string& task, const std::string& feature, int64_t day) const {
  const std::string key = SpentDays::key(task, feature);
  const std::lock_guard guard(lock_);
  Spent out = SpentDays(state_->get(key)).since(day);
  const auto redone = redone_days_.find(key);
  if (redone == redone_days_.end()) return out;
  const Spent more = redone->second.since(day);
  return {.bytes = out.bytes + more.bytes, .sends = out.sends + more.sends};
}

bool EgressLedger::closed(int64_t day) const {
  const auto last = state_->number<int64_t>(kClosed);
  return last && day <= *last;
}

Status EgressLedger::close_day(int64_t now) {
  const int64_t before = state_->number<int64_t>(kClosed).value_or(0);
  return state_->apply({{kClosed, store::put_number(std::max(before, day_of(now)))}});
}

Status EgressLedger::check(const LedgerEntry& e) const {
  if (e.task.size() + e.feature.size() <= kMaxNames) return {};
  return argument_error({"names of ", e.task.size() + e.feature.size(), " bytes"},
                        {"names that a ledger can hold, together at most ", kMaxNames}, "egress ledger",
                        "choose shorter names");
}

Status EgressLedger::record(const LedgerEntry& e) {
  WALLE_TRY(check(e));
  const std::string record = pack_entry(e);
  const std::lock_guard writing(writing_);
  base::ByteWriter newest;
  newest.put(journal_->last_seq() + 1);
  newest.put_bytes(record);
  const std::string key = SpentDays::key(e.task, e.feature);
  SpentDays days(state_->get(key));
  days.add(e);
  WALLE_TRY(state_->apply({{key, days.bytes()}, {kEntry, newest.take()}}));
  WALLE_TRY(append(record));
  WALLE_TRY(journal_->sync());
  const std::lock_guard guard(lock_);
  entries_.emplace_back(journal_->last_seq(), e);
  return {};
}

void EgressLedger::redo(uint64_t number, const LedgerEntry& e) {
  const std::lock_guard guard(lock_);
  if (number <= applied_) return;
  redone_days_.try_emplace(SpentDays::key(e.task, e.feature), std::nullopt).first->second.add(e);
  redone_.push_back(e);
}

// With the lock.
void EgressLedger::count_redone() {
  redone_days_.clear();
  for (const LedgerEntry& e : redone_)
    redone_days_.try_emplace(SpentDays::key(e.task, e.feature), std::nullopt).first->second.add(e);
}

LedgerStep EgressLedger::begin_checkpoint(uint64_t number) {
  const std::lock_guard guard(lock_);
  return {.number = number, .entries = redone_.size()};
}

Status EgressLedger::checkpoint(LedgerStep step) {
  if (step.entries == 0) return {};
  const std::lock_guard writing(writing_);
  std::map<std::string, SpentDays> days;
  std::vector<std::string> records;
  base::ByteWriter batch;
  batch.put(journal_->last_seq() + 1);
  {
    const std::lock_guard guard(lock_);
    for (size_t i = 0; i < step.entries; ++i) {
      const std::string key = SpentDays::key(redone_[i].task, redone_[i].feature);
      const auto known = days.find(key);
      SpentDays& spent =
          known != days.end() ? known->second : days.emplace(key, state_->get(key)).first->second;
      spent.add(redone_[i]);
      records.push_back(pack_entry(redone_[i]));
      batch.put_text(records.back());
    }
  }
  Changes changes{{kBatch, batch.take()}, {kApplied, store::put_number(step.number)}};
  for (const auto& [key, spent] : days) changes[key] = spent.bytes();
  WALLE_TRY(state_->apply(changes));
  // Counted: from here on a failure costs nothing, the next open appends what is missing.
  return write_entries(records, step.number);
}

Status EgressLedger::write_entries(const std::vector<std::string>& records, uint64_t number) {
  std::vector<uint64_t> numbers;
  for (const std::string& record : records) {
    if (!append(record).ok()) break;
    numbers.push_back(journal_->last_seq());
  }
  {
    const std::lock_guard guard(lock_);
    applied_ = number;
    for (size_t i = 0; i < records.size(); ++i) {
      if (i < numbers.size()) entries_.emplace_back(numbers[i], redone_.front());
      redone_.pop_front();
    }
    count_redone();
  }
  // Their budget is counted all the same.
  if (const uint64_t lost = records.size() - numbers.size(); lost > 0)
    WALLE_TRY(state_->apply(
        {{kBatch, std::nullopt},
         {kLostEntries, store::put_number(state_->number<uint64_t>(kLostEntries).value_or(0) + lost)}}));
  return journal_->sync();
}

uint64_t EgressLedger::applied() const {
  const std::lock_guard guard(lock_);
  return applied_;
}

std::vector<LedgerEntry> EgressLedger::entries() const {
  const std::lock_guard guard(lock_);
  std::vector<LedgerEntry> out;
  for (const auto& [seq, entry] : entries_) out.push_back(entry);
  out.insert(out.end(), redone_.begin(), redone_.end());
  return out;
}

Status EgressLedger::set_consents(const std::vector<std::string>& consents) {
  for (const std::string& consent : consents)
    WALLE_TRY(base::check_name(base::NameKind::consent, consent, "consents"));
  Changes changes;
  for (const std::string& key : state_->keys(kConsent)) changes[key] = std::nullopt;
  for (const std::string& consent : consents) changes[kConsent + consent] = "";
  return state_->apply(changes);
}

bool EgressLedger::consented(const std::string& consent) const {
  return state_->get(kConsent + consent).has_value();
}

std::vector<std::string> EgressLedger::consents() const {
  std::vector<std::string> out = state_->keys(kConsent);
  for (std::string& name : out) name.erase(0, kConsent.size());
  return out;
}

LedgerReport EgressLedger::report() const {
  return {.lost = state_->get(kLost).has_value(),
          .lost_entries = state_->number<uint64_t>(kLostEntries).value_or(0),
          .mended = state_->found() == Found::mended};
}

Status EgressLedger::acknowledge_loss(int64_t now) {
  Changes changes{{kLostEntries, std::nullopt}};
  if (report().lost) {
    changes[kLost] = std::nullopt;
    const int64_t before = state_->number<int64_t>(kClosed).value_or(0);
    changes[kClosed] = store::put_number(std::max(before, day_of(now)));
  }
  return state_->apply(changes);
}

}  // namespace walle::stream
