#include "link/agent/agent_memory.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/log.h"

namespace walle::link {

namespace {
constexpr uint16_t kMemoryVersion = 3;
// Of what one entry takes at least: texts' sizes and numbers.
constexpr size_t kLeastTask = 4 + 4 + 3 * (4 + 4 + 4 + 4) + 1 + 4 + 4 + 1 + 1;
constexpr size_t kLeastRefusal = 4 + 4;
constexpr size_t kLeastTakenBack = 4 + 4 + 4 + 4 + 1;
constexpr std::array<std::string_view, kStages> kStageNames{"none",       "fetching",  "trying",
                                                            "activating", "returning", "removing"};

void put(base::ByteWriter& out, const ChosenPackage& package) {
  out.put_text(package.digest);
  out.put_text(package.version);
  out.put_text(package.release);
  out.put_text(package.params);
}

ChosenPackage get_package(base::ByteReader& in) {
  ChosenPackage out;
  out.digest = in.text();
  out.version = in.text();
  out.release = in.text();
  out.params = in.text();
  return out;
}

void put(base::ByteWriter& out, const ManagedTask& task) {
  out.put_text(task.scenario);
  for (const ChosenPackage* package : {&task.active, &task.last_good, &task.coming}) put(out, *package);
  out.put(task.stage);
  out.put(task.tries);
  out.put_text(task.trial);
  out.put(task.cohort);
  out.put(task.reported);
}

ManagedTask get_task(base::ByteReader& in) {
  ManagedTask out;
  out.scenario = in.text();
  for (ChosenPackage* package : {&out.active, &out.last_good, &out.coming}) *package = get_package(in);
  out.stage = in.checked(Stage::none, Stage::removing);
  out.tries = in.get<uint32_t>();
  out.trial = in.text();
  out.cohort = in.checked(Cohort::treated, Cohort::control);
  out.reported = in.checked(Reported::nothing, Reported::fails);
  return out;
}
}  // namespace

std::string_view stage_name(Stage stage) { return kStageNames[static_cast<size_t>(stage)]; }

bool AgentMemory::refused(const std::string& release, const std::string& digest) const {
  return std::ranges::find(refusals, Refusal{release, digest}) != refusals.end();
}

void AgentMemory::refuse(const std::string& task, const ChosenPackage& failed) {
  whole = false;
  take_back({failed.release, tasks[task].scenario, task, failed.version, TakenWhy::refused});
  if (refused(failed.release, failed.digest)) return;
  if (refusals.size() >= kMostRefusals) refusals.erase(refusals.begin());
  refusals.push_back({failed.release, failed.digest});
}

void AgentMemory::take_back(TakenBack what) {
  std::erase_if(taken_back, [&](const TakenBack& before) { return before.task == what.task; });
  if (taken_back.size() >= kMostRefusals) taken_back.erase(taken_back.begin());
  taken_back.push_back(std::move(what));
}

std::string encode_memory(const AgentMemory& memory) {
  base::ByteWriter out;
  out.put(kMemoryVersion);
  out.put(memory.epoch);
  out.put(memory.plan_time_s);
  out.put(memory.carried_out);
  out.put(static_cast<uint8_t>(memory.whole));
  out.put(memory.report_seq);
  out.put(memory.lost_reports);
  out.put_count(memory.tasks.size());
  for (const auto& [name, task] : memory.tasks) {
    out.put_text(name);
    put(out, task);
  }
  out.put_count(memory.refusals.size());
  for (const Refusal& refusal : memory.refusals) {
    out.put_text(refusal.release);
    out.put_text(refusal.digest);
  }
  out.put_count(memory.taken_back.size());
  for (const TakenBack& taken : memory.taken_back) {
    for (const std::string* text : {&taken.release, &taken.scenario, &taken.task, &taken.version})
      out.put_text(*text);
    out.put(taken.why);
  }
  out.put_count(memory.reports.size());
  for (const std::string& report : memory.reports) out.put_text(report);
  return out.take();
}

bool decode_memory(std::string_view bytes, AgentMemory& memory) {
  AgentMemory read;
  base::ByteReader in(bytes);
  in.checked(kMemoryVersion, kMemoryVersion);
  read.epoch = in.get<uint64_t>();
  read.plan_time_s = in.get<int64_t>();
  read.carried_out = in.get<uint32_t>();
  read.whole = in.checked<uint8_t>(0, 1) != 0;
  read.report_seq = in.get<uint64_t>();
  read.lost_reports = in.get<uint64_t>();
  for (uint32_t left = in.count(kLeastTask); left > 0 && in.ok(); --left) {
    std::string name(in.text());
    // Sorted, each once: one content has one form.
    if (!read.tasks.empty() && name <= read.tasks.rbegin()->first) return false;
    read.tasks.emplace_hint(read.tasks.end(), std::move(name), get_task(in));
  }
  for (uint32_t left = in.count(kLeastRefusal); left > 0 && in.ok(); --left) {
    std::string release(in.text());
    read.refusals.push_back({std::move(release), std::string(in.text())});
  }
  for (uint32_t left = in.count(kLeastTakenBack); left > 0 && in.ok(); --left) {
    TakenBack& taken = read.taken_back.emplace_back();
    for (std::string* text : {&taken.release, &taken.scenario, &taken.task, &taken.version})
      *text = in.text();
    taken.why = in.checked(TakenWhy::halted, TakenWhy::refused);
  }
  for (uint32_t left = in.count(sizeof(uint32_t)); left > 0 && in.ok(); --left)
    read.reports.emplace_back(in.text());
  if (!in.done() || read.tasks.size() > kMostManagedTasks || read.refusals.size() > kMostRefusals ||
      read.taken_back.size() > kMostRefusals || read.reports.size() > kMostPendingReports)
    return false;
  memory = std::move(read);
  return true;
}

Result<AgentMemoryFile> AgentMemoryFile::open(Env& env, const std::string& path) {
  WALLE_ASSIGN(store::MirroredFile file, store::MirroredFile::open(env, path, kMemoryKind));
  const store::MirroredFile::Found found = file.found();
  AgentMemoryFile out(std::move(file));
  if (found == store::MirroredFile::Found::nothing) return out;
  out.found_ = Found::whole;
  if (found == store::MirroredFile::Found::damaged || !decode_memory(out.file_.content(), out.memory_)) {
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
