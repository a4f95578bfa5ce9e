#include "stream/event/log_manifest.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "base/bytes.h"
#include "store/journal_frame.h"

namespace walle::stream {

namespace {
constexpr uint8_t kVersion = 1;
// What one entry takes at least, for counts that are read from a file.
constexpr size_t kSegmentBytes = 6 * 8;
constexpr size_t kLossBytes = 1 + 4 * 8 + 1 + 2 * 4;
// A disk that eats a file at every open must not fill the rest of itself with news of that.
constexpr size_t kMaxLosses = 1024;
// Numbers of fixed width: names then sort as their numbers do, and a listing of the directory is in order.
constexpr size_t kDigits = 16;
constexpr std::string_view kEnding = ".wseg";

constexpr std::string_view kKindNames[] = {"journal", "damaged_segment", "missing_segment", "quota",
                                           "age",     "manifest"};

bool per_reader(LossKind kind) { return kind == LossKind::quota || kind == LossKind::age; }

void put_segment(base::ByteWriter& out, const LogSegment& s) {
  out.put(s.first_seq);
  out.put(s.last_seq);
  out.put(s.min_ts);
  out.put(s.max_ts);
  out.put(s.bytes);
  out.put(s.rows);
}

LogSegment get_segment(base::ByteReader& r) {
  LogSegment s;
  s.first_seq = r.get<uint64_t>();
  s.last_seq = r.get<uint64_t>();
  s.min_ts = r.get<int64_t>();
  s.max_ts = r.get<int64_t>();
  s.bytes = r.get<int64_t>();
  s.rows = r.get<uint64_t>();
  s.file = segment_name(s.first_seq, s.last_seq);
  if (s.first_seq == 0 || s.last_seq < s.first_seq || s.last_seq >= store::kMaxSeq) r.fail();
  return s;
}

void put_loss(base::ByteWriter& out, const Loss& l) {
  out.put(l.kind);
  out.put(l.first);
  out.put(l.last);
  out.put(l.events);
  out.put(l.noticed_us);
  out.put(static_cast<uint8_t>(l.exact));
  out.put_text(l.reader);
  out.put_text(l.cause);
}

Loss get_loss(base::ByteReader& r) {
  Loss l;
  const auto kind = r.get<uint8_t>();
  if (kind >= std::size(kKindNames)) r.fail();
  l.kind = static_cast<LossKind>(kind);
  l.first = r.get<uint64_t>();
  l.last = r.get<uint64_t>();
  l.events = r.get<uint64_t>();
  l.noticed_us = r.get<int64_t>();
  l.exact = r.get<uint8_t>() != 0;
  l.reader = r.text();
  l.cause = r.text();
  return l;
}

// Whether `more` is news of what `l` already tells.
bool same_story(const Loss& l, const Loss& more) {
  if (l.kind != more.kind || l.reader != more.reader) return false;
  // Removal goes on and on: one line a reader. Others meet where they overlap, as after a crash between
  // noticing and mending.
  return per_reader(l.kind) || (more.first <= l.last && l.first <= more.last);
}
}  // namespace

std::string_view loss_kind_name(LossKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

std::string segment_name(uint64_t first, uint64_t last) {
  char out[2 * kDigits + 2];
  std::snprintf(out, sizeof out, "%016llx-%016llx", static_cast<unsigned long long>(first),
                static_cast<unsigned long long>(last));
  return std::string(out) + std::string(kEnding);
}

std::optional<SegmentName> parse_segment_name(std::string_view name) {
  if (name.size() != 2 * kDigits + 1 + kEnding.size() || !name.ends_with(kEnding) || name[kDigits] != '-')
    return std::nullopt;
  SegmentName out{};
  const auto number = [](std::string_view digits, uint64_t& to) {
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), to, 16);
    return code == std::errc() && end == digits.data() + digits.size();
  };
  const bool good = number(name.substr(0, kDigits), out.first) &&
                    number(name.substr(kDigits + 1, kDigits), out.last) && out.first > 0 &&
                    out.first <= out.last && out.last < store::kMaxSeq;
  return good ? std::optional(out) : std::nullopt;
}

void LogManifest::add(Loss loss) {
  const auto known = std::ranges::find_if(losses, [&](const Loss& l) { return same_story(l, loss); });
  if (known == losses.end() && losses.size() < kMaxLosses) {
    losses.push_back(std::move(loss));
    return;
  }
  Loss& l = known == losses.end() ? losses.back() : *known;
  l.events =
      per_reader(l.kind) || known == losses.end() ? l.events + loss.events : std::max(l.events, loss.events);
  l.first = std::min(l.first, loss.first);
  l.last = std::max(l.last, loss.last);
  l.exact = l.exact && loss.exact;
}

std::string LogManifest::serialize() const {
  base::ByteWriter out;
  out.put(kVersion);
  out.put(static_cast<uint8_t>(closed));
  for (const uint64_t number : {reserved, newest, compacted, removed, erased}) out.put(number);
  out.put_count(segments.size());
  for (const LogSegment& s : segments) put_segment(out, s);
  out.put_count(losses.size());
  for (const Loss& l : losses) put_loss(out, l);
  out.put_count(erasing.size());
  uint64_t previous = 0;
  for (const uint64_t seq : erasing) {
    out.put_varint(seq - previous);
    previous = seq;
  }
  return out.take();
}

std::optional<LogManifest> LogManifest::parse(std::string_view bytes) {
  base::ByteReader r(bytes);
  LogManifest s;
  if (r.get<uint8_t>() != kVersion) r.fail();
  s.closed = r.get<uint8_t>() != 0;
  for (uint64_t* number : {&s.reserved, &s.newest, &s.compacted, &s.removed, &s.erased})
    *number = r.get<uint64_t>();
  if (s.reserved >= store::kMaxSeq || s.newest >= store::kMaxSeq || s.compacted >= store::kMaxSeq) r.fail();
  for (uint32_t n = r.count(kSegmentBytes); n > 0; --n) s.segments.push_back(get_segment(r));
  for (uint32_t n = r.count(kLossBytes); n > 0; --n) s.losses.push_back(get_loss(r));
  uint64_t previous = 0;
  for (uint32_t n = r.count(1); n > 0; --n) s.erasing.push_back(previous += r.varint());
  if (!r.done()) return std::nullopt;
  return s;
}

}  // namespace walle::stream
