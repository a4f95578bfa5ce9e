// Random graphs over random rows of the columns id, v, page_instance and event.
#pragma once

#include <random>

#include "stream/batches.h"
#include "stream/graph/graph.h"

namespace walle::stream::testing {

class Doubler final : public Encoder {
 public:
  Status run(std::span<const float> in, size_t, Floats& out) override {
    for (const float f : in) out.push_back(2 * f);
    return {};
  }
};

class Doublers final : public GraphResources {
 public:
  Result<std::shared_ptr<Encoder>> encoder(const std::string& name) override {
    asked.push_back(name);
    return std::shared_ptr<Encoder>(std::make_shared<Doubler>());
  }
  std::vector<std::string> asked;
};

class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : random_(seed) {}

  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  // Mostly forward in time, sometimes far back; few keys; some values absent.
  Batch rows(size_t n) {
    Cells id, v, instance, event;
    std::vector<int64_t> ts;
    int64_t now = below(100) - 50;
    constexpr const char* kEvents[] = {"click", "page_scroll", "exposure", "page_exit"};
    for (size_t i = 0; i < n; ++i) {
      now += below(8);
      ts.push_back(now - (below(5) ? 0 : below(60)));
      id.emplace_back(below(3)), instance.emplace_back(below(4));
      if (below(6))
        v.emplace_back(static_cast<double>(below(20)) / 4);
      else
        v.emplace_back();
      event.emplace_back(std::string(kEvents[below(4)]));
    }
    return batch(std::move(ts), {{"id", id}, {"v", v}, {"page_instance", instance}, {"event", event}});
  }

  GraphSpec graph(bool joins = true) {
    GraphSpec out;
    for (int64_t n = below(4); n > 0; --n) out.steps.push_back({row_step()});
    if (below(3)) out.steps.push_back({last_step()});
    // What has no column to join by has no join.
    const bool keyed = out.steps.empty() || !(std::holds_alternative<EncodeStep>(out.steps.back().what) ||
                                              std::holds_alternative<IpvSpec>(out.steps.back().what));
    if (joins && below(4) == 0 && keyed)
      out.steps.push_back({JoinStep{
          .keys = {"id"}, .within_us = below(2) * below(50), .second_input = false, .right = right_side()}});
    return out;
  }

  AggregateSpec aggregate(const std::string& out) {
    const auto kind = static_cast<AggregateKind>(below(9));
    return {kind, kind == AggregateKind::count ? "" : "v", out, 3, 0, 4};
  }

 private:
  std::vector<std::string> keys() {
    return below(2) ? std::vector<std::string>{"id"} : std::vector<std::string>{};
  }

  GraphStep::Any row_step() {
    switch (below(6)) {
      case 0: return FilterStep{.predicate = below(2) ? "v > 2 or id == 1" : "exists v"};
      case 1:
        return MapStep{.out = below(2) ? "v" : "w",
                       .left = "v",
                       .op = "+-*/="[below(5)],
                       .right = below(2) ? "id" : "3"};
      case 2:
        return DedupeStep{.keys = {"id", "v"},
                          .within_us = below(2) * below(40),
                          .max_keys = 1 + static_cast<uint64_t>(below(20))};
      case 3:
        return StateSpec{.kind = static_cast<StateKind>(below(3)),
                         .keys = keys(),
                         .column = "v",
                         .aggregate = {},
                         .out = "s",
                         .max_keys = 1 + static_cast<size_t>(below(4))};
      case 4:
        return StateSpec{.kind = StateKind::running,
                         .keys = keys(),
                         .column = "v",
                         .aggregate = aggregate("r"),
                         .out = "r",
                         .max_keys = 9};
      default: return SelectStep{.columns = {"id", "v", "page_instance", "event"}};
    }
  }
  GraphStep::Any last_step() {
    if (below(6) == 0) return EncodeStep{.columns = {"id", "page_instance"}, .out = "code", .model = "m"};
    if (below(6) == 0)
      return IpvSpec{.depth = "v",
                     .item = "id",
                     .out = "ipv",
                     .idle_us = 1 + below(40),
                     .disorder_us = below(2) * below(30)};
    WindowSpec s{static_cast<WindowKind>(below(5)),
                 1 + below(30),
                 1 + below(20),
                 below(2) * below(30),
                 below(2) * below(40),
                 {"id"},
                 {}};
    for (int64_t n = 1 + below(3); n > 0; --n) s.aggregates.push_back(aggregate("a" + std::to_string(n)));
    return s;
  }
  std::vector<GraphStep> right_side() {
    std::vector<GraphStep> out;
    for (int64_t n = below(3); n > 0; --n) out.push_back({row_step()});
    return out;
  }

  std::mt19937_64 random_;
};

}  // namespace walle::stream::testing
