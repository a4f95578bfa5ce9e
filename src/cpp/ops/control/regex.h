// Regular expressions for whole strings, matched in time linear in the text by running all alternatives at
// once (Thompson, "Regular Expression Search Algorithm", CACM 1968; assertions after Pike's VM). Patterns
// come from models: a backtracking engine, std::regex among them, could be kept busy for ever or out of its
// stack.
//
// Known: literals, ., classes with ranges and \d \w \s, groups (captured or not, named or not: nothing is
// captured), |, * + ? {m,n} and their lazy forms, ^ $ \b \B \A \z, the escapes of RE2. Matching is by code
// points of UTF-8; \w and \b know ASCII, as RE2's do. Of the flags i (case is of no matter, by Unicode's
// tables) and s are known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace walle::ops {

// Immutable after compile(): any thread may match.
class Regex {
 public:
  static Result<Regex> compile(const std::string& pattern);

  // Whether the pattern matches the whole text.
  bool matches(const std::string& text) const;
  // The non-empty matches from left to right, the longest at each place, none overlapping.
  std::vector<std::string> all(const std::string& text) const;

  struct Range {
    char32_t first = 0;
    char32_t last = 0;
  };
  enum class Kind : uint8_t { chars, split, jump, begin, end, boundary, no_boundary, accept };
  struct Step {
    Kind kind = Kind::accept;
    int to = 0;     // jump and split
    int other = 0;  // split
    bool negated = false;
    std::vector<Range> ranges{};  // chars
  };

 private:
  std::vector<Step> steps_;
};

}  // namespace walle::ops
