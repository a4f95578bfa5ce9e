// A manifest as FlatBuffers (schemas/task.fbs). FlatBuffers' verifier vouches for offsets and lengths; every
// number and name is then looked at by verify_manifest(), so that nothing depends on who wrote the bytes.
#include "base/utf8.h"
#include "container/task/manifest.h"
#include "schemas/task_generated.h"

namespace walle::container {

namespace {

using namespace walle_rt::fb;

// Other versions are refused, not guessed at: a field that this build does not know might be the one that
// forbids.
constexpr uint32_t kVersion = 1;
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
  std::string text(const flatbuffers::String* s) {
    if (!s) return "";
    utf8_ = utf8_ && base::valid_utf8(s->string_view());
    return s->str();
  }
  std::vector<std::string> texts(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* all) {
    std::vector<std::string> out;
    if (all)
      for (const auto* s : *all) out.push_back(text(s));
    return out;
  }
  // Of every element what `read` makes of it.
  template <class T, class F>
  auto each(const flatbuffers::Vector<flatbuffers::Offset<T>>* all, F read) {
    std::vector<decltype(read(*static_cast<const T*>(nullptr)))> out;
    if (all)
      for (const auto* one : *all) out.push_back(read(*one));
    return out;
  }
  bool utf8() const { return utf8_; }

 private:
  bool utf8_ = true;
};

PhaseLimits read_phase(const TaskPhase* in) {
  return in ? PhaseLimits{.wall_ms = in->wall_ms(), .cpu_ms = in->cpu_ms()} : PhaseLimits{};
}

store::TableDecl read_table(Reader& r, const TaskTable& in) {
  return {.name = r.text(in.name()),
          .columns = r.each(in.columns(),
                            [&](const TaskColumn& c) {
                              return store::ColumnDecl{r.text(c.name()), static_cast<ColumnType>(c.type())};
                            }),
          .max_bytes = in.max_bytes(),
          .max_age_us = in.max_age_us()};
}

EgressFeature read_feature(Reader& r, const std::string& task, const TaskFeature& in) {
  const auto field = [&](const TaskFeatureField& f) {
    return stream::FeatureField{.name = r.text(f.name()),
                                .type = static_cast<ColumnType>(f.type()),
                                .max_size = f.max_size(),
                                .highest = static_cast<stream::Sensitivity>(f.highest())};
  };
  return {.policy = {.task = task,
                     .feature = r.text(in.name()),
                     .fields = r.each(in.fields(), field),
                     .bytes_per_day = in.bytes_per_day(),
                     .sends_per_day = in.sends_per_day(),
                     .minimum_events = in.minimum_events(),
                     .consent = r.text(in.consent()),
                     .expires_ts = in.expires_ts()},
          .graph = r.text(in.graph())};
}

stream::EventDecl read_event(Reader& r, const TaskEvent& in) {
  const auto field = [&](const TaskEventField& f) {
    return stream::FieldDecl{.name = r.text(f.name()),
                             .type = static_cast<ColumnType>(f.type()),
                             .sensitivity = static_cast<stream::Sensitivity>(f.sensitivity())};
  };
  return {.name = r.text(in.name()),
          .kind = static_cast<stream::EventKind>(in.kind()),
          .fields = r.each(in.fields(), field)};
}

CloudPhaseSpec read_cloud(Reader& r, const TaskCloud* in) {
  if (!in) return {};
  return {.question = r.text(in->question()),
          .module = r.text(in->module_()),
          .function = r.text(in->function()),
          .answers = r.text(in->answers()),
          .limits = read_phase(in->limits()),
          .heap_bytes = in->heap_bytes()};
}

Manifest read_values(Reader& r, const TaskManifest& in) {
  Manifest m;
  m.name = r.text(in.name());
  m.version = r.text(in.task_version());
  m.vm = r.text(in.vm());
  m.priority = in.priority();
  m.triggers = r.each(in.triggers(), [&](const TaskTrigger& t) {
    return stream::TriggerText{.name = r.text(t.name()), .text = r.text(t.text())};
  });
  m.queue = in.queue();
  m.when_full = static_cast<stream::WhenFull>(in.when_full());
  m.past = static_cast<stream::Past>(in.past());
  m.module = r.text(in.module_());
  m.main_function = r.text(in.main());
  m.preprocess = r.text(in.preprocess());
  m.execute_function = r.text(in.execute_function());
  m.execute_model = r.text(in.execute_model());
  m.postprocess = r.text(in.postprocess());
  m.preprocess_limits = read_phase(in.preprocess_limits());
  m.execute_limits = read_phase(in.execute_limits());
  m.postprocess_limits = read_phase(in.postprocess_limits());
  m.heap_bytes = in.heap_bytes();
  m.log_bytes = in.log_bytes();
  m.state_bytes = in.state_bytes();
  m.imports = r.texts(in.imports());
  m.host_calls = r.texts(in.host_calls());
  m.tables = r.each(in.tables(), [&](const TaskTable& t) { return read_table(r, t); });
  m.features = r.each(in.features(), [&](const TaskFeature& f) { return read_feature(r, m.name, f); });
  m.requires_facts = r.texts(in.requires_());
  m.breaker = in.breaker();
  m.events = r.each(in.events(), [&](const TaskEvent& e) { return read_event(r, e); });
  m.pages = r.texts(in.pages());
  m.states = r.texts(in.states());
  m.cloud = read_cloud(r, in.cloud());
  return m;
}

std::unique_ptr<TaskPhaseT> phase(const PhaseLimits& limits) {
  auto out = std::make_unique<TaskPhaseT>();
  out->wall_ms = limits.wall_ms;
  out->cpu_ms = limits.cpu_ms;
  return out;
}

std::unique_ptr<TaskTableT> table(const store::TableDecl& decl) {
  auto out = std::make_unique<TaskTableT>();
  out->name = decl.name;
  for (const store::ColumnDecl& c : decl.columns) {
    out->columns.push_back(std::make_unique<TaskColumnT>());
    out->columns.back()->name = c.name;
    out->columns.back()->type = static_cast<uint8_t>(c.type);
  }
  out->max_bytes = decl.max_bytes;
  out->max_age_us = decl.max_age_us;
  return out;
}

std::unique_ptr<TaskFeatureT> feature(const EgressFeature& decl) {
  auto out = std::make_unique<TaskFeatureT>();
  const stream::EgressPolicy& p = decl.policy;
  out->name = p.feature;
  for (const stream::FeatureField& f : p.fields) {
    out->fields.push_back(std::make_unique<TaskFeatureFieldT>());
    TaskFeatureFieldT& field = *out->fields.back();
    field.name = f.name;
    field.type = static_cast<uint8_t>(f.type);
    field.max_size = f.max_size;
    field.highest = static_cast<uint8_t>(f.highest);
  }
  out->bytes_per_day = p.bytes_per_day;
  out->sends_per_day = p.sends_per_day;
  out->minimum_events = p.minimum_events;
  out->consent = p.consent;
  out->expires_ts = p.expires_ts;
  out->graph = decl.graph;
  return out;
}

std::unique_ptr<TaskEventT> event(const stream::EventDecl& decl) {
  auto out = std::make_unique<TaskEventT>();
  out->name = decl.name;
  out->kind = static_cast<uint8_t>(decl.kind);
  for (const stream::FieldDecl& f : decl.fields) {
    out->fields.push_back(std::make_unique<TaskEventFieldT>());
    out->fields.back()->name = f.name;
    out->fields.back()->type = static_cast<uint8_t>(f.type);
    out->fields.back()->sensitivity = static_cast<uint8_t>(f.sensitivity);
  }
  return out;
}

std::unique_ptr<TaskCloudT> cloud(const CloudPhaseSpec& half) {
  if (half.question.empty()) return nullptr;
  auto out = std::make_unique<TaskCloudT>();
  out->question = half.question;
  out->module_ = half.module;
  out->function = half.function;
  out->answers = half.answers;
  out->limits = phase(half.limits);
  out->heap_bytes = half.heap_bytes;
  return out;
}

TaskManifestT values_of(const Manifest& m) {
  TaskManifestT out;
  out.version = kVersion;
  out.name = m.name;
  out.task_version = m.version;
  out.vm = m.vm;
  out.priority = m.priority;
  for (const stream::TriggerText& t : m.triggers) {
    out.triggers.push_back(std::make_unique<TaskTriggerT>());
    out.triggers.back()->name = t.name;
    out.triggers.back()->text = t.text;
  }
  out.queue = m.queue;
  out.when_full = static_cast<uint8_t>(m.when_full);
  out.past = static_cast<uint8_t>(m.past);
  out.module_ = m.module;
  out.main = m.main_function;
  out.preprocess = m.preprocess;
  out.execute_function = m.execute_function;
  out.execute_model = m.execute_model;
  out.postprocess = m.postprocess;
  out.preprocess_limits = phase(m.preprocess_limits);
  out.execute_limits = phase(m.execute_limits);
  out.postprocess_limits = phase(m.postprocess_limits);
  out.heap_bytes = m.heap_bytes;
  out.log_bytes = m.log_bytes;
  out.state_bytes = m.state_bytes;
  out.imports = m.imports;
  out.host_calls = m.host_calls;
  for (const store::TableDecl& t : m.tables) out.tables.push_back(table(t));
  for (const EgressFeature& f : m.features) out.features.push_back(feature(f));
  out.requires_ = m.requires_facts;
  out.breaker = m.breaker;
  for (const stream::EventDecl& e : m.events) out.events.push_back(event(e));
  out.pages = m.pages;
  out.states = m.states;
  out.cloud = cloud(m.cloud);
  return out;
}

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
  if (in.version() != kVersion) return damaged({"a manifest of version ", in.version()});
  Reader reader;
  Manifest out = read_values(reader, in);
  if (!reader.utf8()) return damaged("a manifest with a text that is not UTF-8");
  WALLE_TRY(verify_manifest(out));
  return out;
}

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
