#include "container/device/crash_marks.h"

#include <algorithm>
#include <atomic>

#include "base/crc32c.h"
#include "stream/processor/task_firing.h"

namespace walle::container {

namespace {

// Bits of a word: 0 to 31 who, 32 to 39 the phase and 1 (0: none runs), 40 to 47 deaths, 48 to 63 check.
constexpr size_t kWords = stream::kMaxTasks;
constexpr uint32_t kMostCounted = 255;
constexpr uint32_t kLastPhase = static_cast<uint32_t>(Phase::call) + 1;

uint64_t check_of(uint64_t low) { return base::crc32c(0, &low, sizeof low) & 0xFFFF; }

uint64_t word_of(uint32_t who, uint32_t phase, uint32_t deaths) {
  const uint64_t low = who | uint64_t{phase} << 32 | uint64_t{deaths} << 40;
  return low | check_of(low) << 48;
}

struct Word {
  uint32_t who = 0, phase = 0, deaths = 0;
};

std::optional<Word> read(uint64_t word) {
  const uint64_t low = word & 0xFFFF'FFFF'FFFF;
  if (word == 0 || check_of(low) != word >> 48) return std::nullopt;
  const Word out{static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32 & 0xFF),
                 static_cast<uint32_t>(low >> 40 & 0xFF)};
  if (out.phase > kLastPhase) return std::nullopt;
  return out;
}

uint64_t load(const uint64_t* word) {
  return std::atomic_ref<uint64_t>(*const_cast<uint64_t*>(word)).load(std::memory_order_relaxed);
}

// Relaxed: nobody reads it but the next process.
void store_word(uint64_t* word, uint64_t value) {
  std::atomic_ref<uint64_t>(*word).store(value, std::memory_order_relaxed);
}

// Never 0, which is a free word.
uint32_t who_is(const std::string& task, const std::string& version) {
  const uint32_t name = base::crc32c(0, task.c_str(), task.size() + 1);
  return std::max(1u, base::crc32c(name, version.data(), version.size()));
}

}  // namespace

void Mark::store(uint32_t deaths, uint32_t phase) {
  if (word_ == nullptr) return;
  deaths_ = deaths;
  store_word(word_, word_of(who_, phase, deaths));
}

void Mark::begin(Phase phase) { store(deaths_, static_cast<uint32_t>(phase) + 1); }
void Mark::rest() { store(deaths_, 0); }
void Mark::end() { store(0, 0); }

Result<std::unique_ptr<CrashMarks>> CrashMarks::open(Env& env, const std::string& dir) {
  WALLE_ASSIGN(auto map, env.map_writable(dir + "/marks.walm", kWords * sizeof(uint64_t)));
  return std::unique_ptr<CrashMarks>(new CrashMarks(std::move(map)));
}

uint64_t* CrashMarks::words() const { return reinterpret_cast<uint64_t*>(map_->bytes().data()); }

uint64_t* CrashMarks::find(uint32_t who) const {
  uint64_t* const end = words() + kWords;
  const auto is_theirs = [&](const uint64_t& word) {
    const std::optional<Word> marked = read(load(&word));
    return marked && marked->who == who;
  };
  uint64_t* const found = std::find_if(words(), end, is_theirs);
  return found == end ? nullptr : found;
}

Mark CrashMarks::claim(const std::string& task, const std::string& version, Deaths& deaths) {
  deaths = {};
  const uint32_t who = who_is(task, version);
  const auto mine = claimed_.find(task);
  uint64_t* word = mine == claimed_.end() ? find(who) : mine->second;
  const bool taken = std::ranges::any_of(
      claimed_, [&](const auto& other) { return other.second == word && other.first != task; });
  if (word == nullptr || taken) {
    const auto is_free = [](const uint64_t& each) { return !read(load(&each)); };
    word = std::find_if(words(), words() + kWords, is_free);
    if (word == words() + kWords) return {};  // more versions than tasks there may be, between two sweeps
  }
  if (const std::optional<Word> left = read(load(word)); left && left->who == who) {
    const bool died = left->phase != 0;
    deaths.count = std::min(left->deaths + (died ? 1 : 0), kMostCounted);
    if (died) deaths.phase = static_cast<Phase>(left->phase - 1);
  }
  claimed_[task] = word;
  Mark mark(word, who, deaths.count);
  mark.rest();
  return mark;
}

void CrashMarks::release(const std::string& task) {
  const auto found = claimed_.find(task);
  if (found == claimed_.end()) return;
  store_word(found->second, 0);
  claimed_.erase(found);
}

void CrashMarks::sweep() {
  for (uint64_t* word = words(); word != words() + kWords; ++word) {
    const auto is_it = [&](const auto& claim) { return claim.second == word; };
    if (std::ranges::none_of(claimed_, is_it)) store_word(word, 0);
  }
}

}  // namespace walle::container
