// Predicate: a predicate over an event's declared fields: `price > 10 and (brand in ("a", "b") or not sale)`.
//
// Two-valued: a comparison with a field the event lacks is false. Depends on the one event alone, so its
// value is computed at most once per event whatever the number of patterns that ask (stream/match/matcher.h);
// only one that names the step before (`price < $view.price`) also depends on that step's event.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stream/event/event.h"

namespace walle::stream {

enum class PredicateOp : uint8_t {
#define WALLE_PREDICATE(op, symbol, group) op,
#include "stream/trigger/predicate_op.inc"
};

// See predicate_op.inc.
enum class PredicateClass : uint8_t { logic, order, text, test, operand, arithmetic };

struct PredicateFacts {
  std::string_view symbol;
  PredicateClass group;
};
inline constexpr PredicateFacts kPredicates[] = {
#define WALLE_PREDICATE(op, symbol, group) {symbol, PredicateClass::group},
#include "stream/trigger/predicate_op.inc"
};
inline PredicateClass class_of(PredicateOp op) { return kPredicates[static_cast<size_t>(op)].group; }
inline std::string symbol(PredicateOp op) { return std::string(kPredicates[static_cast<size_t>(op)].symbol); }
// Whether a comparison of this order holds between what compares as -1, 0 or 1.
bool holds(PredicateOp op, int order);

struct Literal {
  ColumnType type = ColumnType::integer;
  int64_t i = 0;
  double d = 0;  // numbers carry both forms
  std::string text;
  friend bool operator==(const Literal&, const Literal&) = default;
};

struct Predicate {
  struct Node {
    PredicateOp op = PredicateOp::always;
    uint16_t left = 0,
             right = 0;     // operands of logical operators, arithmetic, and comparisons without a field
    std::string field;      // of the comparisons
    uint16_t field_id = 0;  // filled by resolve()
    std::vector<Literal> literals;
    int position = 0;  // byte in the trigger's text
    int column = 1;    // the same in letters, from 1
    friend bool operator==(const Node& a, const Node& b) {
      return a.op == b.op && a.left == b.left && a.right == b.right && a.field == b.field &&
             a.literals == b.literals;
    }
  };
  std::vector<Node> nodes;  // the last one is the root; empty: always true

  bool empty() const { return nodes.empty(); }
  std::string text() const;  // canonical: equal predicates print equally
  // `before`: the values that references name, in the order of their places.
  bool evaluate(const Event& event, const Catalog& catalog, const Value* before = nullptr) const;
  bool refers() const;  // to the step before
  // Fields to ids, literal types against the declarations of `event` (kAny: of any event that has the field).
  Status resolve(const Catalog& catalog, uint16_t event);
  friend bool operator==(const Predicate&, const Predicate&) = default;
};

}  // namespace walle::stream
