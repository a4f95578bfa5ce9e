#include "stream/event/catalog.h"

#include <algorithm>

#include "schemas/event_generated.h"

namespace walle::stream {

namespace {
constexpr size_t kMaxName = 128;

Status check_name(std::string_view what, std::string_view name) {
  const bool printable = std::all_of(name.begin(), name.end(),
                                     [](char c) { return static_cast<unsigned char>(c) >= 32 && c != '"'; });
  if (!name.empty() && name.size() <= kMaxName && printable) return {};
  return argument_error(std::string(what) + " name '" + std::string(name.substr(0, 40)) + "'",
                        "1 to 128 printable characters without quotes", "catalogue", "choose another name");
}

const char* fb_name(EventKind kind) {
  return walle_rt::fb::EnumNameEventKind(static_cast<walle_rt::fb::EventKind>(kind));
}

Error full(std::string_view what, size_t limit) {
  return resource_error("too many " + std::string(what), "at most " + std::to_string(limit), "catalogue",
                        "use a field for what differs, not one name each");
}
}  // namespace

std::string_view field_type_name(FieldType type) {
  constexpr std::string_view names[] = {"int", "float", "bool", "text"};
  return names[static_cast<size_t>(type)];
}

std::string_view sensitivity_name(Sensitivity value) {
  constexpr std::string_view names[] = {"open", "personal", "secret"};
  return names[static_cast<size_t>(value)];
}

Catalog::Catalog() {
  pages_.push_back("");
  for (const auto kind : {EventKind::page_enter, EventKind::page_scroll, EventKind::exposure,
                          EventKind::click, EventKind::page_exit, EventKind::app_state, EventKind::timer}) {
    const char* name = fb_name(kind);
    event_ids_[name] = static_cast<uint16_t>(events_.size());
    events_.push_back({name, kind, {}});
  }
}

std::optional<uint16_t> Catalog::find(const Ids& ids, std::string_view name) {
  const auto it = ids.find(std::string(name));
  if (it == ids.end()) return std::nullopt;
  return it->second;
}

Result<uint16_t> Catalog::declare(EventDecl event) {
  WALLE_TRY(check_name("event", event.name));
  const auto known = find_event(event.name);
  if (!known && events_.size() >= kMaxEvents) return full("events", kMaxEvents);
  if (event.fields.size() > kMaxFields) return full("fields of '" + event.name + "'", kMaxFields);
  const std::string where = "event '" + event.name + "'";
  if (known) {
    const EventDecl& old = events_[*known];
    const bool extends = old.kind == event.kind && old.fields.size() <= event.fields.size() &&
                         std::equal(old.fields.begin(), old.fields.end(), event.fields.begin(),
                                    [](const FieldDecl& a, const FieldDecl& b) {
                                      return a.name == b.name && a.type == b.type;
                                    });
    if (!extends)
      return argument_error("another declaration of " + where, "the same kind and leading fields", where,
                            "append new fields at the end, or declare an event under a new name");
  }
  for (size_t i = 0; i < event.fields.size(); ++i) {
    FieldDecl& f = event.fields[i];
    WALLE_TRY(check_name("field", f.name));
    for (size_t k = 0; k < i; ++k)
      if (event.fields[k].name == f.name)
        return argument_error("field '" + f.name + "' twice", "distinct names", where, "rename one");
    const auto id = field_ids_.emplace(f.name, static_cast<uint16_t>(fields_.size()));
    if (id.second) fields_.push_back(f.name);
    f.id = id.first->second;
  }
  if (known) {
    events_[*known] = std::move(event);
    return *known;
  }
  event_ids_[event.name] = static_cast<uint16_t>(events_.size());
  events_.push_back(std::move(event));
  return static_cast<uint16_t>(events_.size() - 1);
}

Result<uint16_t> Catalog::page(std::string_view name) {
  if (name.empty()) return kNoPage;
  if (const auto id = find_page(name)) return *id;
  WALLE_TRY(check_name("page", name));
  if (pages_.size() >= kMaxPages) return full("pages", kMaxPages);
  page_ids_[std::string(name)] = static_cast<uint16_t>(pages_.size());
  pages_.emplace_back(name);
  return static_cast<uint16_t>(pages_.size() - 1);
}

Result<uint16_t> Catalog::state(std::string_view name) {
  if (const auto id = find_state(name)) return *id;
  WALLE_TRY(check_name("state", name));
  if (states_.size() >= kMaxStates) return full("states", kMaxStates);
  state_ids_[std::string(name)] = static_cast<uint16_t>(states_.size());
  states_.emplace_back(name);
  return static_cast<uint16_t>(states_.size() - 1);
}

int Catalog::field_position(uint16_t event, uint16_t id) const {
  if (event >= events_.size()) return -1;
  const auto& fields = events_[event].fields;
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].id == id) return static_cast<int>(i);
  return -1;
}

std::string Catalog::serialize() const {
  walle_rt::fb::CatalogT out;
  out.version = 1;
  for (const EventDecl& e : events_) {
    auto event = std::make_unique<walle_rt::fb::EventDeclarationT>();
    event->name = e.name;
    event->kind = static_cast<walle_rt::fb::EventKind>(e.kind);
    for (const FieldDecl& f : e.fields) {
      auto field = std::make_unique<walle_rt::fb::FieldDeclarationT>();
      field->name = f.name;
      field->type = static_cast<walle_rt::fb::FieldType>(f.type);
      field->sensitivity = static_cast<walle_rt::fb::Sensitivity>(f.sensitivity);
      event->fields.push_back(std::move(field));
    }
    out.events.push_back(std::move(event));
  }
  out.pages = pages_;
  out.states = states_;
  flatbuffers::FlatBufferBuilder builder;
  walle_rt::fb::FinishCatalogBuffer(builder, walle_rt::fb::Catalog::Pack(builder, &out));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

Result<Catalog> Catalog::parse(std::string_view bytes) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  const auto damaged = [] {
    return model_error("a damaged event catalogue", "schemas/event.fbs, version 1", "catalogue",
                       "declare the events again in the same order, or restore the file");
  };
  if (bytes.size() < 8 || !walle_rt::fb::VerifyCatalogBuffer(verifier)) return damaged();
  const auto* in = walle_rt::fb::GetCatalog(bytes.data());
  if (in->version() != 1 || !in->events() || in->events()->size() < 7) return damaged();
  Catalog out;
  for (const auto* e : *in->events()) {
    if (static_cast<uint8_t>(e->kind()) > 7) return damaged();
    EventDecl event{e->name()->str(), static_cast<EventKind>(e->kind()), {}};
    if (e->fields())
      for (const auto* f : *e->fields()) {
        if (static_cast<uint8_t>(f->type()) > 3 || static_cast<uint8_t>(f->sensitivity()) > 2)
          return damaged();
        event.fields.push_back({f->name()->str(), static_cast<FieldType>(f->type()),
                                static_cast<Sensitivity>(f->sensitivity()), 0});
      }
    if (auto s = out.declare(std::move(event)); !s.ok()) return s.take_error();
  }
  if (in->pages())
    for (const auto* p : *in->pages())
      if (auto s = out.page(p->string_view()); !s.ok()) return s.take_error();
  if (in->states())
    for (const auto* s : *in->states())
      if (auto id = out.state(s->string_view()); !id.ok()) return id.take_error();
  return out;
}

}  // namespace walle::stream
