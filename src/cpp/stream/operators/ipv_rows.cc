// The item page view feature as an operator: rows of page events in, one vector per page instance out.
#include <algorithm>
#include <map>

#include "stream/operators/ipv.h"
#include "stream/operators/watermarked.h"

namespace walle::stream {

namespace {

// The built-in events by their names, and what the feature takes of them at position 0 of their contents.
constexpr IpvFields kFields{.scroll_depth = 0, .exposure_item = 0, .click_item = 0};

// The built-in events alone. One for all operators: reading a graph makes three of them, two of which only
// say that they can be made.
const Catalog& built_in() {
  static const Catalog catalog;
  return catalog;
}

class Ipv final : public Watermarked {
 public:
  explicit Ipv(IpvSpec spec) : Watermarked("ipv", spec.disorder_us), spec_(std::move(spec)) {}

 private:
  static constexpr size_t kRead = 4;  // columns

  struct Row {
    int64_t ts;
    uint16_t event;
    Value content;  // a number, or absent
  };
  struct Page {
    std::vector<Row> rows;  // none of one that has been given out
    int64_t last = INT64_MIN, end = 0, support = 0;
    bool exited = false, given = false;
  };

  Status bind(const Batch& in) override {
    const std::string_view names[kRead] = {"page_instance", "event", spec_.depth, spec_.item};
    for (size_t i = 0; i < kRead; ++i) {
      WALLE_ASSIGN(columns_[i], column_of(in, names[i], "ipv"));
    }
    label_ = Sensitivity::open;
    path_.clear();
    for (const size_t c : columns_) {
      label_ = std::max(label_, in.columns[c].sensitivity);
      const Column& column = in.columns[c];
      if (!path_.empty()) path_ += ", ";
      path_ += column.path.empty() ? column.name : column.path;
    }
    path_ += " > ipv";
    key_ = {.name = "page_instance",
            .sensitivity = in.columns[columns_[0]].sensitivity,
            .cells = {},
            .path = path_through(in.columns[columns_[0]], "key of ipv")};
    return {};
  }

  // A number where the feature asks for one; anything else is as if it were not there.
  static Value content_of(EventKind kind, const Cell& depth, const Cell& item) {
    if (kind == EventKind::page_scroll && depth.number()) return depth;
    const bool shown = kind == EventKind::exposure || kind == EventKind::click;
    return shown && item.is(ColumnType::integer) ? item : Value();
  }

  void place(const Batch& in, size_t row, Batch& out) override {
    const Cell number = in.columns[columns_[0]].cells[row];
    // 0 is "no page" in the event log.
    if (!number.is(ColumnType::integer) || number.i == 0) {
      ++outside_;
      return;
    }
    Page& page = pages_[number.i];
    if (page.given) {
      ++late_;
      return;
    }
    const Cell name = in.columns[columns_[1]].cells[row];
    const auto event = name.is(ColumnType::text) ? built_in().find_event(name.text) : std::nullopt;
    // Others are events of the page that the feature does not look into; they count for its time.
    const uint16_t id = event ? *event : static_cast<uint16_t>(EventKind::timer);
    page.rows.push_back({in.ts[row], id,
                         content_of(static_cast<EventKind>(id), in.columns[columns_[2]].cells[row],
                                    in.columns[columns_[3]].cells[row])});
    page.support += in.support_of(row);
    page.last = std::max(page.last, in.ts[row]);
    page.exited = page.exited || id == static_cast<uint16_t>(EventKind::page_exit);
    page.end = page.exited ? page.last : page.last + spec_.idle_us;
    due_ = std::min(due_, page.end);
    if (page.rows.size() == kIpvRows) give(number.i, page, out);
  }

  // Pages that the watermark has reached, in order of their ends; forgets those given out when nothing of
  // them can come any more.
  void close(Batch& out) override {
    std::vector<std::pair<int64_t, int64_t>> closing;
    due_ = INT64_MAX;
    for (auto it = pages_.begin(); it != pages_.end();) {
      Page& page = it->second;
      if (page.given && forgotten_at(page) <= watermark_) {
        it = pages_.erase(it);
        continue;
      }
      if (!page.given && page.end <= watermark_)
        closing.emplace_back(page.end, it->first);
      else
        due_ = std::min(due_, page.given ? forgotten_at(page) : page.end);
      ++it;
    }
    std::sort(closing.begin(), closing.end());
    for (const auto& [end, number] : closing) {
      Page& page = pages_[number];
      give(number, page, out);
      due_ = std::min(due_, forgotten_at(page));
    }
  }
  // finish() sets the watermark to the largest number; sums must not wrap.
  int64_t forgotten_at(const Page& page) const {
    return page.end > INT64_MAX - spec_.idle_us ? INT64_MAX : page.end + spec_.idle_us;
  }

  void give(int64_t number, Page& page, Batch& out) {
    // The feature is of events in their order; of equal times the first that came is the first.
    std::stable_sort(page.rows.begin(), page.rows.end(),
                     [](const Row& a, const Row& b) { return a.ts < b.ts; });
    std::vector<Event> events;
    events.reserve(page.rows.size());
    for (const Row& row : page.rows) {
      Event& e = events.emplace_back();
      e.ts = row.ts;
      e.event = row.event;
      if (row.content.present) e.contents = std::span(&row.content, 1);
    }
    std::array<float, kIpvFloats> feature;
    ipv_feature(events, built_in(), kFields, feature);
    out.ts.push_back(page.end);
    out.support.push_back(page.support);
    put(out.columns[0], Cell::of(number));
    put(out.columns[1], Cell::of(page.rows.front().ts));
    put(out.columns[2], Cell::of(page.end));
    put(out.columns[3], Cell::of(std::span<const float>(feature)));
    page.given = true;
    page.rows = {};
  }

  Batch layout() const override {
    Batch out;
    out.columns.reserve(4);
    out.columns.push_back(key_);
    for (const char* name : {"window_start", "window_end"})
      out.columns.push_back({.name = name, .sensitivity = Sensitivity::open, .cells = {}, .path = "window"});
    out.columns.push_back({.name = spec_.out, .sensitivity = label_, .cells = {}, .path = path_});
    return out;
  }

  IpvSpec spec_;
  std::array<size_t, kRead> columns_{};
  Column key_{.name = "page_instance"};
  Sensitivity label_ = Sensitivity::personal;
  std::string path_;
  std::map<int64_t, Page> pages_;
};

}  // namespace

Result<std::unique_ptr<Operator>> make_ipv(IpvSpec spec) {
  if (spec.out.empty() || spec.depth.empty() || spec.item.empty() || spec.idle_us <= 0)
    return argument_error({"ipv '", spec.out, "' with an idle time of ", spec.idle_us, " us"},
                          "three names and a positive time", "ipv", "correct it");
  WALLE_TRY(check_duration(spec.idle_us, "idle", "ipv"));
  WALLE_TRY(check_duration(spec.disorder_us, "disorder", "ipv"));
  return std::unique_ptr<Operator>(new Ipv(std::move(spec)));
}

}  // namespace walle::stream
