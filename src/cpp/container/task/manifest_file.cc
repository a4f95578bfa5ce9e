// A manifest out of FlatBuffers (schemas/task.fbs). FlatBuffers' verifier vouches for offsets and lengths;
// every number and name is then looked at by verify_manifest(), so that nothing depends on who wrote the
// bytes.
#include <type_traits>

#include "base/utf8.h"
#include "container/host/value_codec.h"
#include "container/task/manifest.h"
#include "schemas/task_generated.h"

namespace walle::container {

namespace {

using namespace walle_rt::fb;

constexpr size_t kLeastFlatBuffer = 8;  // the root's offset and the identifier, which it reads unasked
// A table costs tens of bytes in memory for few in the file.
constexpr flatbuffers::uoffset_t kMaxTables = 1 << 16;
constexpr int kMaxDepth = 8;

Error damaged(Text given) {
  return task_error(given, "what a task compiler wrote (schemas/task.fbs, version 1)",
                    "the manifest of a task", "compile the task again or fetch it again");
}

// Read into values while every text is checked to be UTF-8: names are quoted in messages and shown to people.
class Reader {
 public:
  Manifest manifest(const TaskManifest& in) {
    Manifest out;
#define WALLE_MANIFEST_FIELD(member, stored, key) read(in.stored(), out.member);
#include "container/task/manifest_field.inc"
    for (EgressFeature& f : out.features) f.policy.task = out.name;
    return out;
  }
  bool utf8() const { return utf8_; }

 private:
  template <class T>
  using Offsets = flatbuffers::Vector<flatbuffers::Offset<T>>;

  template <class T>
    requires std::is_arithmetic_v<T>
  void read(T in, T& out) {
    out = in;
  }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void read(uint8_t in, Enum& out) {
    out = static_cast<Enum>(in);
  }
  void read(const flatbuffers::String* in, std::string& out) {
    if (!in) return;
    utf8_ = utf8_ && base::valid_utf8(in->string_view());
    out = in->str();
  }
  template <class In, class Out>
  void read(const Offsets<In>* in, std::vector<Out>& out) {
    if (!in) return;
    for (const In* one : *in) read(one, out.emplace_back());
  }
  void read(const TaskTrigger* in, stream::TriggerText& out) {
    read(in->name(), out.name);
    read(in->text(), out.text);
  }
  void read(const TaskPhase* in, PhaseLimits& out) {
    if (in) out = {.wall_ms = in->wall_ms(), .cpu_ms = in->cpu_ms()};
  }
  void read(const TaskRetry* in, RetrySpec& out) {
    if (!in) return;
    read(in->attempts(), out.attempts);
    read(in->first_delay_us(), out.first_delay_us);
    read(in->max_delay_us(), out.max_delay_us);
    read(in->factor(), out.factor);
    read(in->waiting(), out.waiting);
  }
  void read(const TaskColumn* in, store::ColumnDecl& out) {
    read(in->name(), out.name);
    read(in->type(), out.type);
  }
  void read(const TaskTable* in, store::TableDecl& out) {
    read(in->name(), out.name);
    read(in->columns(), out.columns);
    read(in->max_bytes(), out.max_bytes);
    read(in->max_age_us(), out.max_age_us);
  }
  void read(const TaskFeatureField* in, stream::FeatureField& out) {
    read(in->name(), out.name);
    read(in->type(), out.type);
    read(in->max_size(), out.max_size);
    read(in->highest(), out.highest);
  }
  void read(const TaskFeature* in, EgressFeature& out) {
    read(in->name(), out.policy.feature);
    read(in->fields(), out.policy.fields);
    read(in->bytes_per_day(), out.policy.bytes_per_day);
    read(in->sends_per_day(), out.policy.sends_per_day);
    read(in->minimum_events(), out.policy.minimum_events);
    read(in->consent(), out.policy.consent);
    read(in->expires_ts(), out.policy.expires_ts);
    read(in->graph(), out.graph);
  }
  void read(const TaskEventField* in, stream::FieldDecl& out) {
    read(in->name(), out.name);
    read(in->type(), out.type);
    read(in->sensitivity(), out.sensitivity);
  }
  void read(const TaskEvent* in, stream::EventDecl& out) {
    read(in->name(), out.name);
    read(in->kind(), out.kind);
    read(in->fields(), out.fields);
  }
  void read(const TaskCloud* in, CloudPhaseSpec& out) {
    if (!in) return;
    read(in->question(), out.question);
    read(in->module_(), out.module);
    read(in->function(), out.function);
    read(in->answers(), out.answers);
    read(in->limits(), out.limits);
    read(in->heap_bytes(), out.heap_bytes);
  }
  void read(const flatbuffers::Vector<uint8_t>* in, std::vector<CallType>& out) {
    if (!in) return;
    for (const uint8_t one : *in) read(one, out.emplace_back());
  }
  void read(const TaskCall* in, CallSpec& out) {
    read(in->function(), out.function);
    read(in->arguments(), out.arguments);
    read(in->returns(), out.returns);
    read(in->limits(), out.limits);
    read(in->keep(), out.keep);
    read(in->per_firing(), out.per_firing);
  }

  // A value that does not read is none, which no declaration fits.
  void read(const flatbuffers::Vector<uint8_t>* in, vm::Value& out) {
    if (!in) return;
    out = decode_value({reinterpret_cast<const char*>(in->data()), in->size()}).value_or(vm::Value());
    if (const auto* text = out.get<std::string>()) utf8_ = utf8_ && base::valid_utf8(*text);
  }
  void read(const TaskParam* in, ParamSpec& out) {
    read(in->name(), out.name);
    read(in->type(), out.type);
    read(in->standard(), out.standard);
    read(in->least(), out.least);
    read(in->most(), out.most);
    vm::Value choices;
    read(in->one_of(), choices);
    if (const auto* list = choices.get<vm::List>()) out.one_of = *list;
  }

  void read(const TaskRolling* in, stream::RollingSpec& out) {
    read(in->name(), out.name);
    read(in->event(), out.event);
    read(in->by(), out.by);
    read(in->kind(), out.kind);
    read(in->value(), out.value);
    read(in->over_us(), out.over_us);
    read(in->over_events(), out.over_events);
    read(in->keys(), out.keys);
  }
  void read(const TaskUtcOffset* in, stream::UtcOffset& out) {
    read(in->from_us(), out.from_us);
    read(in->offset_us(), out.offset_us);
  }
  void read(const TaskZone* in, ZoneSpec& out) {
    if (!in) return;
    read(in->name(), out.name);
    std::vector<stream::UtcOffset> changes;
    read(in->changes(), changes);
    out.local = std::make_shared<const stream::LocalTime>(in->first_us(), std::move(changes));
  }

  bool utf8_ = true;
};

}  // namespace

Result<Manifest> read_manifest(std::string_view bytes) {
  const std::string size = std::to_string(bytes.size()) + " bytes";
  if (bytes.size() > kMaxManifestBytes) return damaged({"a manifest of ", size});
  // FlatBuffers wants its bytes aligned, and a resource may lie anywhere.
  const std::vector<uint64_t> aligned = [&] {
    std::vector<uint64_t> out((bytes.size() + 7) / 8);
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(out.data()));
    return out;
  }();
  const auto* data = reinterpret_cast<const uint8_t*>(aligned.data());
  flatbuffers::Verifier verifier(data, bytes.size(), kMaxDepth, kMaxTables);
  if (bytes.size() < kLeastFlatBuffer || !VerifyTaskManifestBuffer(verifier))
    return damaged({"a damaged manifest of ", size});
  const TaskManifest& in = *GetTaskManifest(data);
  if (in.version() != kManifestVersion) return damaged({"a manifest of version ", in.version()});
  Reader reader;
  Manifest out = reader.manifest(in);
  if (!reader.utf8()) return damaged("a manifest with a text that is not UTF-8");
  WALLE_TRY(verify_manifest(out));
  return out;
}

}  // namespace walle::container
