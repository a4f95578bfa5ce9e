// LateNotes: what an event leaves behind for later ones, noted after it was matched: the newest event of the
// step before
// (`~>`), of what must not have come before (`!x ~ a`), and the numbers that later steps compare with. Each
// lies in one of the partition's guards, a word that snapshots and evictions treat as they treat any guard.
//
// Sorted by event, so that an event finds its notes by two binary searches. Not synchronised.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "stream/match/predicate_memo.h"
#include "stream/match/tight.h"
#include "stream/match/token_lists.h"
#include "stream/trigger/trigger_compile.h"

namespace walle::stream {

enum class NoteKind : uint8_t { key, type, bits };  // of the event; of one of its numbers

struct LateNote {
  CompiledAtom atom;
  uint16_t guard = kNone;  // where it is noted
  NoteKind kind = NoteKind::key;
  CapturedField field;  // of a number: nothing from other events than field.event

  // 0: the event lacks the field.
  uint64_t word(const Event& event, const Catalog& catalog, uint64_t key) const {
    if (kind == NoteKind::key) return key;
    const Value* v = event.event == field.event ? event.field(catalog, field.field) : nullptr;
    if (!v) return 0;
    return kind == NoteKind::type ? 1 + static_cast<uint64_t>(v->type) : std::bit_cast<uint64_t>(v->i);
  }
};

// What NoteKind::type and NoteKind::bits have left.
inline Value noted_value(uint64_t type, uint64_t bits) {
  Value v;
  v.present = type != 0;
  v.type = type == 1 + static_cast<uint64_t>(ColumnType::real) ? ColumnType::real : ColumnType::integer;
  v.i = std::bit_cast<int64_t>(bits);
  return v;
}

class LateNotes {
 public:
  bool empty() const { return notes_.empty(); }
  const std::vector<LateNote>& all() const { return notes_; }

  void add(const LateNote& n) {
    const auto at =
        std::upper_bound(notes_.begin(), notes_.end(), n.atom.event,
                         [](uint16_t event, const LateNote& other) { return event < other.atom.event; });
    const auto place = at - notes_.begin();
    tight::make_room(notes_);
    notes_.insert(notes_.begin() + place, n);
  }
  void remove_guard(uint16_t guard) {
    std::erase_if(notes_, [&](const LateNote& n) { return n.guard == guard; });
  }

  // take(note) for each of the event.
  template <class Take>
  void each(uint16_t event, uint16_t page, PredicateMemo& memo, Take&& take) const {
    for (const uint16_t wanted : {event, kAny}) {
      auto at = std::lower_bound(notes_.begin(), notes_.end(), wanted,
                                 [](const LateNote& n, uint16_t e) { return n.atom.event < e; });
      for (; at != notes_.end() && at->atom.event == wanted; ++at) {
        const bool here = at->atom.page == kAny || at->atom.page == page;
        if (here && (at->atom.predicate < 0 || memo.holds(static_cast<uint16_t>(at->atom.predicate))))
          take(*at);
      }
    }
  }
  size_t memory_bytes() const { return tight::bytes(notes_); }

 private:
  std::vector<LateNote> notes_;
};

}  // namespace walle::stream
