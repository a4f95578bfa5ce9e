#include "runtime/shape_class.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/symbolic.h"
#include "runtime/search_options.h"
#include "search/make_plan.h"
#include "search/refit.h"

namespace walle::runtime {

std::unique_ptr<ShapeClass> ShapeClass::of(const DimTrace& trace, const std::vector<Dim>& symbols,
                                           std::unique_ptr<ShapeQuestions> questions, bool views_move,
                                           Executable& executable) {
  if (!trace.complete()) return nullptr;
  std::unique_ptr<ShapeClass> out(new ShapeClass(executable, std::move(questions)));
  const ops::Program& program = executable.program();
  std::set<std::vector<int64_t>> shapes;
  for (size_t r = 0; r < program.values.size(); ++r) {
    const ops::ProgramValue& value = program.values[r];
    if (!value.shape.symbolic()) continue;
    out->values_.push_back(static_cast<ops::Ref>(r));
    std::vector<int64_t> shape{dtype_size(value.dtype)};
    for (int a = 0; a < value.shape.rank(); ++a)
      shape.insert(shape.end(), {value.shape.dim(a).value(), value.shape.dim(a).term()});
    if (shapes.insert(std::move(shape)).second) out->asked_.push_back(static_cast<ops::Ref>(r));
  }
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
  out->views_move_ = views_move;
  out->in_host_memory_ = search::stays_in_host_memory(executable.plan());
  if (out->in_host_memory_) executable.allow_refit(out->values_, views_move);
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
  const std::vector<search::Step>& steps = executable_.plan().steps;
  for (size_t s = 0; s < steps.size(); ++s)
    if (!steps[s].is_copy() && ops::is_symbolic(program, program.nodes[steps[s].node])) add_step(s);
}

void ShapeClass::add_step(size_t step) {
  const ops::Program& program = executable_.program();
  const auto node_of = [&](size_t s) -> const ops::ProgramNode& {
    return program.nodes[executable_.plan().steps[s].node];
  };
  const auto group = std::ranges::find_if(alike_, [&](const Executable::AlikeSteps& known) {
    return ops::are_alike(program, node_of(known[0][0]), program, node_of(step));
  });
  if (group == alike_.end()) {
    alike_.push_back({{step}});
    return;
  }
  // Alike steps may have been placed in two memories, where each has a kernel of its own.
  const std::vector<search::Step>& steps = executable_.plan().steps;
  const auto shared = std::ranges::find_if(*group, [&](const std::vector<size_t>& known) {
    return steps[known[0]].chosen.backend == steps[step].chosen.backend &&
           ops::share_constants(program, node_of(known[0]), node_of(step));
  });
  if (shared == group->end())
    group->push_back({step});
  else
    shared->push_back(step);
}

// What lowering asked of the sizes it saw.
bool ShapeClass::sizes_allowed() const {
  const ops::Program& program = executable_.program();
  return std::ranges::all_of(asked_, [&](ops::Ref r) {
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
  bool fits = false;
  if (in_host_memory_) {
    WALLE_ASSIGN(fits, fit_in_host_memory(options, shared));
  }
  if (!fits) {
    WALLE_ASSIGN(fits, fit_placement(options, shared));
  }
  if (fits) fitted_ = symbols;
  return fits;
}

Result<bool> ShapeClass::fit_in_host_memory(const search::SearchOptions& options, SharedState& shared) {
  const Executable::Choose choose = [&](const ops::ProgramNode& node) {
    auto choice = search::choice_in_host_memory(executable_.program(), node, shared.backends, options);
    return choice.ok() ? std::move(*choice) : std::nullopt;
  };
  return executable_.refit(alike_, values_, choose, shared.constants);
}

// Everything but the passes again: where memories are weighed against each other no step is chosen alone.
Result<bool> ShapeClass::fit_placement(const search::SearchOptions& options, SharedState& shared) {
  auto plan = search::make_plan(executable_.program(), shared.backends, options);
  // What no backend runs in this form is for a plan of its own, which may have another.
  if (!plan.ok()) return false;
  WALLE_ASSIGN(const bool fits, executable_.refit(alike_, std::move(*plan), shared.constants));
  if (!fits) return false;
  in_host_memory_ = search::stays_in_host_memory(executable_.plan());
  if (in_host_memory_) executable_.allow_refit(values_, views_move_);
  return true;
}

}  // namespace walle::runtime
