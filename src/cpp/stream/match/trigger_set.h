// Triggers by name in front of a matcher: what a device's task manager adds, removes, replays and explains.
#pragma once

#include <map>

#include "stream/match/matcher.h"

namespace walle::stream {

class TriggerSet {
 public:
  explicit TriggerSet(const Catalog& catalog, MatcherOptions options = {})
      : catalog_(catalog), matcher_(catalog, options) {}

  // Replaces a trigger of the same name; the other triggers go on undisturbed.
  Status add(const std::string& name, std::string_view text);
  Status remove(const std::string& name);
  const std::string& name_of(uint16_t id) const { return names_[id]; }
  std::vector<std::pair<std::string, std::string>> texts() const;  // name, canonical text
  Matcher& matcher() { return matcher_; }

 private:
  struct Entry {
    uint16_t id;
    CompiledTrigger compiled;
  };
  const Catalog& catalog_;
  Matcher matcher_;
  std::map<std::string, Entry> entries_;
  std::vector<std::string> names_;  // by matcher id
};

// The trie that triggers make, as indented text or as a Graphviz
// picture: one line or box per node, shared prefixes once.
std::string explain_text(const std::vector<std::pair<std::string, CompiledTrigger>>& triggers,
                         const Catalog& catalog);
std::string explain_dot(const std::vector<std::pair<std::string, CompiledTrigger>>& triggers,
                        const Catalog& catalog);

}  // namespace walle::stream
