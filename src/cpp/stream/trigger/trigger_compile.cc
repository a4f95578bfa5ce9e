#include "stream/trigger/trigger_compile.h"

#include <algorithm>

#include "base/hash.h"
#include "stream/trigger/trigger_lexer.h"

namespace walle::stream {

namespace {

class Compiler {
 public:
  Compiler(const TriggerSpec& spec, const Catalog& catalog, std::string_view source)
      : spec_(spec), catalog_(catalog), source_(source) {}

  Result<CompiledTrigger> run() {
    out_.spec = spec_;
    // Canonical: two spellings of one trigger have one fingerprint, and so one set of idempotency keys.
    out_.text = format_trigger(spec_);
    out_.fingerprint = base::Hasher().text(out_.text).finish();
    // Warnings are for `lint`; a trigger that can never fire is refused, or its author would wait for it.
    for (const Finding& f : lint_trigger(spec_))
      if (f.error)
        return argument_error(f.message, "a trigger that can fire", place(f.position), "correct the trigger");
    WALLE_TRY(limits(spec_.steps));
    for (const auto& steps : spec_.others) WALLE_TRY(limits(steps));
    WALLE_TRY(states());
    WALLE_ASSIGN(out_.by, key(spec_.by, "scope by"));
    WALLE_ASSIGN(out_.once_per, key(spec_.once_per.key, "once per "));
    WALLE_ASSIGN(out_.cooldown_per, key(spec_.cooldown_per.key, "cooldown per "));
    WALLE_ASSIGN(out_.rate_per, key(spec_.rate_per.key, "rate per "));
    if (!spec_.aggregate.field.empty()) WALLE_TRY(aggregate());
    WALLE_TRY(atoms(spec_.absent, out_.absent, nullptr, nullptr));
    if (!spec_.steps.empty()) WALLE_TRY(variants(spec_.steps, within(0)));
    for (size_t i = 0; i < spec_.others.size(); ++i) WALLE_TRY(variants(spec_.others[i], within(i + 1)));
    return std::move(out_);
  }

 private:
  std::string place(int position) const {
    return source_.empty() ? "trigger '" + out_.text + "'" : place_in(source_, position);
  }

  Result<CompiledKey> key(const EventKey& in, const std::string& where) const {
    CompiledKey out{.fields = {}, .page = in.page, .session = in.session};
    for (const std::string& name : in.fields) {
      const auto id = catalog_.find_field(name);
      if (!id)
        return argument_error({where, "(", name, ")"}, "a declared field", place(0),
                              "declare the field or correct its name");
      out.fields.push_back(*id);
    }
    std::sort(out.fields.begin(), out.fields.end());
    return out;
  }

  // The field of a sum or a number of distinct values, in the events that may have it.
  Status aggregate() {
    const auto id = catalog_.find_field(spec_.aggregate.field);
    bool declared = false;
    out_.whole = true;
    for (size_t e = 0; id && e < catalog_.events().size(); ++e) {
      const FieldDecl* field = catalog_.field(static_cast<uint16_t>(e), *id);
      const bool wanted =
          field &&
          std::any_of(spec_.steps[0].any_of.begin(), spec_.steps[0].any_of.end(),
                      [&](const Atom& a) { return a.event == "*" || a.event == catalog_.events()[e].name; });
      if (!wanted) continue;
      declared = true;
      out_.whole &= field->type == ColumnType::integer;
      if (spec_.aggregate.of_numbers() && field->type != ColumnType::integer &&
          field->type != ColumnType::real)
        return argument_error({"a ", spec_.aggregate.word(), " of field '", field->name, "' of type ",
                               column_type_name(field->type)},
                              "a number", place(spec_.steps[0].position),
                              {"count its values: distinct(", field->name, ")"});
    }
    if (!declared)
      return argument_error({"field '", spec_.aggregate.field, "', which none of the events declares"},
                            "a declared field", place(spec_.steps[0].position),
                            "declare the field or correct its name");
    out_.aggregate_field = *id;
    return {};
  }

  Status limits(const std::vector<Step>& all) const {
    int steps = 0, optional = 0;
    for (const Step& s : all) {
      steps += s.all_of.empty() ? s.count : static_cast<int>(s.all_of.size());
      optional += s.optional;
      // The parser never gives these; the Python builder could.
      if (s.count < 1 || s.any_of.empty() == s.all_of.empty())
        return argument_error("an empty step", "an event", place(s.position), "name an event");
    }
    if (steps > kMaxSteps)
      return argument_error({steps, " steps with counts written out"}, {"at most ", kMaxSteps}, place(0),
                            "split the trigger");
    if (optional > kMaxOptional)
      return argument_error({optional, " optional steps"}, {"at most ", kMaxOptional}, place(0),
                            "split the trigger");
    return {};
  }

  Status states() {
    for (const auto& all : spec_.when) {
      StateGuard g;
      for (const StateTerm& t : all) {
        const auto id = catalog_.find_state(t.name);
        if (!id)
          return argument_error({"state '", t.name, "'"}, "a declared state", place(0),
                                "declare the state or correct its name");
        const uint64_t bit = uint64_t{1} << *id;
        // `wifi and not wifi` never holds; `wifi and wifi` does and needs no second bit.
        if ((g.mask & bit) && ((g.value & bit) != 0) != t.wanted)
          return argument_error({"'", t.name, "' wanted both on and off"}, "a guard that can hold", place(0),
                                "remove one of them");
        g.mask |= bit;
        if (t.wanted) g.value |= bit;
      }
      out_.when.push_back(g);
    }
    return {};
  }

  // `before` and `captures`: of the step that the atom belongs to, null where none can be compared with.
  Result<CompiledAtom> atom(const Atom& a, const CompiledStep* before, std::vector<CapturedField>* captures) {
    CompiledAtom c;
    if (a.event != "*") {
      const auto id = catalog_.find_event(a.event);
      if (!id)
        return argument_error({"event '", a.event, "'"}, "a declared event", place(a.position),
                              "declare it or correct its name");
      c.event = *id;
    }
    if (a.page != "*") {
      const auto id = catalog_.find_page(a.page);
      if (!id)
        return argument_error({"page '", a.page, "'"}, "a known page", place(a.position),
                              "declare the page or correct its name");
      c.page = *id;
    }
    if (a.predicate.empty()) return c;
    Predicate p = a.predicate;
    if (Status s = p.resolve(catalog_, c.event); !s.ok()) {
      s.error().within(place(a.position));
      return s.take_error();
    }
    if (p.refers()) WALLE_TRY(references(p, a, before, captures));
    const auto same = std::find(out_.predicates.begin(), out_.predicates.end(), p);
    c.predicate = static_cast<int32_t>(same - out_.predicates.begin());
    if (same == out_.predicates.end()) out_.predicates.push_back(std::move(p));
    return c;
  }

  // Each reference to the place where the step before leaves its number.
  Status references(Predicate& p, const Atom& a, const CompiledStep* before,
                    std::vector<CapturedField>* captures) {
    if (!before || !captures)
      return argument_error("a comparison with the step before, where there is no one such step",
                            "a single step behind '>' or '~>'", place(a.position),
                            "write view ~> buy[price < $view.price]");
    for (auto& n : p.nodes) {
      if (n.op != PredicateOp::reference) continue;
      const auto event = catalog_.find_event(n.literals[0].text);
      const auto id = catalog_.find_field(n.field);
      const bool is_before = event && std::any_of(before->atoms.begin(), before->atoms.end(),
                                                  [&](const CompiledAtom& b) { return b.event == *event; });
      if (!is_before)
        return argument_error({"'$", n.literals[0].text, ".", n.field, "'"},
                              "an event of the step directly before", place(n.position),
                              "name that step's event; only its newest values are kept");
      const FieldDecl* field = id ? catalog_.field(*event, *id) : nullptr;
      if (!field || (field->type != ColumnType::integer && field->type != ColumnType::real))
        return argument_error({"field '", n.field, "' of event '", n.literals[0].text, "'"},
                              "a declared field that is a number", place(n.position),
                              "compare numbers; for equal texts use scope by(field)");
      const CapturedField wanted{*event, *id};
      const auto at = std::find(captures->begin(), captures->end(), wanted);
      n.right = static_cast<uint16_t>(at - captures->begin());
      if (at == captures->end()) captures->push_back(wanted);
      if (captures->size() > kMaxCaptures)
        return argument_error({"more than ", kMaxCaptures, " numbers of the step before"}, "fewer",
                              place(n.position), "split the trigger");
    }
    return {};
  }

  // Sorted, and without those that another one implies.
  Status atoms(const std::vector<Atom>& in, std::vector<CompiledAtom>& out, const CompiledStep* before,
               std::vector<CapturedField>* captures) {
    for (const Atom& a : in) {
      WALLE_ASSIGN(const CompiledAtom c, atom(a, before, captures));
      out.push_back(c);
    }
    // Sets in one order, or equal steps would not share a node.
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    std::vector<CompiledAtom> kept;
    for (const CompiledAtom& a : out)
      // `view@* | view@item` is `view@*`: the narrower one would only cost edges.
      if (std::none_of(out.begin(), out.end(),
                       [&](const CompiledAtom& b) { return !(a == b) && implies(b, a); }))
        kept.push_back(a);
    out = std::move(kept);
    return {};
  }

  // Whatever `narrow` accepts, `wide` accepts too.
  static bool implies(const CompiledAtom& wide, const CompiledAtom& narrow) {
    // Whether one predicate implies another is not asked: that is a theorem prover's question.
    return wide.predicate == -1 && (wide.event == kAny || wide.event == narrow.event) &&
           (wide.page == kAny || wide.page == narrow.page);
  }

  using Chain = std::vector<CompiledStep>;

  bool refers(const CompiledAtom& a) const { return a.predicate >= 0 && a.of(out_.predicates).refers(); }

  int64_t within(size_t pattern) const {
    const bool own = pattern < spec_.own_within.size() && spec_.own_within[pattern];
    return own ? spec_.own_within[pattern] : spec_.within_us.value_or(-1);
  }

  // An absent optional step goes with the edge before it; a step left without predecessor becomes the first.
  Status variants(const std::vector<Step>& steps, int64_t within_us) {
    const auto optional = std::count_if(steps.begin(), steps.end(), [](const Step& s) { return s.optional; });
    // One bit per optional step, at most four: 16 chains, which share their prefixes in the trie.
    for (unsigned skip = 0; skip < (1u << optional); ++skip) {
      std::vector<Chain> chains(1);
      unsigned bit = 1;  // of the next optional step
      for (const Step& s : steps) {
        const bool skipped = s.optional && (skip & bit);
        if (s.optional) bit <<= 1;
        if (!skipped) WALLE_TRY(append(s, chains));
      }
      for (Chain& chain : chains) WALLE_TRY(add_variant(std::move(chain), within_us));
    }
    return {};
  }

  Status add_variant(Chain chain, int64_t within_us) {
    if (chain.empty()) return {};
    // `a? a` gives the chain a twice; of two windows the wider one holds.
    const auto known = std::find(out_.variants.begin(), out_.variants.end(), chain);
    if (known != out_.variants.end()) {
      int64_t& there = out_.within_us[static_cast<size_t>(known - out_.variants.begin())];
      there = there < 0 || within_us < 0 ? -1 : std::max(there, within_us);
      return {};
    }
    out_.variants.push_back(std::move(chain));
    out_.within_us.push_back(within_us);
    if (std::cmp_less_equal(out_.variants.size(), kMaxVariants)) return {};
    return argument_error({"more than ", kMaxVariants,
                           " chains, with alternatives, optional steps and the orders of all() written out"},
                          "fewer", place(0), "split the trigger");
  }

  // A step behind every chain; one of all() in each order of its events.
  Status append(const Step& s, std::vector<Chain>& chains) {
    if (s.all_of.empty()) {
      for (Chain& chain : chains) WALLE_TRY(append_step(s, s.any_of, s.count, chain));
      return {};
    }
    std::vector<size_t> order(s.all_of.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::vector<Chain> out;
    do {
      for (Chain chain : chains) {
        for (const size_t i : order)
          WALLE_TRY(append_step(i == order[0] ? s : later_, s.all_of[i], 1, chain));
        out.push_back(std::move(chain));
      }
    } while (std::next_permutation(order.begin(), order.end()));
    chains = std::move(out);
    return {};
  }

  // `edge` says how it follows; `count` times.
  Status append_step(const Step& edge, const std::vector<Atom>& any_of, int count, Chain& chain) {
    CompiledStep c;
    const bool first = chain.empty();
    // Which earlier event is meant must be certain: the one before, or the newest.
    const bool certain =
        !first && count == 1 && (edge.follow == Follow::next || edge.follow == Follow::newest);
    WALLE_TRY(atoms(any_of, c.atoms, certain ? &chain.back() : nullptr, certain ? &c.captures : nullptr));
    if (!first) {
      c.follow = edge.follow == Follow::first ? Follow::later : edge.follow;
      // An edge with a least time alone is open upwards: the clause would shut it.
      const int64_t others = edge.least_us ? -1 : spec_.gap_us.value_or(-1);
      c.gap_us = edge.gap_us ? *edge.gap_us : others;
      if (edge.least_us) c.least_us = edge.least_us;
    } else if (edge.follow == Follow::first) {
      c.gap_us = edge.gap_us.value_or(-1);
    }
    // The newest of what a comparison decides depends on the match that is under way.
    if (c.follow == Follow::newest && std::any_of(chain.back().atoms.begin(), chain.back().atoms.end(),
                                                  [&](const CompiledAtom& a) { return refers(a); }))
      return argument_error("'~>' behind a step that compares with the one before it",
                            "'>', or a step without", place(edge.position),
                            "compare once, or with the event just before");
    // The guard of a step that lost its predecessor went with it.
    if (!first || edge.follow == Follow::first) WALLE_TRY(atoms(edge.guard, c.guard, nullptr, nullptr));
    atoms_ += c.guard.size() + c.atoms.size() * count;
    // Counted while they are made: 16 steps of 64 alternatives in 16 variants would be 16,384.
    if (atoms_ > kMaxAtoms)
      return argument_error({"more than ", kMaxAtoms, " events, with counts and optional steps written out"},
                            "fewer", place(edge.position), "split the trigger");
    chain.push_back(c);
    c.follow = Follow::later;  // the other times
    c.gap_us = spec_.gap_us.value_or(-1);
    c.least_us = -1;
    // The other times of a count follow anywhere later, and the guard spoke of the edge before the first.
    c.guard.clear();
    for (int k = 1; k < count; ++k) chain.push_back(c);
    return {};
  }

  const TriggerSpec& spec_;
  const Catalog& catalog_;
  std::string_view source_;
  CompiledTrigger out_;
  size_t atoms_ = 0;
  const Step later_{.follow = Follow::later};  // how the further events of all() follow
};

}  // namespace

Result<CompiledTrigger> compile_trigger(const TriggerSpec& spec, const Catalog& catalog,
                                        std::string_view source) {
  return Compiler(spec, catalog, source).run();
}

}  // namespace walle::stream
