#include "container/device/firing_event.h"

#include <functional>

namespace walle::container {

FiringEvent::FiringEvent() {
  items_.reserve(34);
  scope_.reserve(2 * (stream::kMaxKeyFields + 2));
}

void FiringEvent::add(std::string_view key, wvm_value value) {
  items_.push_back(borrowed_text(key));
  items_.push_back(value);
}

void FiringEvent::put_firing(const stream::TaskFiring& firing) {
  add("trigger", borrowed_text(firing.trigger_name));
  add("number", integer_value(firing.number));
  add("key", integer_value(firing.key));
  add("seq", integer_value(firing.seq));
  add("start_seq", integer_value(firing.start_seq));
  add("ts", integer_value(static_cast<uint64_t>(firing.ts)));
  add("start_ts", integer_value(static_cast<uint64_t>(firing.start_ts)));
  add("session", integer_value(firing.session));
  add("page_instance", integer_value(firing.page_instance));
  add("coalesced", integer_value(firing.coalesced));
  add("attempt", integer_value(firing.attempt));
}

// `found` becomes the event of this number, if the log still has it.
Status FiringEvent::read(uint64_t seq, stream::Processor& processor, EventValue& found) {
  found.clear();
  if (seq == 0) return {};
  const auto visit = [&](const stream::Event& event) {
    // The catalogue grows under the log's lock, which is held here.
    if (event.seq == seq) found.fill(event, processor.catalog());
    return false;
  };
  return processor.log().read(seq, std::ref(visit));
}

// A match begins with an event that has all fields of its key. The log alone keeps their values, so that what
// was erased is nowhere else: then they are None.
void FiringEvent::put_scope(const stream::TaskFiring& firing, const stream::Catalog& catalog,
                            const EventValue& first) {
  const auto put = [this](std::string_view key, wvm_value value) {
    scope_.push_back(borrowed_text(key));
    scope_.push_back(value);
  };
  if (firing.scope.session) put("session", integer_value(firing.session));
  if (firing.scope.page) put("page_instance", integer_value(firing.page_instance));
  const auto names = [&](const auto& visit) {
    for (size_t i = 0; i < firing.scope.count; ++i) {
      const size_t id = firing.scope.fields[i];
      if (id < catalog.field_names().size()) visit(catalog.field_names()[id]);
    }
  };
  size_t bytes = 0;
  names([&](const std::string& name) { bytes += name.size(); });
  names_.clear();
  names_.reserve(bytes);
  names([&](const std::string& name) {
    const size_t at = names_.size();
    names_ += name;
    put(std::string_view(names_).substr(at), first.field(name));
  });
}

Status FiringEvent::fill(const stream::TaskFiring& firing, stream::Processor& processor) {
  items_.clear();
  scope_.clear();
  put_firing(firing);
  // Of a timer nothing ended: what happened last is the event before.
  const bool timer = firing.last.nth == stream::EventPlace::kNowhere;
  WALLE_TRY(read(timer ? firing.seq : firing.last_seq, processor, last_));
  const bool one = firing.start_seq == firing.last_seq && !timer;
  if (!one) WALLE_TRY(read(firing.start_seq, processor, first_));
  EventValue& first = one ? last_ : first_;
  // The catalogue is looked at while nobody changes it: an event that is no longer there has names, too.
  const auto scope = [&](const stream::Catalog& catalog) {
    put_scope(firing, catalog, first);
    return Status();
  };
  if (firing.scope != stream::ScopeParts())
    WALLE_TRY(processor.log().read({.from = firing.seq, .to = 0, .session = {}, .page_instance = {}},
                                   std::ref(scope), [](const stream::Event&) { return false; }));
  add("scope", map_value(scope_));
  add("first", first.value());
  add("last", last_.value());
  add("event", last_.name());
  add("page", last_.page());
  add("fields", last_.fields());
  value_ = map_value(items_);
  return {};
}

}  // namespace walle::container
