// What a key remembers from row to row.
#include <list>
#include <map>

#include "stream/operators/batch_rows.h"
#include "stream/operators/operators.h"

namespace walle::stream {

namespace {

class State final : public Operator {
 public:
  explicit State(StateSpec spec) : spec_(std::move(spec)) {}

  Result<Batch> push(const Batch& in) override {
    WALLE_TRY(check_times(in, {"state '", spec_.out, "'"}));
    WALLE_TRY(kinds_.check(in, {"state '", spec_.out, "'"}));
    WALLE_ASSIGN(const auto keys, columns_of(in, spec_.keys, "state keys"));
    const Column* column = nullptr;  // without one, rows are counted
    if (!spec_.column.empty()) {
      WALLE_ASSIGN(const size_t at, column_of(in, spec_.column, {"state '", spec_.out, "'"}));
      column = &in.columns[at];
    }
    Column made{.name = spec_.out,
                .sensitivity = Sensitivity::open,
                .cells = {},
                .path = "rows > state " + spec_.out};
    if (column) {
      made.sensitivity = column->sensitivity;
      made.path = path_through(*column, "state " + spec_.out);
    }
    // A count per user says which users there were: keys label what is kept by them.
    for (const size_t k : keys) made.sensitivity = std::max(made.sensitivity, in.columns[k].sensitivity);
    for (size_t r = 0; r < in.rows(); ++r)
      put(made, step(key_of(in, r, keys), in.ts[r], column ? column->cells[r] : Cell::of(int64_t{1})).cell());
    Batch out = in;
    out.set(std::move(made));
    return out;
  }

  uint64_t evicted() const override { return evicted_; }

 private:
  struct Kept {
    int64_t ts = 0;
    Scalar value;  // previous or first one
    Accumulator running;
    std::list<Key>::iterator use;
  };

  void evict() {
    kept_.erase(uses_.back());
    uses_.pop_back();
    ++evicted_;
  }

  Scalar step(Key key, int64_t ts, const Cell& given) {
    auto it = kept_.find(key);
    const bool fresh = it == kept_.end();
    if (fresh) {
      if (kept_.size() == spec_.max_keys) evict();
      uses_.push_front(key);
      it = kept_.emplace(std::move(key), Kept{}).first;
      it->second.use = uses_.begin();
    } else {
      // A list beside the map: moving a key to the front costs no allocation and no search.
      uses_.splice(uses_.begin(), uses_, it->second.use);
    }
    Kept& k = it->second;
    Scalar out;
    switch (spec_.kind) {
      case StateKind::previous: out = std::exchange(k.value, given); break;
      case StateKind::first:
        if (fresh) k.value = given;
        out = k.value;
        break;
      // Absent for a key's first row; 0 would say "just now".
      case StateKind::since:
        if (!fresh) out = static_cast<double>(ts - k.ts) / kSecondUs;
        break;
      case StateKind::running:
        k.running.add(spec_.aggregate, given);
        out = k.running.result(spec_.aggregate);
        break;
    }
    k.ts = ts;
    return out;
  }

  StateSpec spec_;
  ColumnKinds kinds_;
  std::map<Key, Kept> kept_;
  std::list<Key> uses_;  // most recent first
  uint64_t evicted_ = 0;
};

}  // namespace

Result<std::unique_ptr<Operator>> make_state(StateSpec spec) {
  const bool column =
      !spec.column.empty() || spec.kind == StateKind::since || spec.kind == StateKind::running;
  if (spec.out.empty() || spec.max_keys == 0 || !column)
    return argument_error({"state '", spec.out, "'"}, "a name, a column and at least one key", "state",
                          "name what is to be remembered");
  if (spec.kind == StateKind::running) WALLE_TRY(check_aggregate(spec.aggregate));
  return std::unique_ptr<Operator>(new State(std::move(spec)));
}

}  // namespace walle::stream
