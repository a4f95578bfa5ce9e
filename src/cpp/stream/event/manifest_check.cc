#include "stream/event/manifest_check.h"

#include <algorithm>

#include "store/segment.h"

namespace walle::stream {

namespace {

// A segment file as the manifest lists it; nothing when it does not read.
std::optional<store::SegmentEntry> entry_of(const std::string& file, const std::string& bytes) {
  const auto name = parse_segment_name(file);
  auto segment = store::SegmentReader::open(bytes);
  // By its checksums, and of the columns only the numbers: unpacking all would make a start as slow as a log
  // is large.
  if (!name || !segment.ok() || !segment->check().ok()) return std::nullopt;
  const auto found = segment->find("seq");
  const tensor::Column* const seqs = found.ok() ? *found : nullptr;
  const bool in_range =
      seqs && seqs->type() == ColumnType::integer && seqs->size() == segment->rows() &&
      std::ranges::all_of(seqs->integers(), [&](int64_t seq) {
        return std::cmp_greater_equal(seq, name->first) && std::cmp_less_equal(seq, name->last);
      });
  // A copy under another segment's name would put events where they do not belong.
  if (!in_range) return std::nullopt;
  return store::SegmentEntry{.first = name->first,
                             .last = name->last,
                             .rows = segment->rows(),
                             .min_ts = segment->min_ts(),
                             .max_ts = segment->max_ts(),
                             .bytes = static_cast<int64_t>(bytes.size())};
}

Loss loss_of(LossKind kind, const store::SegmentEntry& s, int64_t now_us, std::string cause) {
  return {.kind = kind,
          .first = s.first,
          .last = s.last,
          .count = s.rows,
          .noticed_us = now_us,
          .owner = {},
          .cause = std::move(cause)};
}

class SegmentCount {
 public:
  SegmentCount(Env& env, const std::string& dir, bool manifest_known, LogManifest& manifest)
      : env_(env), dir_(dir), manifest_known_(manifest_known), manifest_(manifest), now_us_(env.wall_us()) {}

  Result<FoundSegments> count() {
    WALLE_ASSIGN(std::vector<std::string> files, env_.list_files(dir_));
    std::erase_if(files, [](const std::string& f) { return !parse_segment_name(f); });
    const std::vector<store::SegmentEntry> listed = std::move(manifest_.segments);
    manifest_.segments.clear();
    for (const store::SegmentEntry& s : listed) {
      if (std::erase(files, file_of(s)) > 0)
        WALLE_TRY(known(s));
      else
        manifest_.add(loss_of(LossKind::missing_segment, s, now_us_, "the file " + file_of(s) + " is gone"));
    }
    for (const std::string& file : files) WALLE_TRY(unknown(file));
    if (!manifest_known_) count_gaps();
    return std::move(found_);
  }

 private:
  Status known(const store::SegmentEntry& listed) {
    const std::string file = file_of(listed);
    WALLE_ASSIGN(const std::string bytes, env_.read_file(dir_ + "/" + file));
    const auto entry = entry_of(file, bytes);
    if (!entry) return damaged(listed);
    // An erasure that a crash ended may have rewritten the file and not the list.
    if (entry->rows < listed.rows && manifest_.erasing.empty()) {
      Loss loss = loss_of(LossKind::damaged_segment, listed, now_us_,
                          "the file " + file + " holds fewer events than were written");
      loss.count = listed.rows - entry->rows;
      manifest_.add(std::move(loss));
    }
    manifest_.segments.push_back(*entry);
    return {};
  }

  Status damaged(const store::SegmentEntry& s) {
    ++found_.damaged;
    found_.aside.push_back(file_of(s));
    manifest_.add(
        loss_of(LossKind::damaged_segment, s, now_us_, "the file " + file_of(s) + " does not read"));
    return {};
  }

  // Written just before a crash and still in the journal, too; or put back by somebody; or of a log whose
  // manifest is gone.
  Status unknown(const std::string& file) {
    const store::SegmentName name = *parse_segment_name(file);
    if (name.last <= manifest_.removed) {
      found_.removed.push_back(file);
      return {};
    }
    WALLE_ASSIGN(const std::string bytes, env_.read_file(dir_ + "/" + file));
    const auto entry = entry_of(file, bytes);
    // What the manifest does not list was never let go by the journal: nothing is lost with it.
    if (!entry && manifest_known_) {
      ++found_.damaged;
      found_.aside.push_back(file);
      return {};
    }
    if (!entry) return damaged({.first = name.first, .last = name.last, .rows = name.last - name.first + 1});
    const auto at = std::ranges::lower_bound(manifest_.segments, name.first, {}, &store::SegmentEntry::first);
    const bool overlaps = (at != manifest_.segments.end() && at->first <= name.last) ||
                          (at != manifest_.segments.begin() && std::prev(at)->last >= name.first);
    if (overlaps)
      found_.aside.push_back(file);
    else
      manifest_.segments.insert(at, *entry);
    return {};
  }

  // Without a manifest nobody knows whether numbers between segments were lost, acknowledged or erased: they
  // are told of as what they may be.
  void count_gaps() {
    Loss loss{.kind = LossKind::manifest,
              .exact = false,
              .noticed_us = now_us_,
              .owner = {},
              .cause = "the record of segments and losses was lost: earlier losses are not known"};
    uint64_t next = 0;
    for (const store::SegmentEntry& s : manifest_.segments) {
      if (next > 0 && s.first > next) {
        if (loss.count == 0) loss.first = next;
        loss.last = s.first - 1;
        loss.count += s.first - next;
      }
      next = s.last + 1;
    }
    manifest_.add(std::move(loss));
  }

  Env& env_;
  const std::string& dir_;
  bool manifest_known_;
  LogManifest& manifest_;
  int64_t now_us_;
  FoundSegments found_;
};
}  // namespace

Result<FoundSegments> check_segments(Env& env, const std::string& dir, bool manifest_known,
                                     LogManifest& manifest) {
  return SegmentCount(env, dir, manifest_known, manifest).count();
}

uint64_t check_journal(const store::JournalRecovery& journal, size_t capacity, bool manifest_known,
                       int64_t now_us, LogManifest& manifest) {
  const uint64_t kept = journal.last_seq + journal.lost;
  const uint64_t in_segments = manifest.segments.empty() ? 0 : manifest.segments.back().last;
  const uint64_t elsewhere = std::max(manifest.compacted, in_segments);
  const auto lose = [&](uint64_t after, uint64_t last, bool exact, std::string cause) {
    if (last <= after) return;
    manifest.add({.kind = LossKind::journal,
                  .first = after + 1,
                  .last = last,
                  .count = last - after,
                  .exact = exact,
                  .noticed_us = now_us,
                  .owner = {},
                  .cause = std::move(cause)});
  };
  if (journal.lost)
    lose(std::max(journal.last_seq, elsewhere), kept, true,
         "damage at byte " + std::to_string(journal.damage_offset) + " of the journal");
  const uint64_t found = std::max(kept, elsewhere);
  // How many numbers were given out beyond is not known to anybody: as many as a journal holds, at most.
  if (!manifest_known) return found + 1 + (journal.had_tail ? 0 : capacity / kLeastFrame);
  // A journal that goes on where the segments end is the one that was left. Frames are synced before they
  // count as compacted, so not even a power loss makes it end before.
  const bool same = journal.had_tail ? kept >= manifest.compacted : kept > manifest.compacted;
  const uint64_t given = manifest.closed ? manifest.newest : same ? kept : manifest.reserved;
  if (given <= found) return found + 1;
  lose(found, given, manifest.closed, "the journal was emptied, removed or replaced by an older one");
  return std::max(manifest.reserved, given) + 1;
}

}  // namespace walle::stream
