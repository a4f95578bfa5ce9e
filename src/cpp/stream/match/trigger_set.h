// TriggerSet: triggers by name in front of a matcher: what a device's task manager adds, removes, replays and
// explains.
#pragma once

#include <map>

#include "stream/event/event_log.h"
#include "stream/match/matcher.h"

namespace walle::stream {

// One thread, as the matcher. The catalogue must outlive it and may grow meanwhile.
class TriggerSet {
 public:
  explicit TriggerSet(const Catalog& catalog, MatcherOptions options = {})
      : catalog_(catalog), matcher_(catalog, options) {}

  // Replaces a trigger of the same name; the other triggers go on undisturbed.
  Status add(const std::string& name, std::string_view text);
  // The same, and the trigger counts matches from before: every recorded event up to the newest that was
  // matched here (all, where none was) is matched for it alone. What those completed goes to `sink`; the
  // others notice nothing.
  Status add(const std::string& name, std::string_view text, EventLog& past, FiringSink& sink);
  Status remove(const std::string& name);
  // Matches one event that does not come out of a log, and so may be anything: its contents are checked
  // against the declaration and its time against the newest event's. A refused event leaves no trace.
  Status step(const Event& event, FiringSink& sink);
  // Matches every recorded event from `from` on; `sink` gets each firing before the next event is matched.
  Status replay(EventLog& log, uint64_t from, FiringSink& sink);
  // Matches an event that a log has just recorded; its firings go into the matcher's queue.
  Status follow(const Event& recorded);
  const std::string& name_of(uint16_t id) const { return names_[id]; }
  std::vector<std::pair<std::string, std::string>> texts() const;  // name, canonical text
  // Of one trigger, since it was added.
  Result<TriggerStats> stats_of(const std::string& name) const;
  Matcher& matcher() { return matcher_; }

 private:
  Status check_time(int64_t ts) const;
  Result<CompiledTrigger> compile(const std::string& name, std::string_view text) const;
  void enter(const std::string& name, uint16_t id, CompiledTrigger compiled);

  struct Entry {
    uint16_t id;
    CompiledTrigger compiled;
  };
  const Catalog& catalog_;
  Matcher matcher_;
  std::map<std::string, Entry> entries_;
  std::vector<std::string> names_;  // by matcher id
};

// Whether ids mean the same in both: names and types agree as far as both go.
Status check_same_names(const Catalog& set, const Catalog& log);

// The trie that triggers make, as indented text or as a Graphviz
// picture: one line or box per node, shared prefixes once.
std::string explain_text(const std::vector<std::pair<std::string, CompiledTrigger>>& triggers,
                         const Catalog& catalog);
std::string explain_dot(const std::vector<std::pair<std::string, CompiledTrigger>>& triggers,
                        const Catalog& catalog);

}  // namespace walle::stream
