#include "ops/composite/einsum_plan.h"

#include <algorithm>
#include <cctype>

namespace walle::ops {

namespace {
constexpr int kEllipsis = 256;  // the first label that is no letter

Error wrong(Text equation, Text given, Text expected) {
  return model_error(given, expected, {"Einsum equation '", equation, "'"},
                     "correct the equation or the operands");
}

// One term's labels; an ellipsis stands for `extra` axes.
Result<std::vector<int>> parse_term(const std::string& equation, const std::string& term, int extra) {
  std::vector<int> labels;
  bool ellipsis = false;
  for (size_t i = 0; i < term.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(term[i]))) {
      // Upper and lower case are different labels, as in NumPy; ONNX does not say.
      labels.push_back(term[i]);
    } else if (term.compare(i, 3, "...") == 0 && !ellipsis) {
      ellipsis = true;
      i += 2;
      // Counted from the right, so that ellipses of different ranks broadcast at their last axes.
      for (int k = extra - 1; k >= 0; --k) labels.push_back(kEllipsis + k);
    } else {
      return wrong(equation, {"character '", term.substr(i, 1), "'"},
                   "letters and at most one ellipsis per term");
    }
  }
  return labels;
}

std::vector<std::string> split_terms(const std::string& list) {
  std::vector<std::string> terms(1);
  for (char ch : list) {
    if (ch == ',')
      terms.emplace_back();
    else
      terms.back().push_back(ch);
  }
  return terms;
}

int letters(const std::string& term) {
  return static_cast<int>(
      std::ranges::count_if(term, [](unsigned char ch) { return std::isalpha(ch) != 0; }));
}

// Without an arrow: the ellipsis axes, then the letters that occur once, in alphabetical order.
std::vector<int> implied_output(const EinsumPlan& plan) {
  std::map<int, int> uses;
  for (const auto& labels : plan.inputs)
    for (int label : labels) ++uses[label];
  std::vector<int> out;
  for (const auto& [label, count] : uses)
    // The map ascends, labels count from the right: the widest axis comes first.
    if (label >= kEllipsis) out.insert(out.begin(), label);
  for (const auto& [label, count] : uses)
    if (label < kEllipsis && count == 1) out.push_back(label);
  return out;
}

Status note_sizes(EinsumPlan& plan, const std::string& equation, const std::vector<Shape>& shapes) {
  for (size_t k = 0; k < shapes.size(); ++k) {
    const auto& labels = plan.inputs[k];
    if (static_cast<int>(labels.size()) != shapes[k].rank())
      return wrong(equation, {"operand ", k, " of shape ", shapes[k].text()}, {labels.size(), " axes"});
    for (int i = 0; i < shapes[k].rank(); ++i) {
      // 1 until an operand says more: axes of 1 broadcast.
      Dim& size = plan.size.try_emplace(labels[i], 1).first->second;
      const Dim given = shapes[k].dim(i);
      if (size != given && size != 1 && given != 1)
        return wrong(equation, {"sizes ", size.value(), " and ", given.value(), " for one label"},
                     "equal sizes");
      if (given != 1) size = given;
    }
  }
  return {};
}
}  // namespace

Result<EinsumPlan> parse_einsum(const std::string& equation, const std::vector<Shape>& shapes) {
  std::string text = equation;
  std::erase_if(text, [](unsigned char ch) { return std::isspace(ch) != 0; });
  // npos takes the whole text as operands.
  const size_t arrow = text.find("->");
  const std::vector<std::string> terms = split_terms(text.substr(0, arrow));
  if (terms.size() != shapes.size())
    return wrong(equation, {shapes.size(), " operands"}, {terms.size(), " operands"});
  EinsumPlan plan;
  int widest = 0;
  for (size_t k = 0; k < terms.size(); ++k) {
    // The ellipsis stands for all axes that have no letter.
    const int extra = terms[k].find("...") == std::string::npos ? 0 : shapes[k].rank() - letters(terms[k]);
    if (extra < 0)
      return wrong(equation, {"operand ", k, " of shape ", shapes[k].text()}, "an axis for every letter");
    widest = std::max(widest, extra);
    WALLE_ASSIGN(auto labels, parse_term(equation, terms[k], extra));
    plan.inputs.push_back(std::move(labels));
  }
  WALLE_TRY(note_sizes(plan, equation, shapes));
  if (arrow == std::string::npos) {
    plan.output = implied_output(plan);
  } else {
    WALLE_ASSIGN(plan.output, parse_term(equation, text.substr(arrow + 2), widest));
  }
  for (int label : plan.output)
    // A label of the result that no operand has would be an axis of unknown size.
    if (!plan.size.contains(label) || std::ranges::count(plan.output, label) > 1)
      return wrong(equation, "the result's labels", "labels of the operands, each once");
  if (std::ssize(plan.output) > base::kMaxRank)
    return wrong(equation, "a result of too many axes", {"at most ", base::kMaxRank, " axes"});
  return plan;
}

}  // namespace walle::ops
