// TriggerLimits: how often one trigger may fire: once, a cooldown, a rate, each for the trigger or per key.
// Not synchronised.
#pragma once

#include <array>
#include <vector>

#include "stream/match/keyed_limit.h"
#include "stream/trigger/trigger_compile.h"

namespace walle::stream {

class TriggerLimits {
 public:
  static constexpr size_t kMaxPerKey = 3;  // once, cooldown and rate
  using Keys = std::array<uint64_t, kMaxPerKey>;

  TriggerLimits() = default;
  explicit TriggerLimits(const CompiledTrigger& t);

  bool has_keys() const { return !per_key_.empty(); }
  Keys keys_of(const Event& e, const Catalog& catalog) const;
  // Whether a firing at `ts` is allowed, which then counts; one that is not is counted as suppressed.
  bool pass(int64_t ts, const Keys& keys);

  uint64_t suppressed() const { return suppressed_; }
  uint64_t evicted() const;  // keys given up for newer ones while they still counted
  // What the limits of the same trigger in another matcher have counted.
  void take_past(const TriggerLimits& past);
  size_t memory_bytes() const;

  // What they have counted, in snapshots (docs/reference/formats/snapshot.md).
  void put(base::ByteWriter& out) const;
  // Of a trigger that is not here with `into` null: reads over it. The same text has the same limits; where a
  // forged snapshot has others, they are left as they are.
  static void get(base::ByteReader& in, TriggerLimits* into);

 private:
  struct PerKey {  // `once per item`
    CompiledKey key;
    KeyedLimit limit;
  };
  bool holds(int64_t ts, const Keys& keys) const;
  void note(int64_t ts, const Keys& keys);

  bool once_ = false;
  bool fired_ = false;
  int64_t cooldown_us_ = 0;
  int64_t last_fire_ = 0;
  int64_t rate_us_ = 0;
  uint64_t suppressed_ = 0;
  std::vector<int64_t> recent_ = {};  // ring of the last `rate` firing times
  size_t next_ = 0;
  std::vector<PerKey> per_key_ = {};
};

}  // namespace walle::stream
