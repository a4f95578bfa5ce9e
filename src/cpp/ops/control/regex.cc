#include "ops/control/regex.h"

#include <algorithm>
#include <optional>

#include "ops/rules/unicode.h"

namespace walle::ops {

namespace {
using Kind = Regex::Kind;
using Range = Regex::Range;
using Step = Regex::Step;

// RE2's own limit for counted repeats; together with kMaxSteps it bounds what a pattern may unfold to.
constexpr int kMaxRepeat = 1000;
constexpr size_t kMaxSteps = 1 << 14;
constexpr int kMaxDepth = 200;        // of groups: the parser calls itself
constexpr char32_t kLast = 0x10FFFF;  // of Unicode
constexpr size_t kShown = 80;         // bytes of a pattern in a message

struct CharClass {
  std::vector<Range> ranges;
  bool negated = false;
};

std::vector<Range> inverted(std::vector<Range> ranges) {
  std::ranges::sort(ranges, {}, &Range::first);
  std::vector<Range> out;
  char32_t next = 0;
  for (const Range& r : ranges) {
    if (r.first > next) out.push_back({next, r.first - 1});
    // Ranges may overlap: never back.
    next = std::max(next, static_cast<char32_t>(r.last + 1));
  }
  if (next <= kLast) out.push_back({next, kLast});
  return out;
}

std::optional<std::vector<Range>> named_class(char32_t letter) {
  const std::vector<Range> digits{{'0', '9'}};
  const std::vector<Range> word{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  // Without the vertical tab (\v), as RE2 has it.
  const std::vector<Range> space{{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
  switch (letter) {
    case 'd': return digits;
    case 'D': return inverted(digits);
    case 'w': return word;
    case 'W': return inverted(word);
    case 's': return space;
    case 'S': return inverted(space);
    default: return std::nullopt;
  }
}

bool is_word(char32_t c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// Recursive descent: alternatives of sequences of repeated atoms, written as steps with relative targets made
// absolute once a fragment stands in its place.
class Parser {
 public:
  explicit Parser(const std::string& pattern) : text_(decoded(pattern)), pattern_(pattern) {}

  Result<std::vector<Step>> parse() {
    WALLE_ASSIGN(Fragment f, alternatives(0));
    if (at_ < text_.size()) return wrong("')' without '('");
    f.push_back({.kind = Kind::accept});
    for (size_t i = 0; i < f.size(); ++i) {
      f[i].to += static_cast<int>(i);
      f[i].other += static_cast<int>(i);
    }
    return f;
  }

 private:
  struct Flags {
    bool fold_case = false;  // i
    bool dot_all = false;    // s
  };
  using Fragment = std::vector<Step>;  // targets relative to the step; its end is one past the last

  Error wrong(Text given) const {
    return model_error({"pattern '", pattern_.substr(0, kShown), "': ", given},
                       "a regular expression of RE2's syntax with no flags but i and s", "RegexFullMatch",
                       "change the pattern");
  }
  bool more() const { return at_ < text_.size(); }
  bool take(char32_t c) {
    if (!more() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Result<Fragment> alternatives(int depth) {
    if (depth > kMaxDepth) return wrong("groups nested more than 200 deep");
    WALLE_ASSIGN(Fragment f, sequence(depth));
    while (take('|')) {
      WALLE_ASSIGN(const Fragment other, sequence(depth));
      // split f.. jump-over other..
      Fragment both{{.kind = Kind::split, .to = 1, .other = static_cast<int>(f.size()) + 2}};
      append(both, f);
      both.push_back({.kind = Kind::jump, .to = static_cast<int>(other.size()) + 1});
      append(both, other);
      f = std::move(both);
      WALLE_TRY(fits(f));
    }
    return f;
  }

  Result<Fragment> sequence(int depth) {
    Fragment f;
    while (more() && text_[at_] != '|' && text_[at_] != ')') {
      WALLE_ASSIGN(Fragment next, atom(depth));
      WALLE_ASSIGN(next, repeated(std::move(next)));
      append(f, next);
      WALLE_TRY(fits(f));
    }
    return f;
  }

  Status fits(const Fragment& f) const {
    if (f.size() > kMaxSteps) return wrong("more than 16,384 steps");
    return {};
  }

  static void append(Fragment& f, const Fragment& more) { f.insert(f.end(), more.begin(), more.end()); }

  Result<Fragment> atom(int depth) {
    const char32_t c = text_[at_++];
    switch (c) {
      case '(': return group(depth);
      case '[': return bracketed();
      // Any letter but the end of a line: RE2's default without the flag s.
      case '.': return Fragment{flags_.dot_all ? chars({{0, kLast}}) : chars({{'\n', '\n'}}, true)};
      case '^': return Fragment{{.kind = Kind::begin}};
      case '$': return Fragment{{.kind = Kind::end}};
      case '\\': return escaped();
      case '*':
      case '+':
      case '?': return wrong("a repeat of nothing");
      default: return Fragment{folded({{c, c}})};
    }
  }

  static Step chars(std::vector<Range> ranges, bool negated = false) {
    return {.kind = Kind::chars, .negated = negated, .ranges = std::move(ranges)};
  }

  // Where case is of no matter the letters' other forms as well: twice, for those with more than one, such as
  // k, K and the sign of Kelvin.
  Step folded(std::vector<Range> ranges, bool negated = false) const {
    if (!flags_.fold_case) return chars(std::move(ranges), negated);
    for (int round = 0; round < 2; ++round) {
      std::vector<Range> others;
      const auto holds = [](const std::vector<Range>& in, char32_t letter) {
        return std::ranges::any_of(in, [&](const Range& r) { return letter >= r.first && letter <= r.last; });
      };
      for_each_case([&](char32_t letter, char32_t other) {
        if (holds(ranges, letter) && !holds(ranges, other)) others.push_back({other, other});
      });
      ranges.insert(ranges.end(), others.begin(), others.end());
    }
    return chars(std::move(ranges), negated);
  }

  // (?i), (?s), (?-i) and the like, up to the ')' or ':' behind them; false where they are others.
  bool take_flags() {
    if (more() && text_[at_] == ')') return false;  // (?) says nothing
    for (bool on = true; more() && text_[at_] != ':' && text_[at_] != ')'; ++at_) {
      if (text_[at_] == 'i')
        flags_.fold_case = on;
      else if (text_[at_] == 's')
        flags_.dot_all = on;
      else if (text_[at_] == '-' && on)
        on = false;
      else
        return false;
    }
    return more();
  }

  // Flags hold to the end of the group that they stand in, or for the group that they open.
  Result<Fragment> group(int depth) {
    const Flags outside = flags_;
    if (take('?')) {
      // (?P<name>...) is Python's spelling and RE2's, (?<name>...) Perl's; names are not needed, only
      // skipped.
      if (take('P') || (more() && text_[at_] == '<')) {
        const size_t end = text_.find(U'>', at_);
        if (!take('<') || end == std::u32string::npos) return wrong("a group without a name");
        at_ = end + 1;
      } else if (!take_flags()) {
        return wrong("other flags or a look-around");
      } else if (take(')')) {
        return Fragment{};
      } else {
        take(':');
      }
    }
    WALLE_ASSIGN(Fragment f, alternatives(depth + 1));
    if (!take(')')) return wrong("'(' without ')'");
    flags_ = outside;
    return f;
  }

  Result<Fragment> escaped() {
    if (!more()) return wrong("a backslash at the end");
    const char32_t c = text_[at_];
    if (auto ranges = named_class(c)) {
      ++at_;
      return Fragment{chars(std::move(*ranges))};
    }
    const auto assertion = [&](Kind kind) {
      ++at_;
      return Fragment{{.kind = kind}};
    };
    if (c == 'b') return assertion(Kind::boundary);
    if (c == 'B') return assertion(Kind::no_boundary);
    if (c == 'A') return assertion(Kind::begin);
    if (c == 'z') return assertion(Kind::end);
    WALLE_ASSIGN(const char32_t one, escaped_char());
    return Fragment{folded({{one, one}})};
  }

  // Behind a backslash: a control character, \xHH, \x{...}, or punctuation that means itself.
  Result<char32_t> escaped_char() {
    const char32_t c = text_[at_++];
    switch (c) {
      case 'n': return char32_t{'\n'};
      case 't': return char32_t{'\t'};
      case 'r': return char32_t{'\r'};
      case 'f': return char32_t{'\f'};
      case 'v': return char32_t{'\v'};
      case 'a': return char32_t{'\a'};
      case 'x': return hexadecimal();
      default: break;
    }
    // Letters and digits behind a backslash may get a meaning one day; RE2 refuses them, too.
    if (c < 128 && is_word(c)) return wrong({"the escape \\", std::string(1, static_cast<char>(c))});
    return c;
  }

  Result<char32_t> hexadecimal() {
    const bool braced = take('{');
    char32_t value = 0;
    int digits = 0;
    while (more() && (braced || digits < 2)) {
      const char32_t c = text_[at_];
      const int digit = c >= '0' && c <= '9'   ? static_cast<int>(c - '0')
                        : c >= 'a' && c <= 'f' ? static_cast<int>(c - 'a' + 10)
                        : c >= 'A' && c <= 'F' ? static_cast<int>(c - 'A' + 10)
                                               : -1;
      if (digit < 0) break;
      value = value * 16 + static_cast<char32_t>(digit);
      // Asked per digit: the value cannot overflow.
      if (value > kLast) return wrong("a code point beyond 10FFFF");
      ++digits;
      ++at_;
    }
    if (digits == 0 || (!braced && digits != 2) || (braced && !take('}')))
      return wrong("\\x without hexadecimal digits");
    return value;
  }

  Result<Fragment> bracketed() {
    const bool negated = take('^');
    std::vector<Range> ranges;
    // A ']' in first place is a character of the class.
    for (bool first = true; !(more() && text_[at_] == ']' && !first); first = false) {
      if (!more()) return wrong("'[' without ']'");
      // Refused rather than read as letters, which would silently match something else.
      if (text_[at_] == '[' && at_ + 1 < text_.size() && text_[at_ + 1] == ':')
        return wrong("a class like [:alpha:]");
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        if (auto named = named_class(text_[at_ + 1])) {
          at_ += 2;
          ranges.insert(ranges.end(), named->begin(), named->end());
          continue;
        }
      }
      WALLE_ASSIGN(const char32_t from, class_char());
      char32_t to = from;
      // A hyphen before the closing bracket is a character.
      if (at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']') {
        ++at_;
        WALLE_ASSIGN(to, class_char());
      }
      if (to < from) return wrong("a range that runs backwards");
      ranges.push_back({from, to});
    }
    ++at_;
    return Fragment{folded(std::move(ranges), negated)};
  }

  Result<char32_t> class_char() {
    const char32_t c = text_[at_++];
    if (c != '\\') return c;
    if (!more()) return wrong("a backslash at the end");
    return escaped_char();
  }

  // The repeats behind an atom. Lazy ones match the same whole strings as greedy ones.
  Result<Fragment> repeated(Fragment f) {
    int least = 0;
    int most = -1;  // no end
    if (take('*')) {
    } else if (take('+')) {
      least = 1;
    } else if (take('?')) {
      most = 1;
    } else if (!counted(least, most)) {
      return f;
    }
    if (least > kMaxRepeat || most > kMaxRepeat || (most >= 0 && most < least))
      return wrong("a repeat beyond 1000 or backwards");
    take('?');
    if (more() && (text_[at_] == '*' || text_[at_] == '+' || text_[at_] == '?'))
      return wrong("a repeat of a repeat");
    const size_t copies = std::max({least, most, 1});
    // Before unfolding: (((a{1000}){1000}){1000}) would be 10^9 steps.
    if (f.size() * copies > kMaxSteps) return wrong("more than 16,384 steps");
    // Targets are relative, so copies of a fragment need no relocation.
    const int size = static_cast<int>(f.size());
    Fragment out;
    for (int i = 0; i < least; ++i) append(out, f);
    if (most < 0) {
      // x*: try x and come back, or go on behind it.
      out.push_back({.kind = Kind::split, .to = 1, .other = size + 2});
      append(out, f);
      out.push_back({.kind = Kind::jump, .to = -size - 1});
    }
    for (int i = least; i < most; ++i) {
      out.push_back({.kind = Kind::split, .to = 1, .other = size + 1});
      append(out, f);
    }
    return out;
  }

  // {m}, {m,} or {m,n}; a brace that is none of them is a character, as in RE2.
  bool counted(int& least, int& most) {
    const size_t start = at_;
    if (!take('{')) return false;
    const auto number = [&](int& n) {
      const size_t from = at_;
      for (n = 0; more() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
        // Stops one past the limit: digits without end must not overflow.
        n = std::min(kMaxRepeat + 1, n * 10 + static_cast<int>(text_[at_] - '0'));
      return at_ > from;
    };
    // {,n} is no count in RE2.
    bool good = number(least);
    most = least;
    if (good && take(',') && !number(most)) most = -1;
    if (good && take('}')) return true;
    at_ = start;
    return false;
  }

  std::u32string text_;
  const std::string& pattern_;
  size_t at_ = 0;
  Flags flags_;
};

// The states reachable before one character of the text.
class States {
 public:
  States(const std::vector<Step>& steps, const std::u32string& text)
      : steps_(steps), text_(text), marked_(steps.size(), 0) {}

  // From `start`, along everything that takes no character.
  void follow(size_t start, size_t at, std::vector<size_t>& out) {
    todo_.assign(1, start);
    while (!todo_.empty()) {
      const size_t s = todo_.back();
      todo_.pop_back();
      // Each step once per place: this is what makes the time linear, and it ends loops over nothing such as
      // (a*)*.
      if (marked_[s] == at + 1) continue;
      marked_[s] = at + 1;
      const Step& step = steps_[s];
      switch (step.kind) {
        case Kind::split: todo_.push_back(step.other); [[fallthrough]];
        case Kind::jump: todo_.push_back(step.to); break;
        case Kind::begin: go_on(s, at == 0); break;
        case Kind::end: go_on(s, at == text_.size()); break;
        case Kind::boundary: go_on(s, boundary(at)); break;
        case Kind::no_boundary: go_on(s, !boundary(at)); break;
        case Kind::chars:
        case Kind::accept: out.push_back(s); break;
      }
    }
  }

 private:
  void go_on(size_t s, bool holds) {
    if (holds) todo_.push_back(s + 1);
  }
  bool boundary(size_t at) const {
    const bool before = at > 0 && is_word(text_[at - 1]);
    const bool after = at < text_.size() && is_word(text_[at]);
    return before != after;
  }

  const std::vector<Step>& steps_;
  const std::u32string& text_;
  std::vector<size_t> marked_;  // by the place in the text, plus one
  std::vector<size_t> todo_;
};

bool takes(const Step& step, char32_t c) {
  const bool inside =
      std::ranges::any_of(step.ranges, [c](const Range& r) { return r.first <= c && c <= r.last; });
  return inside != step.negated;
}
}  // namespace

Result<Regex> Regex::compile(const std::string& pattern) {
  Regex made;
  WALLE_ASSIGN(made.steps_, Parser(pattern).parse());
  return made;
}

namespace {
// Where the longest match that starts at letter `from` ends; npos where none does.
size_t match_end(const std::vector<Step>& steps, const std::u32string& text, size_t from) {
  States states(steps, text);
  // Sets of states: at most one entry per step, so a letter costs the number of steps at most.
  std::vector<size_t> now;
  std::vector<size_t> next;
  size_t end = std::u32string::npos;
  states.follow(0, from, now);
  for (size_t i = from; !now.empty(); ++i) {
    // The longest match: an earlier accept is kept until a later one comes or no state is left.
    if (std::ranges::any_of(now, [&](size_t s) { return steps[s].kind == Kind::accept; })) end = i;
    if (i == text.size()) break;
    next.clear();
    for (size_t s : now)
      if (steps[s].kind == Kind::chars && takes(steps[s], text[i])) states.follow(s + 1, i + 1, next);
    std::swap(now, next);
  }
  return end;
}
}  // namespace

bool Regex::matches(const std::string& text) const {
  const std::u32string letters = decoded(text);
  return match_end(steps_, letters, 0) == letters.size();
}

std::vector<std::string> Regex::all(const std::string& text) const {
  std::vector<size_t> starts;
  const std::u32string letters = decoded(text, &starts);
  std::vector<std::string> out;
  for (size_t at = 0; at < letters.size();) {
    const size_t end = match_end(steps_, letters, at);
    // Empty matches are no tokens; the search goes on a letter further.
    if (end != std::u32string::npos && end > at) {
      out.push_back(text.substr(starts[at], starts[end] - starts[at]));
      at = end;
    } else {
      ++at;
    }
  }
  return out;
}

}  // namespace walle::ops
