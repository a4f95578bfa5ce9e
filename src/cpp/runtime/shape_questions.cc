#include "runtime/shape_questions.h"

#include <algorithm>
#include <unordered_map>

#include "ops/symbolic.h"

namespace walle::runtime {

namespace {
// The program that would be if these nodes were all of it.
ops::Program program_of(const ops::Program& program, ShapeQuestions::Nodes nodes) {
  ops::Program out;
  std::unordered_map<ops::Ref, ops::Ref> known;
  const auto moved = [&](ops::Ref& r) {
    if (r < 0) return;
    const auto [at, fresh] = known.try_emplace(r, ops::kNoRef);
    if (fresh) at->second = out.add(program.at(r));
    r = at->second;
  };
  for (const ops::ProgramNode* node : nodes) {
    out.nodes.push_back(*node);
    std::ranges::for_each(out.nodes.back().inputs, moved);
    std::ranges::for_each(out.nodes.back().outputs, moved);
  }
  return out;
}

bool same_question(const ops::Program& a, const ops::Program& b) {
  return std::ranges::equal(a.nodes, b.nodes, [&](const ops::ProgramNode& x, const ops::ProgramNode& y) {
    return x.inputs == y.inputs && x.outputs == y.outputs && ops::are_alike(a, x, b, y);
  });
}

bool asked(const ops::Program& program, const ShapeQuestions::Ask& ask) {
  std::vector<const ops::ProgramNode*> nodes;
  for (const ops::ProgramNode& node : program.nodes) nodes.push_back(&node);
  return ask(program, nodes);
}
}  // namespace

bool ShapeQuestions::answer(Kind kind, const ops::Program& program, Nodes nodes, const Ask& ask) {
  const auto symbolic = [&](const ops::ProgramNode* node) { return ops::is_symbolic(program, *node); };
  if (!DimTrace::current() || std::ranges::none_of(nodes, symbolic)) return ask(program, nodes);
  const DimTrace::Scope plain(nullptr);
  Question question{.kind = kind, .program = program_of(program, nodes), .ask = ask};
  for (const Question& known : questions_)
    if (known.kind == kind && same_question(known.program, question.program)) return known.answer;
  question.answer = asked(question.program, ask);
  questions_.push_back(std::move(question));
  return questions_.back().answer;
}

void ShapeQuestions::for_each_size(const std::function<void(Dim&)>& visit) {
  for (Question& question : questions_) {
    for (ops::ProgramValue& value : question.program.values) ops::for_each_size(value, visit);
    for (ops::ProgramNode& node : question.program.nodes) ops::for_each_size(node, visit);
  }
}

bool ShapeQuestions::hold() const {
  return std::ranges::all_of(questions_,
                             [](const Question& q) { return asked(q.program, q.ask) == q.answer; });
}

}  // namespace walle::runtime
