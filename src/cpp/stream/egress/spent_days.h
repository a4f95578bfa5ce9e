// SpentDays: what a feature has sent on each of its last days, as an entry of the gate's state holds it
// (docs/reference/formats/egress.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stream/egress/ledger_entry.h"

namespace walle::stream {

struct Spent {
  int64_t bytes = 0, sends = 0;
};

// Days since 1970, UTC and not local time: a traveller's clock must not give a second budget.
int64_t day_of(int64_t ts);

class SpentDays {
 public:
  static std::string key(const std::string& task, const std::string& feature);
  // Of an entry's bytes; nullopt: nothing sent.
  explicit SpentDays(const std::optional<std::string>& bytes);

  // On `day` and, as far as the clock has been ahead, later.
  Spent since(int64_t day) const;
  void add(const LedgerEntry& entry);
  std::string bytes() const;

 private:
  struct Day {
    int64_t day = 0;
    Spent spent;
  };
  std::vector<Day> days_;  // in order
};

}  // namespace walle::stream
