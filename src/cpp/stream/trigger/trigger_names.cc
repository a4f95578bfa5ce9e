#include "stream/trigger/trigger_names.h"

namespace walle::stream {

namespace {

FieldType suggested_type(const Predicate::Node& comparison) {
  // A whole number in a trigger says little: `price > 10` is meant for prices with cents.
  if (comparison.literals.empty() || comparison.literals[0].type == FieldType::i64) return FieldType::f64;
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

}  // namespace

TriggerNames names_in(const TriggerSpec& spec) {
  TriggerNames names;
  for (const Step& step : spec.steps) {
    add_atoms(step.any_of, names);
    add_atoms(step.guard, names);
  }
  add_atoms(spec.absent, names);
  if (!spec.by.empty()) names.fields.try_emplace(spec.by, FieldType::text);
  for (const auto& all : spec.when)
    for (const StateTerm& term : all) names.states.insert(term.name);
  return names;
}

}  // namespace walle::stream
