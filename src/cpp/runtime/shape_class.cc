#include "runtime/shape_class.h"

#include <algorithm>
#include <map>

#include "ops/symbolic.h"
#include "runtime/search_options.h"
#include "search/refit.h"

namespace walle::runtime {

std::unique_ptr<ShapeClass> ShapeClass::of(const DimTrace& trace, const std::vector<Dim>& symbols,
                                           std::unique_ptr<ShapeQuestions> questions, bool views_move,
                                           Executable& executable) {
  if (!trace.complete() || !search::stays_in_host_memory(executable.plan())) return nullptr;
  std::unique_ptr<ShapeClass> out(new ShapeClass(executable, std::move(questions)));
  const ops::Program& program = executable.program();
  for (size_t r = 0; r < program.values.size(); ++r)
    if (program.values[r].shape.symbolic()) out->values_.push_back(static_cast<ops::Ref>(r));
  for (size_t n = 0; n < program.nodes.size(); ++n)
    if (ops::is_symbolic(program, program.nodes[n])) out->nodes_.push_back(n);
  // One result for each term, however many sizes it is.
  std::map<Dim::Term, size_t> numbers;
  std::vector<Dim::Term> terms;
  out->for_each_size([&](const Dim& d) {
    const auto [at, fresh] = numbers.try_emplace(d.term(), terms.size());
    if (fresh) terms.push_back(d.term());
    out->result_of_size_.push_back(at->second);
  });
  out->sizes_ = tensor::DimProgram(trace, terms);
  out->group_steps();
  executable.allow_refit(out->values_, views_move);
  for (const Dim d : symbols) {
    out->symbols_.push_back(d.term());
    out->fitted_.push_back(d.value());
  }
  return out->holds_beside() ? std::move(out) : nullptr;
}

// A class of one member is a plan for its own sizes.
bool ShapeClass::holds_beside() const {
  constexpr int64_t kNear = 2;
  std::vector<int64_t> results;
  for (int64_t step = 1; step <= kNear; ++step) {
    std::vector<int64_t> beside = fitted_;
    for (int64_t& symbol : beside) symbol += step;
    if (sizes_.evaluate(beside, results)) return true;
  }
  return false;
}

void ShapeClass::for_each_size(const std::function<void(Dim&)>& visit) {
  questions_->for_each_size(visit);
  ops::Program& program = executable_.resizable_program();
  for (const ops::Ref r : values_) ops::for_each_size(program.at(r), visit);
  for (const size_t n : nodes_) ops::for_each_size(program.nodes[n], visit);
}

void ShapeClass::group_steps() {
  const ops::Program& program = executable_.program();
  const auto node_of = [&](size_t step) -> const ops::ProgramNode& {
    return program.nodes[executable_.plan().steps[step].node];
  };
  for (size_t s = 0; s < executable_.plan().steps.size(); ++s) {
    if (!ops::is_symbolic(program, node_of(s))) continue;
    const auto known = std::ranges::find_if(alike_, [&](const std::vector<size_t>& steps) {
      return ops::are_alike(program, node_of(steps[0]), program, node_of(s));
    });
    if (known == alike_.end())
      alike_.push_back({s});
    else
      known->push_back(s);
  }
}

// What lowering asked of the sizes it saw.
bool ShapeClass::sizes_allowed() const {
  const ops::Program& program = executable_.program();
  return std::ranges::all_of(values_, [&](ops::Ref r) {
    const ops::ProgramValue& value = program.at(r);
    return value.shape.check(std::max<int64_t>(dtype_size(value.dtype), 1), {}).ok();
  });
}

Result<bool> ShapeClass::fit(const std::vector<int64_t>& symbols, SharedState& shared) {
  if (symbols == fitted_) return true;
  if (!sizes_.evaluate(symbols, results_)) return false;
  fitted_.clear();
  ++fits_;
  size_t next = 0;
  for_each_size([&](Dim& d) { d = {results_[result_of_size_[next++]], d.term()}; });
  if (!sizes_allowed() || !questions_->hold()) return false;
  WALLE_ASSIGN(const search::SearchOptions options, search_options(shared));
  // What no backend runs in this form is for a plan of its own, which may have another.
  const Executable::Choose choose = [&](const ops::ProgramNode& node) {
    auto choice = search::choice_in_host_memory(executable_.program(), node, shared.backends, options);
    return choice.ok() ? std::move(*choice) : std::nullopt;
  };
  WALLE_ASSIGN(const bool fits, executable_.refit(alike_, values_, choose, shared.constants));
  if (fits) fitted_ = symbols;
  return fits;
}

}  // namespace walle::runtime
