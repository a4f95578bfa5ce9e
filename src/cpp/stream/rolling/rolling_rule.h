// RollingRule: a RollingSpec against a catalogue: which events count, under which key and with which number.
//
// Immutable. Ids and positions hold for good, as the catalogue only grows.
#pragma once

#include <span>

#include "stream/rolling/rolling_spec.h"

namespace walle::stream {

class RollingRule {
 public:
  // An error names what the catalogue does not declare, or otherwise.
  static Result<RollingRule> make(RollingSpec spec, const Catalog& catalog);

  // Whether `e` counts; then `key` becomes its key and `bits` its number: an int's or a double's.
  bool take(const Event& e, const Catalog& catalog, std::string& key, uint64_t& bits) const;
  // Of what somebody asks for: a part for each field, an int for a float if need be.
  Result<std::string> key_of(std::span<const Value> parts) const;

  const RollingSpec& spec() const { return spec_; }
  uint16_t event() const { return event_; }
  bool by_time() const { return spec_.over_us > 0; }
  bool whole() const { return whole_; }  // numbers are ints

 private:
  struct KeyField {
    std::string name;
    int position = -1;
    ColumnType type = ColumnType::integer;
  };
  Result<KeyField> field(const Catalog& catalog, const std::string& name, bool number) const;

  RollingSpec spec_;
  uint16_t event_ = 0;
  uint16_t page_ = kAny;
  Predicate predicate_;
  std::vector<KeyField> key_;
  int value_ = -1;
  bool whole_ = false;
};

}  // namespace walle::stream
