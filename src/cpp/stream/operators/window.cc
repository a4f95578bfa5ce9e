// Windows over event time with mergeable aggregates.
#include <algorithm>
#include <map>

#include "stream/operators/watermarked.h"

namespace walle::stream {

namespace {

// Windows that one row may lie in: each is a fold of its own.
constexpr int64_t kMaxOverlaps = 1000;

// Rounds down before 1970 too, where C++ division rounds up.
int64_t floor_to(int64_t v, int64_t step) { return v / step * step - (v % step < 0 ? step : 0); }

class Window final : public Watermarked {
 public:
  explicit Window(WindowSpec spec) : Watermarked("window", spec.disorder_us), spec_(std::move(spec)) {}

 private:
  struct Open {
    int64_t end = 0;                              // closes when the watermark is here
    int64_t first = INT64_MAX, last = INT64_MIN;  // rows
    int64_t support = 0;
    int revision = 0;
    bool closed = false, exited = false;
    std::vector<Accumulator> parts;
  };
  using Id = std::pair<Key, int64_t>;  // key, start

  Status bind(const Batch& in) override {
    WALLE_ASSIGN(keys_, columns_of(in, spec_.keys, "window keys"));
    inputs_.clear();
    inputs_.reserve(spec_.aggregates.size());
    for (const AggregateSpec& a : spec_.aggregates) {
      // No column: rows are counted.
      inputs_.push_back(SIZE_MAX);
      if (a.column.empty()) continue;
      WALLE_ASSIGN(inputs_.back(), column_of(in, a.column, {"aggregate '", a.out, "'"}));
    }
    if (spec_.kind == WindowKind::page) {
      WALLE_ASSIGN(page_, column_of(in, "page_instance", "page window"));
      WALLE_ASSIGN(event_, column_of(in, "event", "page window"));
    }
    learn_labels(in);
    return {};
  }

  void fold(const Batch& in, size_t row, Open& w) const {
    // Made with the first row: most windows of a key are never opened.
    if (w.parts.empty()) w.parts.resize(spec_.aggregates.size());
    for (size_t a = 0; a < w.parts.size(); ++a)
      w.parts[a].add(spec_.aggregates[a],
                     inputs_[a] == SIZE_MAX ? Cell::of(int64_t{1}) : in.columns[inputs_[a]].cells[row]);
    w.support += in.support_of(row);
    w.first = std::min(w.first, in.ts[row]);
    w.last = std::max(w.last, in.ts[row]);
  }

  void place(const Batch& in, size_t row, Batch& out) override {
    set_key(id_.first, in, row, keys_);
    switch (spec_.kind) {
      case WindowKind::session: return place_session(in, row, out);
      case WindowKind::page: return place_page(in, row, out);
      case WindowKind::whole: return place_whole(in, row);
      case WindowKind::tumbling:
      case WindowKind::sliding: return place_fixed(in, row, out);
    }
  }

  // The window of the row's key that starts then, or that comes behind.
  const Id& started(int64_t start) {
    id_.second = start;
    return id_;
  }

  void place_fixed(const Batch& in, size_t row, Batch& out) {
    const int64_t ts = in.ts[row], slide = spec_.kind == WindowKind::sliding ? spec_.slide_us : spec_.size_us;
    bool lost = false;
    // Backwards from the latest window that holds the row; starts are multiples of the slide since 1970, so
    // all devices cut the same windows.
    for (int64_t start = floor_to(ts, slide); start > ts - spec_.size_us; start -= slide) {
      const int64_t end = start + spec_.size_us;
      // A row may be late for one of its windows and in time for the next.
      if (gone(end)) {
        lost = true;
        continue;
      }
      Open& w = windows_[started(start)];
      w.end = end;
      fold(in, row, w);
      watch(w);
      if (w.closed) revise(id_, w, out);
    }
    // Once per row, however many of its windows were gone.
    late_ += lost;
  }

  // A row joins every session it touches into one. What was already given out under another start is revised
  // by the joined session, whose revision is the next one.
  void place_session(const Batch& in, size_t row, Batch& out) {
    const int64_t ts = in.ts[row];
    if (gone(ts + spec_.size_us)) {
      ++late_;
      return;
    }
    Open joined;
    fold(in, row, joined);
    int64_t start = ts;
    joined.end = ts + spec_.size_us;
    bool closed = false;
    auto it = windows_.lower_bound(started(INT64_MIN));
    while (it != windows_.end() && it->first.first == id_.first) {
      // Touching counts as overlapping: two rows exactly the gap apart are one session.
      if (it->second.end < ts || it->first.second > ts + spec_.size_us) {
        ++it;
        continue;
      }
      start = std::min(start, it->first.second);
      closed = closed || it->second.closed;
      merge(it->second, joined);
      it = windows_.erase(it);
    }
    joined.closed = closed && joined.end <= watermark_;
    // What was given out is superseded, so the number moves on although the joined session is open again.
    if (closed && !joined.closed) ++joined.revision;
    Open& w = windows_[started(start)] = std::move(joined);
    watch(w);
    if (w.closed) revise(id_, w, out);
  }

  // The rows of `older` before those of `w`.
  void merge(Open& older, Open& w) const {
    for (size_t a = 0; a < w.parts.size(); ++a) {
      // Earlier rows first: top_k keeps the words that came first.
      older.parts[a].merge(spec_.aggregates[a], w.parts[a]);
      w.parts[a] = std::move(older.parts[a]);
    }
    w.end = std::max(w.end, older.end);
    w.first = std::min(w.first, older.first);
    w.last = std::max(w.last, older.last);
    w.revision = std::max(w.revision, older.revision);
    w.support += older.support;
  }

  // A closed page is remembered for the idle time, so that a row after its lateness is known to be late.
  void place_page(const Batch& in, size_t row, Batch& out) {
    const Cell instance = in.columns[page_].cells[row];
    // 0 is "no page" in the event log.
    if (!instance.is(ColumnType::integer) || instance.i == 0) {
      ++outside_;
      return;
    }
    id_.first.emplace_back(instance);
    const int64_t ts = in.ts[row];
    auto it = windows_.lower_bound(started(INT64_MIN));
    if (it == windows_.end() || it->first.first != id_.first) {
      it = windows_.try_emplace(started(ts)).first;
    } else if (it->second.closed && gone(it->second.end)) {
      ++late_;
      return;
      // A row before the first: the start is part of the map's key, which is changed without losing the
      // window.
    } else if (ts < it->first.second) {
      auto node = windows_.extract(it);
      node.key().second = ts;
      it = windows_.insert(std::move(node)).position;
    }
    Open& w = it->second;
    fold(in, row, w);
    const Cell event = in.columns[event_].cells[row];
    // Once out, always out: rows in disorder may arrive after the exit's.
    w.exited = w.exited || (event.is(ColumnType::text) && event.text == "page_exit");
    w.end = w.exited ? w.last : w.last + spec_.size_us;
    watch(w);
    if (w.closed) revise(it->first, w, out);
  }

  void place_whole(const Batch& in, size_t row) {
    Open& w = windows_[started(INT64_MIN)];
    w.end = INT64_MAX;
    fold(in, row, w);
  }

  // No watermark yet: nothing can be late, and the subtraction would wrap.
  bool gone(int64_t end) const { return watermark_ != INT64_MIN && end <= watermark_ - spec_.lateness_us; }
  // How long a window stays after it has closed.
  int64_t kept_us() const {
    return spec_.kind == WindowKind::page ? std::max(spec_.lateness_us, spec_.size_us) : spec_.lateness_us;
  }
  int64_t forgotten_at(int64_t end) const {
    // finish() sets the watermark to the largest number; sums must not wrap.
    return end > INT64_MAX - kept_us() ? INT64_MAX : end + kept_us();
  }
  void watch(const Open& w) { due_ = std::min(due_, w.closed ? forgotten_at(w.end) : w.end); }

  void revise(const Id& id, Open& w, Batch& out) {
    ++w.revision;
    emit(id, w, out);
  }

  // Windows that the watermark has reached, in order of end,
  // start and key; forgets those past their lateness.
  void close(Batch& out) override {
    std::vector<std::pair<const Id, Open>*> closing;
    due_ = INT64_MAX;
    for (auto it = windows_.begin(); it != windows_.end();) {
      Open& w = it->second;
      const bool was_closed = w.closed;
      if (!was_closed && w.end <= watermark_) closing.push_back(&*it);
      if (was_closed && w.end <= watermark_ - kept_us()) {
        it = windows_.erase(it);
        continue;
      }
      due_ = std::min(due_, !was_closed && w.end > watermark_ ? w.end : forgotten_at(w.end));
      ++it;
    }
    // By content, not by the order of the map, so that results do not depend on how rows were cut into
    // batches.
    std::sort(closing.begin(), closing.end(), [](const auto* a, const auto* b) {
      return std::tie(a->second.end, a->first.second, a->first.first) <
             std::tie(b->second.end, b->first.second, b->first.first);
    });
    // Later ones of the same batch grow it as vectors do.
    if (out.rows() == 0) reserve(out, closing.size());
    for (auto* window : closing) {
      window->second.closed = true;
      emit(window->first, window->second, out);
    }
  }

  static void reserve(Batch& out, size_t rows) {
    out.reserve(rows);
    out.support.reserve(rows);
  }

  void emit(const Id& id, const Open& w, Batch& out) {
    const bool whole = spec_.kind == WindowKind::whole;
    // A whole stream has no end of its own; its last row's time is told.
    const int64_t end = whole ? w.last : w.end;
    out.ts.push_back(end);
    out.support.push_back(w.support);
    size_t c = 0;
    for (const Scalar& k : id.first) put(out.columns[c++], k.cell());
    put(out.columns[c++], Cell::of(whole ? w.first : id.second));
    put(out.columns[c++], Cell::of(end));
    put(out.columns[c++], Cell::of(int64_t{w.revision}));
    for (size_t a = 0; a < spec_.aggregates.size(); ++a)
      put(out.columns[c++], w.parts[a].result(spec_.aggregates[a]).cell());
  }

  // An aggregate over rows lowers nothing by itself: a count of one person's clicks is still about that
  // person. The egress gate asks for a minimum of events instead.
  void learn_labels(const Batch& in) {
    labels_.clear();
    labels_.reserve(spec_.keys.size() + kOwnColumns + inputs_.size());
    const auto learn = [&](size_t column, std::string_view done) {
      labels_.emplace_back(in.columns[column].sensitivity, path_through(in.columns[column], done));
    };
    for (const size_t k : keys_) learn(k, "key of window");
    if (spec_.kind == WindowKind::page) learn(page_, "key of window");
    // Start, end and revision: they say when, not what.
    for (int i = 0; i < 3; ++i) labels_.emplace_back(Sensitivity::open, "window");
    for (size_t a = 0; a < inputs_.size(); ++a)
      if (inputs_[a] == SIZE_MAX)
        labels_.emplace_back(Sensitivity::open, "rows > " + spec_.aggregates[a].out);
      else
        learn(inputs_[a], spec_.aggregates[a].out);
  }

  Batch layout() const override {
    Batch out;
    out.columns.reserve(spec_.keys.size() + kOwnColumns + spec_.aggregates.size());
    for (const std::string& k : spec_.keys) out.columns.push_back({k, Sensitivity::personal, {}});
    if (spec_.kind == WindowKind::page) out.columns.push_back({"page_instance", Sensitivity::personal, {}});
    for (const char* name : {"window_start", "window_end", "revision"})
      out.columns.push_back({name, Sensitivity::open, {}});
    for (const AggregateSpec& a : spec_.aggregates) out.columns.push_back({a.out, Sensitivity::personal, {}});
    for (size_t i = 0; i < labels_.size(); ++i) {
      out.columns[i].sensitivity = labels_[i].first;
      out.columns[i].path = labels_[i].second;
    }
    return out;
  }

  static constexpr size_t kOwnColumns = 4;  // at most: page_instance, window_start, window_end, revision

  WindowSpec spec_;
  std::vector<size_t> keys_, inputs_;
  size_t page_ = 0, event_ = 0;
  std::map<Id, Open> windows_;
  Id id_;  // of the row that is placed; its memory serves the next
  std::vector<std::pair<Sensitivity, std::string>> labels_;
};

}  // namespace

Result<std::unique_ptr<Operator>> make_window(WindowSpec spec) {
  const bool slides =
      spec.kind != WindowKind::sliding || (spec.slide_us > 0 && spec.size_us / spec.slide_us <= kMaxOverlaps);
  if ((spec.size_us <= 0 && spec.kind != WindowKind::whole) || !slides || spec.disorder_us < 0 ||
      spec.lateness_us < 0)
    return argument_error({"a window of ", spec.size_us, " us, slide ", spec.slide_us},
                          {"positive times, at most ", kMaxOverlaps, " overlaps"}, "window",
                          "correct its times");
  WALLE_TRY(check_duration(spec.size_us, "size", "window"));
  WALLE_TRY(check_duration(spec.slide_us, "slide", "window"));
  WALLE_TRY(check_duration(spec.disorder_us, "disorder", "window"));
  WALLE_TRY(check_duration(spec.lateness_us, "lateness", "window"));
  for (const AggregateSpec& a : spec.aggregates) WALLE_TRY(check_aggregate(a));
  return std::unique_ptr<Operator>(new Window(std::move(spec)));
}

}  // namespace walle::stream
