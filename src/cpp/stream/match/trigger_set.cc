#include "stream/match/trigger_set.h"

#include <functional>

#include "base/hash.h"

namespace walle::stream {

namespace {
Error unknown(Text name, Text where) {
  return argument_error({"trigger '", name, "'"}, "a trigger of this set", where,
                        "add it first, or correct its name");
}
}  // namespace

Result<CompiledTrigger> TriggerSet::compile(const std::string& name, std::string_view text) const {
  WALLE_ASSIGN(const TriggerSpec spec, parse_trigger(text));
  auto compiled = compile_trigger(spec, catalog_, text);
  if (!compiled.ok()) {
    Error e = compiled.take_error();
    e.within({"trigger '", name, "'"});
    return e;
  }
  // Of several triggers with one text, only the first is named by it alone: each has state of its own.
  for (const auto& [other, entry] : entries_)
    if (other != name && entry.compiled.fingerprint == compiled->fingerprint)
      compiled->fingerprint = base::mix(compiled->fingerprint, base::Hasher().text(name).finish());
  return compiled;
}

void TriggerSet::enter(const std::string& name, uint16_t id, CompiledTrigger compiled) {
  // By id and kept after removal, so that a firing still in the queue can be named.
  if (names_.size() <= id) names_.resize(id + 1u);
  names_[id] = name;
  entries_.insert_or_assign(name, Entry{id, std::move(compiled)});
}

Status TriggerSet::add(const std::string& name, std::string_view text) {
  WALLE_ASSIGN(CompiledTrigger compiled, compile(name, text));
  // Only after the new text has compiled: a faulty update leaves the old trigger working.
  if (entries_.count(name)) WALLE_TRY(remove(name));
  WALLE_ASSIGN(const uint16_t id, matcher_.add(compiled));
  enter(name, id, std::move(compiled));
  return {};
}

namespace {
// What fires while the past is replayed, until the trigger has its number here.
class Kept : public FiringSink {
 public:
  void fired(const Firing& f, const MatchPlace& place) override { all_.emplace_back(f, place); }
  void give(uint16_t trigger, FiringSink& sink) {
    for (auto& [f, place] : all_) {
      f.trigger = trigger;
      sink.fired(f, place);
    }
  }

 private:
  std::vector<std::pair<Firing, MatchPlace>> all_;
};
}  // namespace

Status TriggerSet::add(const std::string& name, std::string_view text, EventLog& log, FiringSink& sink) {
  WALLE_ASSIGN(CompiledTrigger compiled, compile(name, text));
  const std::unique_ptr<Matcher> past = matcher_.for_past();
  WALLE_ASSIGN(const uint16_t there, past->add(compiled));
  const uint64_t newest = matcher_.has_begun() ? matcher_.last_seq() : UINT64_MAX;
  Kept kept;
  WALLE_TRY(log.read(0, [&](const Event& event) {
    if (event.seq > newest) return false;
    past->step(event, kept);
    return true;
  }));
  if (matcher_.has_begun()) past->advance(matcher_.now(), kept);
  WALLE_ASSIGN(const uint16_t here, matcher_.add(compiled));
  const Matcher::PastTrigger pair{.here = here, .past = there};
  if (Status taken = matcher_.take_past(*past, {&pair, 1}); !taken.ok()) {
    matcher_.remove(here, compiled);
    return taken;
  }
  if (entries_.count(name)) WALLE_TRY(remove(name));
  enter(name, here, std::move(compiled));
  kept.give(here, sink);
  return {};
}

Status TriggerSet::remove(const std::string& name) {
  const auto it = entries_.find(name);
  if (it == entries_.end()) return unknown(name, "remove");
  // The matcher keeps no copy of what it was given: the compiled trigger names its path in the trie.
  matcher_.remove(it->second.id, it->second.compiled);
  entries_.erase(it);
  return {};
}

Result<TriggerStats> TriggerSet::stats_of(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) return unknown(name, "stats");
  return matcher_.stats_of(it->second.id);
}

Status TriggerSet::step(const Event& event, FiringSink& sink) {
  WALLE_TRY(check_contents(catalog_, event.event, event.contents));
  WALLE_TRY(check_time(event.ts));
  matcher_.step(event, sink);
  return {};
}

Status TriggerSet::follow(const Event& recorded) {
  WALLE_TRY(check_time(recorded.ts));
  matcher_.step(recorded);
  return {};
}

namespace {
template <class T, class Same>
Status check_prefix(const std::vector<T>& set, const std::vector<T>& log, const char* what, Same&& same) {
  for (size_t i = 0; i < std::min(set.size(), log.size()); ++i)
    if (!same(set[i], log[i]))
      return argument_error({"a log whose ", what, " number ", i, " is another than the trigger set's"},
                            "one catalogue, or a set of the log's", "trigger set",
                            "make the set with the log's catalogue: TriggerSet(log.catalog)");
  return {};
}
}  // namespace

Status check_same_names(const Catalog& set, const Catalog& log) {
  WALLE_TRY(check_prefix(set.pages(), log.pages(), "page", std::equal_to<>()));
  WALLE_TRY(check_prefix(set.states(), log.states(), "state", std::equal_to<>()));
  WALLE_TRY(check_prefix(set.field_names(), log.field_names(), "field", std::equal_to<>()));
  const auto same_event = [](const EventDecl& a, const EventDecl& b) {
    if (a.name != b.name || a.kind != b.kind) return false;
    for (size_t i = 0; i < std::min(a.fields.size(), b.fields.size()); ++i)
      if (a.fields[i].id != b.fields[i].id || a.fields[i].type != b.fields[i].type) return false;
    return true;
  };
  return check_prefix(set.events(), log.events(), "event", same_event);
}

Status TriggerSet::replay(EventLog& log, uint64_t from, FiringSink& sink) {
  Status status;
  WALLE_TRY(log.read(from, [&](const Event& event) {
    status = check_time(event.ts);  // against steps before this replay: within a log times are in order
    if (!status.ok()) return false;
    matcher_.step(event, sink);
    return true;
  }));
  return status;
}

// What the matcher takes for granted, because the event log sees to it.
Status TriggerSet::check_time(int64_t ts) const {
  if (ts >= matcher_.last_ts()) return {};
  return argument_error({"time ", ts, " us"}, {"not before ", matcher_.last_ts(), " us, the newest event's"},
                        "trigger set",
                        "give events in order of time, or replay an EventLog, which repairs times");
}

std::vector<std::pair<std::string, std::string>> TriggerSet::texts() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [name, entry] : entries_) out.emplace_back(name, entry.compiled.text);
  return out;
}

namespace {
struct Drawn {
  std::string label;
  std::vector<std::string> ends;
  // Sorted by label: the text does not depend on the order in which triggers were added.
  std::map<std::string, Drawn> children;
};

std::string atoms_label(const std::vector<CompiledAtom>& atoms, const CompiledTrigger& t, const Catalog& c) {
  std::string out;
  for (const CompiledAtom& a : atoms) {
    if (!out.empty()) out += " | ";
    out +=
        (a.event == kAny ? "*" : c.events()[a.event].name) + (a.page == kAny ? "" : "@" + c.pages()[a.page]);
    if (a.predicate >= 0) out += "[" + a.of(t.predicates).text() + "]";
  }
  return out;
}

std::string scope_label(const TriggerSpec& spec) {
  constexpr const char* scopes[] = {"device", "session", "page", "by"};
  std::string out = std::string("scope ") + scopes[static_cast<int>(spec.scope)];
  for (const std::string& field : spec.by.fields) out += " " + field;
  return out + (spec.by.page ? " page" : "") + (spec.by.session ? " session" : "");
}

std::string edge_label(const CompiledStep& s) {
  constexpr const char* signs[] = {"", "> ", "~ ", "~> "};
  std::string out = s.follow == Follow::first && !s.guard.empty() ? "~ " : signs[static_cast<int>(s.follow)];
  if (s.gap_us < 0 && s.least_us < 0) return out;
  const std::string most = s.gap_us >= 0 ? std::to_string(s.gap_us) : "";
  return out + "(" + (s.least_us >= 0 ? std::to_string(s.least_us) + ".." + most : most) + "us) ";
}

Drawn draw(const std::vector<std::pair<std::string, CompiledTrigger>>& triggers, const Catalog& c) {
  Drawn root;
  for (const auto& [name, t] : triggers) {
    const std::string scope = scope_label(t.spec);
    // A timer has no steps and no place in the trie.
    if (t.spec.timer != TimerKind::none) root.children["timers"].ends.push_back(name + ": " + t.text);
    for (const auto& chain : t.variants) {
      Drawn* at = &root.children[scope];
      for (const CompiledStep& s : chain) {
        std::string label = s.guard.empty() ? "" : "!" + atoms_label(s.guard, t, c) + " ";
        label += edge_label(s);
        label += atoms_label(s.atoms, t, c);
        at = &at->children[label];
      }
      at->ends.push_back(name + ": " + t.text);
    }
  }
  return root;
}
}  // namespace

std::string explain_text(const std::vector<std::pair<std::string, CompiledTrigger>>& triggers,
                         const Catalog& catalog) {
  std::string out;
  const std::function<void(const Drawn&, int)> print = [&](const Drawn& d, int depth) {
    for (const auto& [label, child] : d.children) {
      out += std::string(depth * 2, ' ') + label + "\n";
      for (const std::string& end : child.ends) out += std::string(depth * 2 + 2, ' ') + "=> " + end + "\n";
      print(child, depth + 1);
    }
  };
  print(draw(triggers, catalog), 0);
  return out;
}

std::string explain_dot(const std::vector<std::pair<std::string, CompiledTrigger>>& triggers,
                        const Catalog& catalog) {
  const auto escaped = [](std::string s) {
    // Graphviz ends a label at a quote; += 2 steps over the backslash and what it escapes.
    for (size_t i = 0; (i = s.find_first_of("\"\\", i)) != std::string::npos; i += 2) s.insert(i, "\\");
    return s;
  };
  std::string out = "digraph triggers {\n  rankdir=LR;\n  n0 [label=\"event\"];\n";
  int next = 1;
  const std::function<void(const Drawn&, int)> print = [&](const Drawn& d, int parent) {
    for (const auto& [label, child] : d.children) {
      const int me = next++;
      out += "  n" + std::to_string(me) + " [label=\"" + escaped(label) + "\"];\n  n" +
             std::to_string(parent) + " -> n" + std::to_string(me) + ";\n";
      for (const std::string& end : child.ends) {
        const int box = next++;
        out += "  n" + std::to_string(box) + " [shape=box,label=\"" + escaped(end) + "\"];\n  n" +
               std::to_string(me) + " -> n" + std::to_string(box) + ";\n";
      }
      print(child, me);
    }
  };
  print(draw(triggers, catalog), 0);
  return out + "}\n";
}

}  // namespace walle::stream
