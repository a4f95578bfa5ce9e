// A manifest into FlatBuffers (schemas/task.fbs): what compiles tasks does, and no device.
#include <type_traits>

#include "container/host/value_codec.h"
#include "container/task/manifest.h"
#include "schemas/task_generated.h"

namespace walle::container {

namespace {

using namespace walle_rt::fb;

// Texts, numbers, lists of texts.
template <class T>
void write(const T& in, T& out) {
  out = in;
}
template <class Enum>
  requires std::is_enum_v<Enum>
void write(Enum in, uint8_t& out) {
  out = static_cast<uint8_t>(in);
}
void write(const PhaseLimits& in, TaskPhaseT& out) {
  out.wall_ms = in.wall_ms;
  out.cpu_ms = in.cpu_ms;
}
void write(const stream::TriggerText& in, TaskTriggerT& out) {
  out.name = in.name;
  out.text = in.text;
}
void write(const store::ColumnDecl& in, TaskColumnT& out) {
  out.name = in.name;
  write(in.type, out.type);
}
void write(const stream::FeatureField& in, TaskFeatureFieldT& out) {
  out.name = in.name;
  write(in.type, out.type);
  out.max_size = in.max_size;
  write(in.highest, out.highest);
}
void write(const stream::FieldDecl& in, TaskEventFieldT& out) {
  out.name = in.name;
  write(in.type, out.type);
  write(in.sensitivity, out.sensitivity);
}
template <class In, class Out>
void write(const std::vector<In>& in, std::vector<std::unique_ptr<Out>>& out);
template <class In, class Out>
void write(const In& in, std::unique_ptr<Out>& out);

void write(const store::TableDecl& in, TaskTableT& out) {
  out.name = in.name;
  write(in.columns, out.columns);
  out.max_bytes = in.max_bytes;
  out.max_age_us = in.max_age_us;
}
void write(const EgressFeature& in, TaskFeatureT& out) {
  const stream::EgressPolicy& p = in.policy;
  out.name = p.feature;
  write(p.fields, out.fields);
  out.bytes_per_day = p.bytes_per_day;
  out.sends_per_day = p.sends_per_day;
  out.minimum_events = p.minimum_events;
  out.consent = p.consent;
  out.expires_ts = p.expires_ts;
  out.graph = in.graph;
}
void write(const stream::EventDecl& in, TaskEventT& out) {
  out.name = in.name;
  write(in.kind, out.kind);
  write(in.fields, out.fields);
}
void write(const CloudPhaseSpec& in, TaskCloudT& out) {
  out.question = in.question;
  out.module_ = in.module;
  out.function = in.function;
  out.answers = in.answers;
  write(in.limits, out.limits);
  out.heap_bytes = in.heap_bytes;
}
void write(const CallSpec& in, TaskCallT& out) {
  out.function = in.function;
  for (const CallType type : in.arguments) write(type, out.arguments.emplace_back());
  write(in.returns, out.returns);
  write(in.limits, out.limits);
  out.keep = in.keep;
  out.per_firing = in.per_firing;
}
void write(const vm::Value& in, std::vector<uint8_t>& out) {
  const std::string bytes = encode_value(in).value_or("");
  out.assign(bytes.begin(), bytes.end());
}
void write(const ParamSpec& in, TaskParamT& out) {
  out.name = in.name;
  write(in.type, out.type);
  write(in.standard, out.standard);
  write(in.least, out.least);
  write(in.most, out.most);
  write(vm::Value(in.one_of), out.one_of);
}
void write(const stream::RollingSpec& in, TaskRollingT& out) {
  out.name = in.name;
  out.event = in.event;
  out.by = in.by;
  write(in.kind, out.kind);
  out.value = in.value;
  out.over_us = in.over_us;
  out.over_events = in.over_events;
  out.keys = in.keys;
}
// A task that tries nothing again stores none.
void write(const RetrySpec& in, std::unique_ptr<TaskRetryT>& out) {
  if (in.attempts == 1) return;
  out = std::make_unique<TaskRetryT>();
  out->attempts = in.attempts;
  out->first_delay_us = in.first_delay_us;
  out->max_delay_us = in.max_delay_us;
  out->factor = in.factor;
  out->waiting = in.waiting;
}
void write(const stream::UtcOffset& in, TaskUtcOffsetT& out) {
  out.from_us = in.from_us;
  out.offset_us = in.offset_us;
}
// A task that goes by the device's stores none.
void write(const ZoneSpec& in, std::unique_ptr<TaskZoneT>& out) {
  if (!in.local) return;
  out = std::make_unique<TaskZoneT>();
  out->name = in.name;
  out->first_us = in.local->first();
  write(in.local->changes(), out->changes);
}
// A task without a half for the server stores none.
void write(const CloudPhaseSpec& in, std::unique_ptr<TaskCloudT>& out) {
  if (in.question.empty()) return;
  out = std::make_unique<TaskCloudT>();
  write(in, *out);
}
template <class In, class Out>
void write(const std::vector<In>& in, std::vector<std::unique_ptr<Out>>& out) {
  for (const In& one : in) write(one, *out.emplace_back(std::make_unique<Out>()));
}
template <class In, class Out>
void write(const In& in, std::unique_ptr<Out>& out) {
  out = std::make_unique<Out>();
  write(in, *out);
}

TaskManifestT values_of(const Manifest& m) {
  TaskManifestT out;
  out.version = kManifestVersion;
#define WALLE_MANIFEST_FIELD(member, stored, key) write(m.member, out.stored);
#include "container/task/manifest_field.inc"
  return out;
}

}  // namespace

Result<std::string> pack_manifest(const Manifest& manifest) {
  WALLE_TRY(verify_manifest(manifest));
  const TaskManifestT values = values_of(manifest);
  flatbuffers::FlatBufferBuilder builder;
  FinishTaskManifestBuffer(builder, TaskManifest::Pack(builder, &values));
  std::string out(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  if (out.size() > kMaxManifestBytes)
    return task_error({"a manifest of ", out.size(), " bytes"}, "at most 1 MiB",
                      {"the manifest of task '", manifest.name, "'"},
                      "declare less, or keep texts in resources");
  return out;
}

}  // namespace walle::container
