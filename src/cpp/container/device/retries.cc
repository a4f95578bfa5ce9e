#include "container/device/retries.h"

#include "base/bytes.h"
#include "stream/processor/processor_state.h"

namespace walle::container {

std::string Retries::pack(const Retry& retry) {
  base::ByteWriter out;
  out.put(retry.due_us);
  out.put(retry.delay_us);
  out.put(retry.firing.attempt);
  stream::put_firing(out, retry.firing, retry.firing.trigger_name);
  return out.take();
}

bool Retries::change(std::string_view task, uint64_t number, std::string_view packed) {
  const std::lock_guard lock(lock_);
  const auto known = tasks_.find(task);
  if (packed.empty()) {
    if (known == tasks_.end()) return true;
    if (number != kAllRetries) known->second.erase(number);
    if (number == kAllRetries || known->second.empty()) tasks_.erase(known);
    return true;
  }
  base::ByteReader in(packed);
  Entry entry;
  entry.retry.due_us = in.get<int64_t>();
  entry.retry.delay_us = in.get<int64_t>();
  const auto attempt = in.get<uint32_t>();
  stream::StoredFiring stored = stream::get_firing(in);
  if (!in.done() || stored.firing.number != number || attempt < 2) return false;
  entry.retry.firing = stored.firing;
  entry.retry.firing.attempt = attempt;
  entry.retry.firing.trigger_name = *names_.insert(std::move(stored.trigger_name)).first;
  tasks_[std::string(task)][number] = entry;
  return true;
}

const Retries::Entries* Retries::find(std::string_view task) const {
  const auto found = tasks_.find(task);
  return found == tasks_.end() ? nullptr : &found->second;
}

const Retries::Entry* Retries::next(std::string_view task, int64_t now_us) const {
  const Entries* entries = find(task);
  const Entry* out = nullptr;
  if (entries == nullptr) return out;
  for (const auto& [_, entry] : *entries)
    if (entry.due(now_us) && (out == nullptr || entry.retry.due_us < out->retry.due_us)) out = &entry;
  return out;
}

std::optional<Retry> Retries::take(std::string_view task, int64_t now_us) {
  const std::lock_guard lock(lock_);
  const Entry* entry = next(task, now_us);
  if (entry == nullptr) return std::nullopt;
  tasks_.find(task)->second.at(entry->retry.firing.number).taken = true;
  return entry->retry;
}

bool Retries::due(std::string_view task, int64_t now_us) const {
  const std::lock_guard lock(lock_);
  return next(task, now_us) != nullptr;
}

Retries::Waiting Retries::waiting(std::string_view task) const {
  const std::lock_guard lock(lock_);
  Waiting out;
  const Entries* entries = find(task);
  if (entries == nullptr) return out;
  out.count = entries->size();
  for (const auto& [_, entry] : *entries)
    if (!entry.taken && (!out.next_us || entry.retry.due_us < *out.next_us)) out.next_us = entry.retry.due_us;
  return out;
}

std::set<std::string> Retries::tasks() const {
  const std::lock_guard lock(lock_);
  std::set<std::string> out;
  for (const auto& [task, _] : tasks_) out.insert(task);
  return out;
}

}  // namespace walle::container
