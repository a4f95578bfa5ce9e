#include "stream/trigger/trigger_names.h"

namespace walle::stream {

namespace {

ColumnType suggested_type(const Predicate::Node& comparison) {
  if (class_of(comparison.op) == PredicateClass::operand) return ColumnType::real;
  // A whole number in a trigger says little: `price > 10` is meant for prices with cents.
  if (comparison.literals.empty() || comparison.literals[0].type == ColumnType::integer)
    return ColumnType::real;
  return comparison.literals[0].type;
}

void add_atoms(const std::vector<Atom>& atoms, TriggerNames& names) {
  for (const Atom& atom : atoms) {
    if (atom.event != "*") names.events.insert(atom.event);
    if (atom.page != "*") names.pages.insert(atom.page);
    for (const Predicate::Node& node : atom.predicate.nodes)
      if (!node.field.empty()) names.fields[node.field] = suggested_type(node);
  }
}

void add_steps(const std::vector<Step>& steps, TriggerNames& names) {
  for (const Step& step : steps) {
    add_atoms(step.any_of, names);
    add_atoms(step.guard, names);
    for (const auto& one : step.all_of) add_atoms(one, names);
  }
}

void add_key(const EventKey& key, TriggerNames& names) {
  for (const std::string& field : key.fields) names.fields.try_emplace(field, ColumnType::text);
}

}  // namespace

TriggerNames names_in(const TriggerSpec& spec) {
  TriggerNames names;
  add_steps(spec.steps, names);
  for (const auto& steps : spec.others) add_steps(steps, names);
  add_atoms(spec.absent, names);
  if (spec.aggregate.of_numbers()) names.fields[spec.aggregate.field] = ColumnType::real;
  if (spec.aggregate.of_values()) names.fields.try_emplace(spec.aggregate.field, ColumnType::text);
  for (const EventKey& key : {spec.by, spec.once_per.key, spec.cooldown_per.key, spec.rate_per.key})
    add_key(key, names);
  for (const auto& all : spec.when)
    for (const StateTerm& term : all) names.states.insert(term.name);
  return names;
}

}  // namespace walle::stream
