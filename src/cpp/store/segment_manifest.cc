#include "store/segment_manifest.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "store/journal_frame.h"

namespace walle::store {

namespace {
// What one entry takes at least, for counts that are read from a file.
constexpr size_t kSegmentBytes = 6 * 8;
constexpr size_t kLossBytes = 1 + 4 * 8 + 1 + 2 * 4;
// A disk that eats a file at every open must not fill the rest of itself with news of that.
constexpr size_t kMaxLosses = 1024;
constexpr size_t kDigits = 16;

constexpr std::string_view kKindNames[] = {"journal", "damaged_segment", "missing_segment", "quota",
                                           "age",     "manifest"};

bool per_reader(LossKind kind) { return kind == LossKind::quota || kind == LossKind::age; }

// Whether `more` is news of what `l` already tells.
bool same_story(const Loss& l, const Loss& more) {
  if (l.kind != more.kind || l.owner != more.owner) return false;
  // Removal goes on and on: one line a reader. Others meet where they overlap, as after a crash between
  // noticing and mending.
  return per_reader(l.kind) || (more.first <= l.last && l.first <= more.last);
}

Loss get_loss(base::ByteReader& in) {
  Loss l;
  l.kind = in.checked(LossKind::journal, LossKind::manifest);
  for (uint64_t* number : {&l.first, &l.last, &l.count}) *number = in.get<uint64_t>();
  l.noticed_us = in.get<int64_t>();
  l.exact = in.flag();
  l.owner = in.text();
  l.cause = in.text();
  return l;
}

bool read_number(std::string_view digits, uint64_t& to) {
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), to, 16);
  return code == std::errc() && end == digits.data() + digits.size();
}
}  // namespace

std::string_view loss_kind_name(LossKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

void add_loss(std::vector<Loss>& losses, Loss loss) {
  const auto known = std::ranges::find_if(losses, [&](const Loss& l) { return same_story(l, loss); });
  if (known == losses.end() && losses.size() < kMaxLosses) {
    losses.push_back(std::move(loss));
    return;
  }
  Loss& l = known == losses.end() ? losses.back() : *known;
  const bool adds = per_reader(l.kind) || known == losses.end();
  l.count = adds ? l.count + loss.count : std::max(l.count, loss.count);
  l.first = std::min(l.first, loss.first);
  l.last = std::max(l.last, loss.last);
  l.exact = l.exact && loss.exact;
}

std::string loss_text(const Loss& loss, std::string_view what) {
  return Text{loss.count,  " ",         what,
              " between ", loss.first,  " and ",
              loss.last,   " are lost", loss.exact ? "" : " at most",
              ": ",        loss.cause}
      .str();
}

void put_losses(base::ByteWriter& out, const std::vector<Loss>& losses) {
  out.put_count(losses.size());
  for (const Loss& l : losses) {
    out.put(l.kind);
    for (const uint64_t number : {l.first, l.last, l.count}) out.put(number);
    out.put(l.noticed_us);
    out.put(static_cast<uint8_t>(l.exact));
    out.put_text(l.owner);
    out.put_text(l.cause);
  }
}

std::vector<Loss> get_losses(base::ByteReader& in) {
  std::vector<Loss> out;
  for (uint32_t n = in.count(kLossBytes); n > 0 && in.ok(); --n) out.push_back(get_loss(in));
  return out;
}

void put_segments(base::ByteWriter& out, const std::vector<SegmentEntry>& segments) {
  out.put_count(segments.size());
  for (const SegmentEntry& s : segments) {
    for (const uint64_t number : {s.first, s.last, s.rows}) out.put(number);
    for (const int64_t number : {s.min_ts, s.max_ts, s.bytes}) out.put(number);
  }
}

std::vector<SegmentEntry> get_segments(base::ByteReader& in) {
  std::vector<SegmentEntry> out;
  uint64_t previous = 0;
  for (uint32_t n = in.count(kSegmentBytes); n > 0 && in.ok(); --n) {
    SegmentEntry s;
    for (uint64_t* number : {&s.first, &s.last, &s.rows}) *number = in.get<uint64_t>();
    for (int64_t* number : {&s.min_ts, &s.max_ts, &s.bytes}) *number = in.get<int64_t>();
    in.check(s.first > previous && s.first <= s.last && s.last < kMaxSeq && s.rows <= s.last - s.first + 1 &&
             s.bytes >= 0);
    previous = s.last;
    out.push_back(s);
  }
  return out;
}

std::string segment_name(uint64_t first, uint64_t last, std::string_view ending) {
  char out[kSegmentNameBytes + 1];
  std::snprintf(out, sizeof out, "%016llx-%016llx", static_cast<unsigned long long>(first),
                static_cast<unsigned long long>(last));
  return std::string(out) + std::string(ending);
}

std::optional<SegmentName> parse_segment_name(std::string_view name, std::string_view ending) {
  if (name.size() != kSegmentNameBytes + ending.size()) return std::nullopt;
  SegmentName out;
  const bool good = read_number(name.substr(0, kDigits), out.first) &&
                    read_number(name.substr(kDigits + 1, kDigits), out.last) && out.first > 0 &&
                    out.first <= out.last && out.last < kMaxSeq;
  if (!good || segment_name(out.first, out.last, ending) != name) return std::nullopt;
  return out;
}

Status set_aside(Env& env, const std::string& path) {
  WALLE_ASSIGN(const std::string bytes, env.read_file(path));
  WALLE_TRY(env.replace_file(path + std::string(kAside), bytes));
  return env.remove_file(path);
}

}  // namespace walle::store
