// Operators that look at one row at a time, and dedupe.
#include <algorithm>
#include <list>
#include <map>

#include "base/read_number.h"
#include "stream/operators/batch_rows.h"
#include "stream/operators/operators.h"
#include "stream/trigger/trigger_spec.h"

namespace walle::stream {

namespace {

class Filter final : public Operator {
 public:
  explicit Filter(Predicate p) : predicate_(std::move(p)) {}
  Result<Batch> push(const Batch& in) override {
    // The predicate sees a row as an event whose fields are the batch's columns.
    Catalog catalog;
    EventDecl row{"row", EventKind::custom, {}};
    for (const Column& c : in.columns)
      // The declared type is not asked for: values carry their own.
      row.fields.push_back({.name = c.name, .type = ColumnType::real, .sensitivity = c.sensitivity});
    WALLE_ASSIGN(const uint16_t id, catalog.declare(std::move(row)));
    Predicate p = predicate_;
    // Resolved here and not by Predicate::resolve(), which compares literals with declared types that columns
    // do not have.
    for (auto& n : p.nodes) {
      if (n.field.empty()) continue;
      WALLE_TRY(column_of(in, n.field, "filter"));
      n.field_id = *catalog.find_field(n.field);
    }
    Batch out = empty_like(in);
    std::vector<Value> values(in.columns.size());
    for (size_t r = 0; r < in.rows(); ++r) {
      // A vector is nothing to compare with.
      for (size_t c = 0; c < values.size(); ++c)
        values[c] = in.columns[c].cells.type() == ColumnType::vector ? Value() : in.columns[c].cells[r];
      Event e;
      e.event = id;
      // Contents by position: the columns in their order.
      e.contents = values;
      if (p.evaluate(e, catalog)) copy_row(in, r, out);
    }
    return out;
  }

 private:
  Predicate predicate_;
};

class Map final : public Operator {
 public:
  Map(std::string out, std::string left, char op, std::string right)
      : out_(std::move(out)), left_(std::move(left)), op_(op), right_(std::move(right)) {
    const auto r = read_number(right_.data(), right_.data() + right_.size(), number_);
    // A right side that is wholly a number is one; anything else names a column.
    constant_ = r.ec == std::errc() && r.ptr == right_.data() + right_.size();
  }
  Result<Batch> push(const Batch& in) override {
    WALLE_ASSIGN(const size_t a, column_of(in, left_, "map"));
    size_t b = a;
    if (!constant_ && op_ != '=') {
      WALLE_ASSIGN(b, column_of(in, right_, "map"));
    }
    Batch out = in;
    Column made{.name = out_,
                .sensitivity = std::max(in.columns[a].sensitivity, in.columns[b].sensitivity),
                .cells = tensor::Column(ColumnType::real),
                .path = path(in.columns[a], in.columns[b])};
    if (op_ == '=') made.cells = in.columns[a].cells;
    for (size_t r = made.cells.size(); r < in.rows(); ++r)
      put(made, apply(in.columns[a].cells[r], in.columns[b].cells[r]));
    // A name that is there already is replaced: map("x", "x", "*", "2") scales in place.
    out.set(std::move(made));
    return out;
  }

 private:
  std::string path(const Column& a, const Column& b) const {
    const bool both = !constant_ && op_ != '=';
    return path_through(a, "map " + out_) +
           (both ? " (with " + (b.path.empty() ? b.name : b.path) + ")" : "");
  }
  Cell apply(const Cell& x, const Cell& y) const {
    const std::optional<double> a = x.number();
    const std::optional<double> b = constant_ ? number_ : y.number();
    // Absent rather than an error or an infinity: one bad row must not stop a stream, and what is absent is
    // not counted.
    if (!a || !b || (op_ == '/' && *b == 0)) return {};
    return Cell::of(op_ == '+' ? *a + *b : op_ == '-' ? *a - *b : op_ == '*' ? *a * *b : *a / *b);
  }
  std::string out_, left_;
  char op_;
  std::string right_;
  double number_ = 0;
  bool constant_ = false;
};

class Select final : public Operator {
 public:
  explicit Select(std::vector<std::string> names) : names_(std::move(names)) {}
  Result<Batch> push(const Batch& in) override {
    Batch out;
    out.ts = in.ts;
    out.support = in.support;
    out.columns.reserve(names_.size());
    for (const std::string& name : names_) {
      WALLE_ASSIGN(const size_t at, column_of(in, name, "select"));
      out.columns.push_back(in.columns[at]);
    }
    return out;
  }

 private:
  std::vector<std::string> names_;
};

class Dedupe final : public Operator {
 public:
  Dedupe(std::vector<std::string> keys, int64_t within, size_t most)
      : keys_(std::move(keys)), within_(within), most_(most) {}
  Result<Batch> push(const Batch& in) override {
    WALLE_TRY(check_times(in, "dedupe"));
    WALLE_ASSIGN(const auto columns, columns_of(in, keys_, "dedupe"));
    Batch out = empty_like(in);
    for (size_t r = 0; r < in.rows(); ++r) {
      // The time is renewed by rows that pass, not by those held back: a steady stream of repeats gets
      // through once per `within`.
      const auto [it, fresh] = seen_.emplace(key_of(in, r, columns), Seen{in.ts[r], {}});
      if (fresh) {
        uses_.push_front(&it->first);
        it->second.use = uses_.begin();
        forget_oldest();
      } else {
        uses_.splice(uses_.begin(), uses_, it->second.use);
        if (!within_ || in.ts[r] - it->second.passed <= within_) continue;
      }
      it->second.passed = in.ts[r];
      copy_row(in, r, out);
    }
    return out;
  }

  uint64_t evicted() const override { return evicted_; }

 private:
  struct Seen {
    int64_t passed;
    std::list<const Key*>::iterator use;
  };

  // A row of a key that has given way passes again.
  void forget_oldest() {
    if (seen_.size() <= most_) return;
    const auto oldest = seen_.find(*uses_.back());
    uses_.pop_back();
    seen_.erase(oldest);
    ++evicted_;
  }

  std::vector<std::string> keys_;
  int64_t within_;
  size_t most_;
  std::map<Key, Seen> seen_;
  std::list<const Key*> uses_;  // most recent first
  uint64_t evicted_ = 0;
};

}  // namespace

Result<std::unique_ptr<Operator>> make_filter(std::string_view predicate) {
  // One grammar and one parser for predicates, wherever they stand.
  WALLE_ASSIGN(TriggerSpec spec, parse_trigger("*[" + std::string(predicate) + "]"));
  Predicate& p = spec.steps[0].any_of[0].predicate;
  // The text stands between brackets: one that closes them and opens others would be a whole trigger.
  if (format_trigger(spec) != "*[" + p.text() + "]")
    return argument_error({"filter '", predicate, "'"}, "a predicate over one row", "filter",
                          "leave out what is not of the predicate");
  if (p.refers())
    return argument_error("a filter that compares with the step before", "a predicate over one row", "filter",
                          "compare columns of the row, or make one with state(out, \"previous\")");
  return std::unique_ptr<Operator>(new Filter(std::move(p)));
}

Result<std::unique_ptr<Operator>> make_map(std::string out, std::string left, char op, std::string right) {
  if (std::string_view("+-*/=").find(op) == std::string_view::npos || out.empty())
    return argument_error({"map '", out, "' with operator '", std::string_view(&op, 1), "'"},
                          "a name and one of + - * / =", "map", "correct it");
  return std::unique_ptr<Operator>(new Map(std::move(out), std::move(left), op, std::move(right)));
}

Result<std::unique_ptr<Operator>> make_select(std::vector<std::string> columns) {
  return std::unique_ptr<Operator>(new Select(std::move(columns)));
}

Result<std::unique_ptr<Operator>> make_dedupe(std::vector<std::string> keys, int64_t within_us,
                                              size_t max_keys) {
  WALLE_TRY(check_duration(within_us, "within", "dedupe"));
  if (max_keys == 0) return argument_error("no key", "at least one", "dedupe", "say how many are remembered");
  return std::unique_ptr<Operator>(new Dedupe(std::move(keys), within_us, max_keys));
}

}  // namespace walle::stream
