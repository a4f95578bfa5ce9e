#include "link/agent/agent_memory.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/log.h"

namespace walle::link {

namespace {
constexpr const char* kKind = "AGNT";
constexpr uint16_t kVersion = 1;
// Of what one entry takes at least: texts' sizes and numbers.
constexpr size_t kLeastTask = 4 + 4 + 3 * (4 + 4 + 8) + 1 + 4 + 1 + 8;
constexpr size_t kLeastRefusal = 8 + 4;
constexpr std::array<std::string_view, kStages> kStageNames{"none",       "fetching",  "trying",
                                                            "activating", "returning", "removing"};

void put(base::ByteWriter& out, const ChosenPackage& package) {
  out.put_text(package.digest);
  out.put_text(package.version);
  out.put(package.release);
}

ChosenPackage get_package(base::ByteReader& in) {
  ChosenPackage out;
  out.digest = in.text();
  out.version = in.text();
  out.release = in.get<uint64_t>();
  return out;
}

void put(base::ByteWriter& out, const ManagedTask& task) {
  out.put_text(task.scenario);
  for (const ChosenPackage* package : {&task.active, &task.last_good, &task.coming}) put(out, *package);
  out.put(task.stage);
  out.put(task.tries);
  out.put<uint8_t>(task.reported);
  out.put(task.failures);
}

ManagedTask get_task(base::ByteReader& in) {
  ManagedTask out;
  out.scenario = in.text();
  for (ChosenPackage* package : {&out.active, &out.last_good, &out.coming}) *package = get_package(in);
  const auto stage = in.get<uint8_t>();
  if (stage >= kStages)
    in.fail();
  else
    out.stage = static_cast<Stage>(stage);
  out.tries = in.get<uint32_t>();
  const auto reported = in.get<uint8_t>();
  if (reported > 1) in.fail();
  out.reported = reported == 1;
  out.failures = in.get<uint64_t>();
  return out;
}
}  // namespace

std::string_view stage_name(Stage stage) { return kStageNames[static_cast<size_t>(stage)]; }

bool AgentMemory::refused(uint64_t release, const std::string& digest) const {
  return std::ranges::find(refusals, Refusal{release, digest}) != refusals.end();
}

void AgentMemory::refuse(uint64_t release, const std::string& digest) {
  if (refused(release, digest)) return;
  if (refusals.size() >= kMostRefusals) refusals.erase(refusals.begin());
  refusals.push_back({release, digest});
}

std::string encode_memory(const AgentMemory& memory) {
  base::ByteWriter out;
  out.put(kVersion);
  out.put(memory.epoch);
  out.put(memory.report_seq);
  out.put(memory.lost_reports);
  out.put_count(memory.tasks.size());
  for (const auto& [name, task] : memory.tasks) {
    out.put_text(name);
    put(out, task);
  }
  out.put_count(memory.refusals.size());
  for (const Refusal& refusal : memory.refusals) {
    out.put(refusal.release);
    out.put_text(refusal.digest);
  }
  out.put_count(memory.reports.size());
  for (const std::string& report : memory.reports) out.put_text(report);
  return out.take();
}

bool decode_memory(std::string_view bytes, AgentMemory& memory) {
  AgentMemory read;
  base::ByteReader in(bytes);
  if (in.get<uint16_t>() != kVersion) return false;
  read.epoch = in.get<uint64_t>();
  read.report_seq = in.get<uint64_t>();
  read.lost_reports = in.get<uint64_t>();
  for (uint32_t left = in.count(kLeastTask); left > 0 && in.ok(); --left) {
    std::string name(in.text());
    // Sorted, each once: one content has one form.
    if (!read.tasks.empty() && name <= read.tasks.rbegin()->first) return false;
    read.tasks.emplace_hint(read.tasks.end(), std::move(name), get_task(in));
  }
  for (uint32_t left = in.count(kLeastRefusal); left > 0 && in.ok(); --left) {
    const auto release = in.get<uint64_t>();
    read.refusals.push_back({release, std::string(in.text())});
  }
  for (uint32_t left = in.count(sizeof(uint32_t)); left > 0 && in.ok(); --left)
    read.reports.emplace_back(in.text());
  if (!in.done() || read.tasks.size() > kMostManagedTasks || read.refusals.size() > kMostRefusals ||
      read.reports.size() > kMostPendingReports)
    return false;
  memory = std::move(read);
  return true;
}

Result<AgentMemoryFile> AgentMemoryFile::open(Env& env, const std::string& path) {
  WALLE_ASSIGN(store::TwinFile file, store::TwinFile::open(env, path, kKind));
  const store::TwinFile::Found found = file.found();
  AgentMemoryFile out(std::move(file));
  if (found == store::TwinFile::Found::nothing) return out;
  out.found_ = Found::whole;
  if (found == store::TwinFile::Found::damaged || !decode_memory(out.file_.content(), out.memory_)) {
    base::log(base::LogLevel::warning,
              "'" + path + "': both copies are damaged; what is installed stays, and is looked up again");
    out.found_ = Found::lost;
    WALLE_TRY(out.file_.set_aside());
    return out;
  }
  // Reading goes on where this fails; the next save tries again and says why it cannot.
  (void)out.file_.mend().ok();
  return out;
}

Status AgentMemoryFile::save(AgentMemory next) {
  if (next == memory_ && found_ == Found::whole && !unsure_) return {};
  unsure_ = true;
  WALLE_TRY(file_.write(encode_memory(next)));
  unsure_ = false;
  memory_ = std::move(next);
  found_ = Found::whole;
  return {};
}

}  // namespace walle::link
