#include "stream/event/catalog.h"

#include <algorithm>
#include <array>

#include "base/names.h"
#include "schemas/event_generated.h"

namespace walle::stream {

using base::NameKind;

namespace {
// Of schemas/event.fbs.
constexpr uint32_t kVersion = 1;
constexpr size_t kLeastFlatBuffer = 8;  // the root's offset and the identifier: less has no place for them
// In the order of the schema's enumeration: their ids are their kinds, which PageEvents and recorded logs
// rely on.
constexpr std::array<EventKind, 7> kBuiltIn = {
    EventKind::page_enter, EventKind::page_scroll, EventKind::exposure, EventKind::click,
    EventKind::page_exit,  EventKind::app_state,   EventKind::timer};

Status check_name(NameKind kind, std::string_view name) { return base::check_name(kind, name, "catalogue"); }

// Whether `next` may take the place of `old`: what is recorded stays readable.
bool extends(const EventDecl& old, const EventDecl& next) {
  const auto same = [](const FieldDecl& a, const FieldDecl& b) {
    return a.name == b.name && a.type == b.type;
  };
  // Contents are stored by position, so a field may neither move nor change its type. Its label may rise.
  return old.kind == next.kind && old.fields.size() <= next.fields.size() &&
         std::equal(old.fields.begin(), old.fields.end(), next.fields.begin(), same);
}

Status check_fields(const std::vector<FieldDecl>& fields, const std::string& where) {
  for (size_t i = 0; i < fields.size(); ++i) {
    WALLE_TRY(check_name(NameKind::field, fields[i].name));
    if (!is_field_type(fields[i].type))
      return argument_error({"field '", fields[i].name, "' of type ", column_type_name(fields[i].type)},
                            "int, float, bool or text", where, "record what it holds as a text");
    // Quadratic in at most 64 fields.
    for (size_t k = 0; k < i; ++k)
      if (fields[k].name == fields[i].name)
        return argument_error({"field '", fields[i].name, "' twice"}, "distinct names", where, "rename one");
  }
  return {};
}

const char* fb_name(EventKind kind) {
  return walle_rt::fb::EnumNameEventKind(static_cast<walle_rt::fb::EventKind>(kind));
}

std::vector<FieldDecl>::iterator field_named(EventDecl& event, std::string_view name) {
  return std::ranges::find(event.fields, name, &FieldDecl::name);
}

Error lowers(Text field, Sensitivity from, Sensitivity to, Text where) {
  return argument_error({"field '", field, "' labelled ", sensitivity_name(to)},
                        {"at least ", sensitivity_name(from), ", as it was declared before"}, where,
                        "keep the label, or lower it in the log for new events (EventLog.lower)");
}

// What lowered `next`'s labels before stays known; false with the field whose label would fall.
const FieldDecl* keep_labels(const EventDecl& old, EventDecl& next) {
  for (size_t i = 0; i < old.fields.size(); ++i) {
    const FieldDecl& before = old.fields[i];
    FieldDecl& now = next.fields[i];
    if (now.sensitivity < before.sensitivity) return &before;
    now.personal_before = std::max(now.personal_before, before.personal_before);
    now.secret_before = std::max(now.secret_before, before.secret_before);
  }
  return nullptr;
}

Error full(Text what, size_t limit) {
  return resource_error({"too many ", what}, {"at most ", limit}, "catalogue",
                        "use a field for what differs, not one name each");
}
}  // namespace

std::string_view sensitivity_name(Sensitivity value) {
  switch (value) {
    case Sensitivity::open: return "open";
    case Sensitivity::personal: return "personal";
    case Sensitivity::secret: return "secret";
  }
  return "unknown";
}

Catalog::Catalog() {
  // "No page" is a page, so that an event without one needs no flag and no branch.
  pages_.push_back("");
  for (const EventKind kind : kBuiltIn) {
    const char* name = fb_name(kind);
    event_ids_[name] = static_cast<uint16_t>(events_.size());
    events_.push_back({name, kind, {}});
  }
}

std::optional<uint16_t> Catalog::find(const Ids& ids, std::string_view name) {
  const auto it = ids.find(name);
  if (it == ids.end()) return std::nullopt;
  return it->second;
}

Result<uint16_t> Catalog::declare(EventDecl event) {
  WALLE_TRY(check_name(NameKind::event, event.name));
  const auto known = find_event(event.name);
  if (!known && events_.size() >= kMaxEvents) return full("events", kMaxEvents);
  // Asked before anything is interned: a refused declaration leaves no names behind.
  if (event.fields.size() > kMaxFields) return full({"fields of '", event.name, "'"}, kMaxFields);
  const std::string where = "event '" + event.name + "'";
  if (known && !extends(events_[*known], event))
    return argument_error({"another declaration of ", where}, "the same kind and leading fields", where,
                          "append new fields at the end, or declare an event under a new name");
  WALLE_TRY(check_fields(event.fields, where));
  if (const FieldDecl* falls = known ? keep_labels(events_[*known], event) : nullptr)
    return lowers(falls->name, falls->sensitivity, field_named(event, falls->name)->sensitivity, where);
  for (FieldDecl& f : event.fields) {
    if (fields_.size() >= kMaxFieldNames && !field_ids_.contains(f.name))
      return full("names of fields", kMaxFieldNames);
    const auto [id, fresh] = field_ids_.emplace(f.name, static_cast<uint16_t>(fields_.size()));
    if (fresh) fields_.push_back(f.name);
    f.id = id->second;
  }
  if (known) {
    events_[*known] = std::move(event);
    return *known;
  }
  event_ids_[event.name] = static_cast<uint16_t>(events_.size());
  events_.push_back(std::move(event));
  return static_cast<uint16_t>(events_.size() - 1);
}

Status Catalog::adopt(const EventDecl& event) {
  const auto known = find_event(event.name);
  if (!known) return declare(event).status();
  EventDecl all = events_[*known];
  const std::string where = "event '" + event.name + "'";
  if (all.kind != event.kind)
    return argument_error({where, " of another kind"}, fb_name(all.kind), where,
                          "declare the kind that the log has, or an event under a new name");
  for (const FieldDecl& f : event.fields) {
    const auto at = field_named(all, f.name);
    if (at == all.fields.end()) {
      all.fields.push_back(f);
      continue;
    }
    if (at->type != f.type)
      return argument_error(
          {"another declaration of ", where, ": field '", f.name, "' of type ", column_type_name(f.type)},
          column_type_name(at->type), where, "declare a field under a new name");
    at->sensitivity = std::max(at->sensitivity, f.sensitivity);
  }
  return declare(std::move(all)).status();
}

Result<EventDecl*> Catalog::known_event(std::string_view name) {
  if (const auto id = find_event(name)) return &events_[*id];
  return argument_error({"event ", base::shown_name(name)}, "a declared event", "catalogue",
                        "declare it first, or correct its name");
}

Status Catalog::extend(std::string_view event, FieldDecl field) {
  WALLE_ASSIGN(const EventDecl* known, known_event(event));
  EventDecl next = *known;
  const auto at = field_named(next, field.name);
  if (at == next.fields.end())
    next.fields.push_back(std::move(field));
  else
    *at = std::move(field);  // declare() refuses another type and a lower label
  return declare(std::move(next)).status();
}

Status Catalog::lower(std::string_view event, std::string_view field, Sensitivity to, uint64_t from_seq) {
  WALLE_ASSIGN(EventDecl * known, known_event(event));
  const auto at = field_named(*known, field);
  const std::string where = "event '" + known->name + "'";
  if (at == known->fields.end())
    return argument_error({"field ", base::shown_name(field)}, "a declared field", where, "correct its name");
  if (to > at->sensitivity)
    return argument_error({"label ", sensitivity_name(to), " for field '", at->name, "'"},
                          {"at most ", sensitivity_name(at->sensitivity)}, where,
                          "declare the field with the higher label");
  // Never back: an earlier lowering may have named a higher number.
  if (at->sensitivity == Sensitivity::secret && to < Sensitivity::secret)
    at->secret_before = std::max(at->secret_before, from_seq);
  if (at->sensitivity >= Sensitivity::personal && to < Sensitivity::personal)
    at->personal_before = std::max(at->personal_before, from_seq);
  at->sensitivity = to;
  return {};
}

Result<uint16_t> Catalog::page(std::string_view name) {
  if (name.empty()) return kNoPage;
  if (const auto id = find_page(name)) return *id;
  WALLE_TRY(check_name(NameKind::page, name));
  if (pages_.size() >= kMaxPages) return full("pages", kMaxPages);
  page_ids_[std::string(name)] = static_cast<uint16_t>(pages_.size());
  pages_.emplace_back(name);
  return static_cast<uint16_t>(pages_.size() - 1);
}

Result<uint16_t> Catalog::state(std::string_view name) {
  if (const auto id = find_state(name)) return *id;
  WALLE_TRY(check_name(NameKind::state, name));
  if (states_.size() >= kMaxStates) return full("states", kMaxStates);
  state_ids_[std::string(name)] = static_cast<uint16_t>(states_.size());
  states_.emplace_back(name);
  return static_cast<uint16_t>(states_.size() - 1);
}

const FieldDecl* Catalog::field(uint16_t event, uint16_t id) const {
  if (event >= events_.size()) return nullptr;
  for (const FieldDecl& f : events_[event].fields)
    if (f.id == id) return &f;
  return nullptr;
}

int Catalog::field_position(uint16_t event, uint16_t id) const {
  const FieldDecl* f = field(event, id);
  return f ? static_cast<int>(f - events_[event].fields.data()) : -1;
}

std::string Catalog::serialize() const {
  walle_rt::fb::CatalogT out;
  out.version = kVersion;
  for (const EventDecl& e : events_) {
    auto event = std::make_unique<walle_rt::fb::EventDeclarationT>();
    event->name = e.name;
    event->kind = static_cast<walle_rt::fb::EventKind>(e.kind);
    for (const FieldDecl& f : e.fields) {
      auto field = std::make_unique<walle_rt::fb::FieldDeclarationT>();
      field->name = f.name;
      field->type = static_cast<uint8_t>(f.type);
      field->sensitivity = static_cast<walle_rt::fb::Sensitivity>(f.sensitivity);
      field->personal_before = f.personal_before;
      field->secret_before = f.secret_before;
      event->fields.push_back(std::move(field));
    }
    out.events.push_back(std::move(event));
  }
  // With the empty page in front: reading interns it again as id 0.
  out.pages = pages_;
  out.states = states_;
  flatbuffers::FlatBufferBuilder builder;
  walle_rt::fb::FinishCatalogBuffer(builder, walle_rt::fb::Catalog::Pack(builder, &out));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

namespace {
std::optional<EventDecl> event_of(const walle_rt::fb::EventDeclaration& in) {
  if (in.kind() > walle_rt::fb::EventKind::custom) return std::nullopt;
  EventDecl out{in.name()->str(), static_cast<EventKind>(in.kind()), {}};
  if (!in.fields()) return out;
  for (const auto* f : *in.fields()) {
    const auto type = static_cast<ColumnType>(f->type());
    if (!is_field_type(type) || f->sensitivity() > walle_rt::fb::Sensitivity::secret) return std::nullopt;
    out.fields.push_back({.name = f->name()->str(),
                          .type = type,
                          .sensitivity = static_cast<Sensitivity>(f->sensitivity()),
                          .personal_before = f->personal_before(),
                          .secret_before = f->secret_before()});
  }
  return out;
}
}  // namespace

Result<Catalog> Catalog::parse(std::string_view bytes) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  const auto damaged = [] {
    return model_error("a damaged event catalogue", "schemas/event.fbs, version 1", "catalogue",
                       "declare the events again in the same order, or restore the file");
  };
  if (bytes.size() < kLeastFlatBuffer || !walle_rt::fb::VerifyCatalogBuffer(verifier)) return damaged();
  const auto* in = walle_rt::fb::GetCatalog(bytes.data());
  // A catalogue always starts with the built-in events; fewer cannot have been written by serialize().
  if (in->version() != kVersion || !in->events() || in->events()->size() < kBuiltIn.size()) return damaged();
  Catalog out;
  for (const auto* e : *in->events()) {
    std::optional<EventDecl> event = event_of(*e);
    if (!event) return damaged();
    // Through declare(), so that a file can make nothing that a caller could not: limits, names and doubles
    // are checked once, there.
    WALLE_TRY(out.declare(std::move(*event)));
  }
  if (in->pages())
    for (const auto* p : *in->pages()) WALLE_TRY(out.page(p->string_view()));
  if (in->states())
    for (const auto* s : *in->states()) WALLE_TRY(out.state(s->string_view()));
  return out;
}

}  // namespace walle::stream
