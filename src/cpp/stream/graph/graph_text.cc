// A graph as lines for people.
#include <charconv>

#include "base/read_number.h"
#include "stream/graph/graph_spec.h"
#include "stream/trigger/duration.h"

namespace walle::stream {

namespace {

bool plain(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (const char c : name)
    if (!letter(c)) return false;
  return !name.empty();
}

// Names come from bytes of anybody: a line break in one must not look like another operator.
std::string quoted(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '"' || c == '\\') out += '\\';
    if (byte >= ' ' && byte != 0x7f) {
      out += c;
      continue;
    }
    out += "\\x";
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out + '"';
}

std::string name(std::string_view given) { return plain(given) ? std::string(given) : quoted(given); }

std::string names(const std::vector<std::string>& given) {
  std::string out;
  for (const std::string& one : given) out += (out.empty() ? "" : ", ") + name(one);
  return out;
}

std::string by(const std::vector<std::string>& keys) { return keys.empty() ? "" : " by " + names(keys); }

// The shortest text that reads back as the same number.
std::string number(double value) {
  char out[32];
  const auto end = std::to_chars(out, out + sizeof out, value);
  return {out, end.ptr};
}

// In the largest unit of which it is a whole number.
std::string duration(int64_t us) {
  for (const DurationUnit& unit : kDurationUnits)
    if (us >= unit.us && us % unit.us == 0) return std::to_string(us / unit.us) + std::string(unit.name);
  return std::to_string(us) + "us";
}

std::string aggregate(const AggregateSpec& a) {
  const AggregateFacts& facts = facts_of(a.kind);
  std::string out(facts.name);
  std::string inside = a.column.empty() ? "" : name(a.column);
  const auto more = [&](const std::string& text) { inside += (inside.empty() ? "" : ", ") + text; };
  if (facts.parameters != AggregateParameters::none) more(std::to_string(a.k));
  if (facts.parameters == AggregateParameters::bins) more(number(a.low) + ".." + number(a.high));
  if (!inside.empty()) out += "(" + inside + ")";
  return out + " as " + name(a.out);
}

std::string lines(const std::vector<GraphStep>& steps, const std::string& indent);

struct Line {
  const std::string& indent;

  std::string operator()(const FilterStep& s) const { return "filter " + quoted(s.predicate); }
  std::string operator()(const MapStep& s) const {
    std::string out = "map " + name(s.out) + " = " + name(s.left);
    if (s.op == '=') return out;
    double constant = 0;
    const char* end = s.right.data() + s.right.size();
    const auto read = read_number(s.right.data(), end, constant);
    const bool is_number = read.ec == std::errc() && read.ptr == end;
    return out + " " + s.op + " " + (is_number ? s.right : name(s.right));
  }
  std::string operator()(const SelectStep& s) const { return "select " + names(s.columns); }
  std::string operator()(const DedupeStep& s) const {
    return "dedupe" + by(s.keys) + (s.within_us ? " within " + duration(s.within_us) : "") + ", at most " +
           std::to_string(s.max_keys) + " keys";
  }
  std::string operator()(const WindowSpec& s) const {
    static constexpr std::string_view kKinds[] = {"tumbling", "sliding", "session", "page", "reduce"};
    std::string out(kKinds[static_cast<size_t>(s.kind)]);
    if (s.kind != WindowKind::whole) out += " " + duration(s.size_us);
    if (s.kind == WindowKind::sliding) out += " every " + duration(s.slide_us);
    out += by(s.keys);
    if (s.disorder_us) out += ", disorder " + duration(s.disorder_us);
    if (s.lateness_us) out += ", lateness " + duration(s.lateness_us);
    std::string aggregates;
    for (const AggregateSpec& a : s.aggregates)
      aggregates += (aggregates.empty() ? ": " : ", ") + aggregate(a);
    return out + aggregates;
  }
  std::string operator()(const StateSpec& s) const {
    static constexpr std::string_view kKinds[] = {"previous", "first", "since"};
    std::string what = s.kind == StateKind::running ? aggregate(s.aggregate)
                                                    : std::string(kKinds[static_cast<size_t>(s.kind)]);
    if (s.kind != StateKind::running && !s.column.empty()) what += "(" + name(s.column) + ")";
    return "state " + name(s.out) + " = " + what + by(s.keys) + ", at most " + std::to_string(s.max_keys) +
           " keys";
  }
  std::string operator()(const EncodeStep& s) const {
    return "encode " + name(s.out) + " = model " + quoted(s.model) + " of " + names(s.columns);
  }
  std::string operator()(const NoiseStep& s) const {
    static constexpr std::string_view kKinds[] = {"laplace", "gaussian", "response"};
    const NoiseSpec& n = s.noise;
    std::string out = "noise " + name(n.column) + ": " + std::string(kKinds[static_cast<size_t>(n.kind)]);
    out += " " + number(n.low) + ".." + number(n.high) + ", epsilon " + number(n.epsilon);
    if (n.kind == NoiseKind::gaussian) out += ", delta " + number(n.delta);
    if (n.kind != NoiseKind::response) out += ", resolution " + number(n.resolution);
    return out + ", from account " + quoted(s.account) + " of " + number(s.limit);
  }
  std::string operator()(const IpvSpec& s) const {
    std::string out = "ipv " + name(s.out) + " of " + name(s.depth) + ", " + name(s.item);
    out += ", idle " + duration(s.idle_us);
    return out + (s.disorder_us ? ", disorder " + duration(s.disorder_us) : "");
  }
  std::string operator()(const JoinStep& s) const {
    std::string out = "as_of_join" + by(s.keys);
    if (s.within_us) out += " within " + duration(s.within_us);
    out += s.second_input ? ", right side from the second input" : ", right side";
    return out + (s.right.empty() ? "" : ":\n" + lines(s.right, indent + "  "));
  }
};

std::string lines(const std::vector<GraphStep>& steps, const std::string& indent) {
  std::string out;
  for (const GraphStep& step : steps)
    out += (out.empty() ? "" : "\n") + indent + std::visit(Line{indent}, step.what);
  return out;
}

}  // namespace

std::string graph_text(const GraphSpec& spec) {
  const size_t n = spec.steps.size();
  std::string out = "graph of " + std::to_string(n) + (n == 1 ? " operator" : " operators");
  return out + (n ? "\n" + lines(spec.steps, "  ") : "");
}

}  // namespace walle::stream
