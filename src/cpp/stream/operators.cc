#include "stream/operators.h"

#include <algorithm>
#include <charconv>

#include "stream/trigger_spec.h"

namespace walle::stream {

namespace {

Result<size_t> column_of(const Batch& b, const std::string& name, std::string_view where) {
  const int at = b.find(name);
  if (at >= 0) return static_cast<size_t>(at);
  std::string known;
  for (const Column& c : b.columns) known += (known.empty() ? "" : ", ") + c.name;
  return argument_error("column '" + name + "'", "one of: " + known, std::string(where), "correct the name");
}

Batch empty_like(const Batch& b) {
  Batch out;
  for (const Column& c : b.columns) out.columns.push_back({c.name, c.sensitivity, {}});
  return out;
}

void copy_row(const Batch& from, size_t row, Batch& to) {
  to.ts.push_back(from.ts[row]);
  for (size_t c = 0; c < from.columns.size(); ++c) to.columns[c].cells.push_back(from.columns[c].cells[row]);
}

Value value_of(const Cell& c) {
  if (const auto* i = std::get_if<int64_t>(&c)) return Value::of(*i);
  if (const auto* d = std::get_if<double>(&c)) return Value::of(*d);
  if (const auto* s = std::get_if<std::string>(&c)) return Value::of(std::string_view(*s));
  return {};
}

class Filter final : public Operator {
 public:
  explicit Filter(Predicate p) : predicate_(std::move(p)) {}
  Result<Batch> push(const Batch& in) override {
    // The predicate sees a row as an event whose fields are the batch's columns.
    Catalog catalog;
    EventDecl row{"row", EventKind::custom, {}};
    for (const Column& c : in.columns) row.fields.push_back({c.name, FieldType::f64, c.sensitivity, 0});
    WALLE_ASSIGN(const uint16_t id, catalog.declare(std::move(row)));
    Predicate p = predicate_;
    for (auto& n : p.nodes) {
      if (n.field.empty()) continue;
      WALLE_TRY(column_of(in, n.field, "filter"));
      n.field_id = *catalog.find_field(n.field);
    }
    Batch out = empty_like(in);
    std::vector<Value> values(in.columns.size());
    for (size_t r = 0; r < in.rows(); ++r) {
      for (size_t c = 0; c < values.size(); ++c) values[c] = value_of(in.columns[c].cells[r]);
      Event e;
      e.event = id, e.contents = values;
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
    const auto r = std::from_chars(right_.data(), right_.data() + right_.size(), number_);
    constant_ = r.ec == std::errc() && r.ptr == right_.data() + right_.size();
  }
  Result<Batch> push(const Batch& in) override {
    WALLE_ASSIGN(const size_t a, column_of(in, left_, "map"));
    size_t b = a;
    if (!constant_ && op_ != '=') {
      WALLE_ASSIGN(b, column_of(in, right_, "map"));
    }
    Batch out = in;
    Column made{out_, std::max(in.columns[a].sensitivity, in.columns[b].sensitivity), {}};
    for (size_t r = 0; r < in.rows(); ++r) made.cells.push_back(apply(in.columns[a].cells[r], in.columns[b].cells[r]));
    if (const int at = out.find(out_); at >= 0)
      out.columns[static_cast<size_t>(at)] = std::move(made);
    else
      out.columns.push_back(std::move(made));
    return out;
  }

 private:
  Cell apply(const Cell& x, const Cell& y) const {
    if (op_ == '=') return x;
    const auto number = [](const Cell& c, double& v) {
      if (const auto* i = std::get_if<int64_t>(&c)) return v = static_cast<double>(*i), true;
      if (const auto* d = std::get_if<double>(&c)) return v = *d, true;
      return false;
    };
    double a = 0, b = number_;
    if (!number(x, a) || (!constant_ && !number(y, b)) || (op_ == '/' && b == 0)) return std::monostate();
    return op_ == '+' ? a + b : op_ == '-' ? a - b : op_ == '*' ? a * b : a / b;
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
    for (const std::string& name : names_) {
      WALLE_ASSIGN(const size_t at, column_of(in, name, "select"));
      out.columns.push_back(in.columns[at]);
    }
    return out;
  }

 private:
  std::vector<std::string> names_;
};

Result<std::vector<size_t>> columns_of(const Batch& in, const std::vector<std::string>& names, std::string_view where) {
  std::vector<size_t> out;
  for (const std::string& name : names) {
    WALLE_ASSIGN(const size_t at, column_of(in, name, where));
    out.push_back(at);
  }
  return out;
}

using Key = std::vector<Cell>;
Key key_of(const Batch& in, size_t row, const std::vector<size_t>& columns) {
  Key out;
  for (const size_t c : columns) out.push_back(in.columns[c].cells[row]);
  return out;
}

class Dedupe final : public Operator {
 public:
  Dedupe(std::vector<std::string> keys, int64_t within) : keys_(std::move(keys)), within_(within) {}
  Result<Batch> push(const Batch& in) override {
    WALLE_ASSIGN(const auto columns, columns_of(in, keys_, "dedupe"));
    Batch out = empty_like(in);
    for (size_t r = 0; r < in.rows(); ++r) {
      const auto [it, fresh] = seen_.emplace(key_of(in, r, columns), in.ts[r]);
      if (!fresh && (!within_ || in.ts[r] - it->second <= within_)) continue;
      it->second = in.ts[r];
      copy_row(in, r, out);
    }
    return out;
  }

 private:
  std::vector<std::string> keys_;
  int64_t within_;
  std::map<Key, int64_t> seen_;
};

int64_t floor_to(int64_t v, int64_t step) { return v / step * step - (v % step < 0 ? step : 0); }

class Window final : public Operator {
 public:
  explicit Window(WindowSpec spec) : spec_(std::move(spec)) {}

  Result<Batch> push(const Batch& in) override {
    WALLE_ASSIGN(const auto keys, columns_of(in, spec_.keys, "window keys"));
    std::vector<size_t> inputs;
    for (const AggregateSpec& a : spec_.aggregates) {
      if (a.column.empty()) {
        inputs.push_back(SIZE_MAX);
        continue;
      }
      WALLE_ASSIGN(const size_t at, column_of(in, a.column, "aggregate '" + a.out + "'"));
      inputs.push_back(at);
    }
    learn_labels(in, keys, inputs);
    Batch out = layout();
    for (size_t r = 0; r < in.rows(); ++r) {
      const int64_t ts = in.ts[r];
      place(in, r, key_of(in, r, keys), inputs, out);
      if (ts - spec_.disorder_us > watermark_) watermark_ = ts - spec_.disorder_us, close(out);
    }
    return out;
  }

  Result<Batch> finish() override {
    Batch out = layout();
    watermark_ = INT64_MAX;
    close(out);
    return out;
  }

  uint64_t late() const override { return late_; }

 private:
  struct Open {
    int64_t end = 0;
    int revision = 0;
    bool closed = false, changed = false;
    std::vector<Accumulator> parts;
  };
  using Id = std::pair<Key, int64_t>;  // key, start

  void place(const Batch& in, size_t row, const Key& key, const std::vector<size_t>& inputs, Batch& out) {
    const int64_t ts = in.ts[row];
    std::vector<Accumulator> one(spec_.aggregates.size());
    const auto fold = [&](std::vector<Accumulator>& parts) {
      parts.resize(spec_.aggregates.size());
      for (size_t a = 0; a < parts.size(); ++a)
        parts[a].add(spec_.aggregates[a], inputs[a] == SIZE_MAX ? Cell(int64_t{1}) : in.columns[inputs[a]].cells[row]);
    };
    if (spec_.kind == WindowKind::session) {
      fold(one);
      join_session(key, ts, std::move(one), out);
      return;
    }
    const int64_t slide = spec_.kind == WindowKind::sliding ? spec_.slide_us : spec_.size_us;
    bool lost = false;
    for (int64_t start = floor_to(ts, slide); start > ts - spec_.size_us; start -= slide) {
      const int64_t end = start + spec_.size_us;
      if (gone(end)) {
        lost = true;
        continue;
      }
      Open& w = windows_[{key, start}];
      w.end = end;
      fold(w.parts);
      if (w.closed) revise({key, start}, w, out);
    }
    late_ += lost;
  }

  bool gone(int64_t end) const { return watermark_ != INT64_MIN && end <= watermark_ - spec_.lateness_us; }

  // A row joins every session it touches into one. What was already given out under another start is revised by the
  // joined session, whose revision is the next one.
  void join_session(const Key& key, int64_t ts, std::vector<Accumulator> parts, Batch& out) {
    if (gone(ts + spec_.size_us)) {
      ++late_;
      return;
    }
    int64_t start = ts, end = ts + spec_.size_us;
    int revision = 0;
    bool closed = false;
    for (auto it = windows_.lower_bound({key, INT64_MIN}); it != windows_.end() && it->first.first == key;) {
      if (it->second.end < ts || it->first.second > end) {
        ++it;
        continue;
      }
      Open& w = it->second;
      start = std::min(start, it->first.second), end = std::max(end, w.end);
      revision = std::max(revision, w.revision), closed = closed || w.closed;
      for (size_t a = 0; a < w.parts.size(); ++a) {
        w.parts[a].merge(spec_.aggregates[a], parts[a]);
        parts[a] = w.parts[a];
      }
      it = windows_.erase(it);
    }
    Open& w = windows_[{key, start}];
    w = {end, revision, closed && end <= watermark_, false, std::move(parts)};
    if (w.closed)
      revise({key, start}, w, out);
    else if (closed)
      w.revision = revision + 1;
  }

  void revise(const Id& id, Open& w, Batch& out) {
    ++w.revision;
    emit(id, w, out);
  }

  // Windows that the watermark has reached, in order of end, start and key; forgets those past their lateness.
  void close(Batch& out) {
    std::vector<std::pair<int64_t, Id>> due;
    for (auto it = windows_.begin(); it != windows_.end();) {
      if (!it->second.closed && it->second.end <= watermark_) due.emplace_back(it->second.end, it->first);
      if (it->second.closed && gone(it->second.end))
        it = windows_.erase(it);
      else
        ++it;
    }
    std::sort(due.begin(), due.end(), [](const auto& a, const auto& b) {
      return std::tie(a.first, a.second.second, a.second.first) < std::tie(b.first, b.second.second, b.second.first);
    });
    for (const auto& [end, id] : due) {
      Open& w = windows_[id];
      w.closed = true;
      emit(id, w, out);
    }
  }

  void emit(const Id& id, const Open& w, Batch& out) {
    out.ts.push_back(w.end);
    size_t c = 0;
    for (const Cell& k : id.first) out.columns[c++].cells.push_back(k);
    out.columns[c++].cells.push_back(id.second);
    out.columns[c++].cells.push_back(w.end);
    out.columns[c++].cells.push_back(int64_t{w.revision});
    for (size_t a = 0; a < spec_.aggregates.size(); ++a) out.columns[c++].cells.push_back(w.parts[a].result(spec_.aggregates[a]));
  }

  // An aggregate over rows lowers nothing by itself: a count of one person's clicks is still about that person. The
  // egress gate asks for a minimum of rows instead.
  void learn_labels(const Batch& in, const std::vector<size_t>& keys, const std::vector<size_t>& inputs) {
    labels_.clear();
    for (const size_t k : keys) labels_.push_back(in.columns[k].sensitivity);
    for (int i = 0; i < 3; ++i) labels_.push_back(Sensitivity::open);
    for (const size_t i : inputs) labels_.push_back(i == SIZE_MAX ? Sensitivity::open : in.columns[i].sensitivity);
  }

  Batch layout() const {
    Batch out;
    for (const std::string& k : spec_.keys) out.columns.push_back({k, Sensitivity::personal, {}});
    for (const char* name : {"window_start", "window_end", "revision"}) out.columns.push_back({name, Sensitivity::open, {}});
    for (const AggregateSpec& a : spec_.aggregates) out.columns.push_back({a.out, Sensitivity::personal, {}});
    for (size_t i = 0; i < labels_.size(); ++i) out.columns[i].sensitivity = labels_[i];
    return out;
  }

  WindowSpec spec_;
  std::map<Id, Open> windows_;
  std::vector<Sensitivity> labels_;
  int64_t watermark_ = INT64_MIN;
  uint64_t late_ = 0;
};

}  // namespace

Result<std::unique_ptr<Operator>> make_filter(std::string_view predicate) {
  WALLE_ASSIGN(TriggerSpec spec, parse_trigger("*[" + std::string(predicate) + "]"));
  return std::unique_ptr<Operator>(new Filter(std::move(spec.steps[0].any_of[0].predicate)));
}

Result<std::unique_ptr<Operator>> make_map(std::string out, std::string left, char op, std::string right) {
  if (std::string_view("+-*/=").find(op) == std::string_view::npos || out.empty())
    return argument_error("map '" + out + "' with operator '" + std::string(1, op) + "'", "a name and one of + - * / =", "map",
                          "correct it");
  return std::unique_ptr<Operator>(new Map(std::move(out), std::move(left), op, std::move(right)));
}

Result<std::unique_ptr<Operator>> make_select(std::vector<std::string> columns) {
  return std::unique_ptr<Operator>(new Select(std::move(columns)));
}

Result<std::unique_ptr<Operator>> make_dedupe(std::vector<std::string> keys, int64_t within_us) {
  return std::unique_ptr<Operator>(new Dedupe(std::move(keys), within_us));
}

Result<std::unique_ptr<Operator>> make_window(WindowSpec spec) {
  const bool slides = spec.kind != WindowKind::sliding || (spec.slide_us > 0 && spec.size_us / spec.slide_us <= 1000);
  if (spec.size_us <= 0 || !slides || spec.disorder_us < 0 || spec.lateness_us < 0)
    return argument_error("a window of " + std::to_string(spec.size_us) + " us, slide " + std::to_string(spec.slide_us),
                          "positive times, at most 1000 overlaps", "window", "correct its times");
  for (const AggregateSpec& a : spec.aggregates)
    if ((a.kind == AggregateKind::histogram && (a.k < 1 || a.k > 1024 || !(a.high > a.low))) || (a.kind == AggregateKind::top_k && a.k < 1))
      return argument_error("aggregate '" + a.out + "'", "1 to 1024 bins or entries and low < high", "aggregate", "correct its parameters");
  return std::unique_ptr<Operator>(new Window(std::move(spec)));
}

Result<Batch> as_of_join(const Batch& left, const Batch& right, const std::vector<std::string>& keys, int64_t within_us) {
  WALLE_ASSIGN(const auto left_keys, columns_of(left, keys, "as-of join, left"));
  WALLE_ASSIGN(const auto right_keys, columns_of(right, keys, "as-of join, right"));
  std::map<Key, std::vector<std::pair<int64_t, size_t>>> rows;
  for (size_t r = 0; r < right.rows(); ++r) rows[key_of(right, r, right_keys)].emplace_back(right.ts[r], r);
  for (auto& [key, times] : rows)
    std::stable_sort(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Batch out = left;
  std::vector<size_t> taken;
  for (size_t c = 0; c < right.columns.size(); ++c)
    if (std::find(right_keys.begin(), right_keys.end(), c) == right_keys.end()) {
      taken.push_back(c);
      const bool clash = out.find(right.columns[c].name) >= 0;
      out.columns.push_back({right.columns[c].name + (clash ? "_right" : ""), right.columns[c].sensitivity, {}});
    }
  for (size_t r = 0; r < left.rows(); ++r) {
    const auto it = rows.find(key_of(left, r, left_keys));
    const std::pair<int64_t, size_t>* found = nullptr;
    if (it != rows.end()) {
      const auto after =
          std::upper_bound(it->second.begin(), it->second.end(), left.ts[r], [](int64_t ts, const auto& x) { return ts < x.first; });
      if (after != it->second.begin() && (!within_us || left.ts[r] - std::prev(after)->first <= within_us)) found = &*std::prev(after);
    }
    for (size_t k = 0; k < taken.size(); ++k)
      out.columns[left.columns.size() + k].cells.push_back(found ? right.columns[taken[k]].cells[found->second] : Cell());
  }
  return out;
}

}  // namespace walle::stream
