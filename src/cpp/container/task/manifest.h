// Manifest: what a task says about itself - when it runs, how, with what, and what may come of it.
//
// The compiled form of a task's task.toml (docs/reference/task-toml.md), stored inside its bundle as the
// resource kManifestName (docs/reference/formats/task-manifest.md). A value: whoever holds one owns all of
// it. One that read_manifest() returned has been verified whole: every name, number and trigger text in it is
// within the bounds below and means something; what depends on the device (its catalogue, its host calls, the
// bundle's modules) is checked when the task is installed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "container/task/param_spec.h"
#include "store/table_decl.h"
#include "stream/egress/egress.h"
#include "stream/event/catalog.h"
#include "stream/match/local_time.h"
#include "stream/processor/task_firing.h"
#include "stream/rolling/rolling_spec.h"

namespace walle::container {

inline constexpr std::string_view kManifestName = ".walle/manifest";
// Others are refused, not guessed at: a field that this build does not know might be the one that forbids.
inline constexpr uint32_t kManifestVersion = 1;

// Far above what tasks need; they bound what a manifest from a server can make a device hold.
inline constexpr size_t kMaxManifestBytes = size_t{1} << 20;
inline constexpr size_t kMaxTaskTriggers = 64;
inline constexpr size_t kMaxTaskTables = 16;
inline constexpr size_t kMaxTaskFeatures = 32;
inline constexpr size_t kMaxTaskRolling = 32;
inline constexpr size_t kMaxTaskFacts = 16;
inline constexpr size_t kMaxTaskNames = 256;  // imports, host calls, events, pages: of each
inline constexpr uint32_t kMaxPhaseMs = 600'000;
inline constexpr uint64_t kMaxTaskBytes = uint64_t{1} << 34;   // of heap, log or a table
inline constexpr uint64_t kMaxStateBytes = uint64_t{1} << 30;  // held in memory while the task is hot
inline constexpr uint32_t kMaxStateKeys = 1 << 20;
inline constexpr size_t kMaxTaskTimers = 16;         // names
inline constexpr uint32_t kMaxTimersWaiting = 4096;  // of one task
inline constexpr uint32_t kMaxRecordPerFiring = 1024;
inline constexpr uint32_t kMaxRecordPerDay = 1'000'000;
inline constexpr uint8_t kHighestPriority = 9;
inline constexpr uint32_t kMaxBreaker = 1000;
inline constexpr uint32_t kMaxAttempts = 16;
inline constexpr uint32_t kMaxRetryFactor = 10;
inline constexpr uint32_t kMaxRetries = 1024;
inline constexpr int64_t kMaxRetryDelayUs = int64_t{3660} * 86'400 * 1'000'000;

struct EgressFeature {
  stream::EgressPolicy policy;  // what the gate is to allow; its `task` is the manifest's name
  std::string graph;            // the resource whose rows are sent; empty: the task's code chooses
};

// The half of a task that the server runs (docs/concepts/cloud-phase.md).
struct CloudPhaseSpec {
  std::string question;  // the feature whose batches it answers; empty: there is none
  std::string module, function;
  std::string answers;  // the table for the rows of an answer; empty: none
  PhaseLimits limits;
  uint64_t heap_bytes = 0;
};

// When a firing that the task's code failed is tried again.
struct RetrySpec {
  uint32_t attempts = 1;  // of one firing, in all
  int64_t first_delay_us = 10'000'000, max_delay_us = int64_t{3600} * 1'000'000;
  uint32_t factor = 2;    // of each delay to the one before
  uint32_t waiting = 64;  // firings that wait to be tried again, at most
  // Behind attempt 1, 2 ...
  int64_t delay_us(uint32_t attempt) const;
};

// By which `daily` and `during` of its triggers go. The offsets travel with the task: a device need not know
// the zone, and every device and replay goes by the same.
struct ZoneSpec {
  std::string name;                                // IANA's; empty: the device's local time
  std::shared_ptr<const stream::LocalTime> local;  // of the name
};

struct Manifest {
  std::string name, version;  // version: MAJOR.MINOR.PATCH, with what semver 2.0.0 lets follow
  std::string vm;             // "3.13"; empty: whichever the bundle was compiled for
  uint8_t priority = 5;       // 0 to kHighestPriority, which runs first

  std::vector<stream::TriggerText> triggers;  // names differ; a firing's index is the position here
  uint32_t queue = 256;
  stream::WhenFull when_full = stream::WhenFull::coalesce;
  stream::Past past = stream::Past::ignored;  // what events from before the installation give

  // Either main_function(event), or preprocess(event) -> execute(inputs) -> postprocess(outputs), of which
  // execute is there: a function, or a resource that the engine runs. Functions live in `module`.
  std::string module = "main";
  std::string main_function;
  std::string preprocess, execute_function, execute_model, postprocess;
  bool postprocess_event = false;  // postprocess(outputs, event)
  bool phased() const { return main_function.empty(); }

  // A task with one main(event) has execute_limits.
  PhaseLimits preprocess_limits, execute_limits, postprocess_limits;
  uint64_t heap_bytes = uint64_t{32} << 20;
  uint64_t log_bytes = uint64_t{64} << 10;    // per call
  uint64_t state_bytes = uint64_t{64} << 10;  // of walle.kv
  uint32_t state_keys = 65'536;               // of the same
  std::vector<std::string> imports;           // top-level modules; no other
  std::vector<std::string> host_calls;        // "walle.kv.get" or "walle.kv"; no other

  std::vector<store::TableDecl> tables;
  std::vector<EgressFeature> features;
  std::vector<std::string> requires_facts;  // execute waits until all of them hold
  uint32_t breaker = 5;                     // failures in a row until the task is set aside
  RetrySpec retry;

  std::vector<stream::EventDecl> events;  // what the device's catalogue must have: adopted when installed
  std::vector<std::string> pages, states;

  // Events among those above that its code may record, and how many.
  std::vector<std::string> record_events;
  uint32_t record_per_firing = 16, record_per_day = 1000;
  // One-off timers that its code may set: triggers of these names fire. How many may wait.
  std::vector<std::string> timer_names;
  uint32_t timers_most = 64;

  CloudPhaseSpec cloud;
  std::vector<CallSpec> calls;  // their functions differ
  std::vector<ParamSpec> params;
  std::vector<CallSpec> app;                 // functions of the application that the code may call
  std::vector<stream::RollingSpec> rolling;  // features kept per key: walle.features
  ZoneSpec zone;
};

// Whether a manifest means something; the error names the part of it, a packed one fits kMaxManifestBytes.
Status verify_manifest(const Manifest& manifest);

// Bytes nobody vouches for: structure first (schemas/task.fbs), then verify_manifest().
Result<Manifest> read_manifest(std::string_view bytes);
// Of a manifest that verify_manifest() accepts; equal ones give equal bytes.
Result<std::string> pack_manifest(const Manifest& manifest);

}  // namespace walle::container
