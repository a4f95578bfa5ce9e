// Catalog: what a device may record: events with typed fields, pages, and the named states guards test. Names
// are interned once; everything behind the catalogue works on small numbers.
//
// Only grows: ids given out stay valid, fields of an event are only appended, and labels only rise. Lowering
// one is an act of its own (lower()) and counts for events that are recorded behind it. Not synchronised;
// built before use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "tensor/cell.h"

namespace walle::stream {

// Integer, float, boolean or text.
constexpr bool is_field_type(ColumnType type) { return type <= ColumnType::text; }
enum class Sensitivity : uint8_t { open, personal, secret };
enum class EventKind : uint8_t {
  page_enter,
  page_scroll,
  exposure,
  click,
  page_exit,
  app_state,
  timer,
  custom
};

std::string_view sensitivity_name(Sensitivity value);

inline constexpr uint16_t kAny = 0xffff;  // the wildcard; never an id
inline constexpr uint16_t kNoPage = 0;
// Ids are 16 bits in every record and edge. The limits stay far below, because tables by event or page are
// dense, and a device that needs more has put data into names.
inline constexpr size_t kMaxEvents = 4096;
inline constexpr size_t kMaxPages = 32768;
inline constexpr size_t kMaxStates = 64;        // the bits of a word
inline constexpr size_t kMaxFields = 64;        // of one event
inline constexpr size_t kMaxFieldNames = kAny;  // over all events: their ids are 16 bits
inline constexpr size_t kMaxTextBytes = 16384;  // one text field
inline constexpr size_t kMaxOpenPages = 16;     // nested page instances: the sequencer's and the matcher's

struct FieldDecl {
  std::string name;
  ColumnType type = ColumnType::integer;
  Sensitivity sensitivity = Sensitivity::personal;
  uint16_t id = 0;  // interned name, the same in every event; filled by the catalogue
  // Where the label was lowered: events with smaller numbers are at least personal, or secret, whatever it is
  // now. 0: nowhere.
  uint64_t personal_before = 0, secret_before = 0;

  // Of the field in event `seq`.
  Sensitivity label_at(uint64_t seq) const {
    const Sensitivity then = seq < secret_before     ? Sensitivity::secret
                             : seq < personal_before ? Sensitivity::personal
                                                     : Sensitivity::open;
    return std::max(sensitivity, then);
  }
};

struct EventDecl {
  std::string name;
  EventKind kind = EventKind::custom;
  std::vector<FieldDecl> fields;
};

class Catalog {
 public:
  // Holds the seven built-in events under the names of their kinds, without fields, and page "" as id 0.
  Catalog();

  // A new event, or further fields for a known one (same kind, same leading fields, labels not below theirs).
  Result<uint16_t> declare(EventDecl event);
  // What another version of a program declares: fields are found by their names, further ones are appended, a
  // label becomes the higher of both. An older version's fewer fields take none away.
  Status adopt(const EventDecl& event);
  // One more field for a known event, or a higher label for a known field.
  Status extend(std::string_view event, FieldDecl field);
  // A lower label for events from number `from_seq` on; those before keep the one they had.
  Status lower(std::string_view event, std::string_view field, Sensitivity to, uint64_t from_seq);
  Result<uint16_t> page(std::string_view name);  // interned: known or new
  Result<uint16_t> state(std::string_view name);

  std::optional<uint16_t> find_event(std::string_view name) const { return find(event_ids_, name); }
  std::optional<uint16_t> find_page(std::string_view name) const { return find(page_ids_, name); }
  std::optional<uint16_t> find_state(std::string_view name) const { return find(state_ids_, name); }
  std::optional<uint16_t> find_field(std::string_view name) const { return find(field_ids_, name); }

  const std::vector<EventDecl>& events() const { return events_; }
  const std::vector<std::string>& pages() const { return pages_; }
  const std::vector<std::string>& states() const { return states_; }
  // How many page ids `event` may carry: an app-state event's are the states.
  size_t page_count(uint16_t event) const {
    return events_[event].kind == EventKind::app_state ? states_.size() : pages_.size();
  }
  const std::vector<std::string>& field_names() const { return fields_; }
  // The declaration of field `id` in `event`, or nullptr; its position among the contents, or -1.
  const FieldDecl* field(uint16_t event, uint16_t id) const;
  int field_position(uint16_t event, uint16_t id) const;

  std::string serialize() const;  // schemas/event.fbs
  static Result<Catalog> parse(std::string_view bytes);

 private:
  // Asked with views: a name of more than 15 characters would go to the heap for each question.
  struct NameHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Ids = std::unordered_map<std::string, uint16_t, NameHash, std::equal_to<>>;
  static std::optional<uint16_t> find(const Ids& ids, std::string_view name);
  Result<EventDecl*> known_event(std::string_view name);

  std::vector<EventDecl> events_;
  std::vector<std::string> pages_, states_, fields_;
  Ids event_ids_, page_ids_, state_ids_, field_ids_;
};

}  // namespace walle::stream
