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
    WALLE_TRY(limits());
    WALLE_TRY(states());
    if (spec_.scope == Scope::by) {
      const auto id = catalog_.find_field(spec_.by);
      if (!id)
        return argument_error("scope by(" + spec_.by + ")", "a declared field", place(0),
                              "declare the field or correct its name");
      out_.by_field = *id;
    }
    WALLE_TRY(atoms(spec_.absent, out_.absent));
    if (!spec_.steps.empty()) WALLE_TRY(variants());
    return std::move(out_);
  }

 private:
  std::string place(int position) const {
    return source_.empty() ? "trigger '" + out_.text + "'" : place_in(source_, position);
  }

  Status limits() const {
    int steps = 0, optional = 0;
    for (const Step& s : spec_.steps) {
      steps += s.count;
      optional += s.optional;
      // The parser never gives these; the Python builder could.
      if (s.count < 1 || s.any_of.empty())
        return argument_error("an empty step", "an event", place(s.position), "name an event");
    }
    if (steps > kMaxSteps)
      return argument_error(std::to_string(steps) + " steps with counts written out",
                            "at most " + std::to_string(kMaxSteps), place(0), "split the trigger");
    if (optional > kMaxOptional)
      return argument_error(std::to_string(optional) + " optional steps",
                            "at most " + std::to_string(kMaxOptional), place(0), "split the trigger");
    return {};
  }

  Status states() {
    for (const auto& all : spec_.when) {
      StateGuard g;
      for (const StateTerm& t : all) {
        const auto id = catalog_.find_state(t.name);
        if (!id)
          return argument_error("state '" + t.name + "'", "a declared state", place(0),
                                "declare the state or correct its name");
        const uint64_t bit = uint64_t{1} << *id;
        // `wifi and not wifi` never holds; `wifi and wifi` does and needs no second bit.
        if ((g.mask & bit) && ((g.value & bit) != 0) != t.wanted)
          return argument_error("'" + t.name + "' wanted both on and off", "a guard that can hold", place(0),
                                "remove one of them");
        g.mask |= bit;
        if (t.wanted) g.value |= bit;
      }
      out_.when.push_back(g);
    }
    return {};
  }

  Result<CompiledAtom> atom(const Atom& a) {
    CompiledAtom c;
    if (a.event != "*") {
      const auto id = catalog_.find_event(a.event);
      if (!id)
        return argument_error("event '" + a.event + "'", "a declared event", place(a.position),
                              "declare it or correct its name");
      c.event = *id;
    }
    if (a.page != "*") {
      const auto id = catalog_.find_page(a.page);
      if (!id)
        return argument_error("page '" + a.page + "'", "a known page", place(a.position),
                              "declare the page or correct its name");
      c.page = *id;
    }
    if (a.predicate.empty()) return c;
    Predicate p = a.predicate;
    if (Status s = p.resolve(catalog_, c.event); !s.ok()) {
      s.error().within(place(a.position));
      return s.take_error();
    }
    const auto same = std::find(out_.predicates.begin(), out_.predicates.end(), p);
    c.predicate = static_cast<int32_t>(same - out_.predicates.begin());
    if (same == out_.predicates.end()) out_.predicates.push_back(std::move(p));
    return c;
  }

  // Sorted, and without those that another one implies.
  Status atoms(const std::vector<Atom>& in, std::vector<CompiledAtom>& out) {
    for (const Atom& a : in) {
      WALLE_ASSIGN(const CompiledAtom c, atom(a));
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

  // An absent optional step goes with the edge before it; a step left without predecessor becomes the first.
  Status variants() {
    const auto optional =
        std::count_if(spec_.steps.begin(), spec_.steps.end(), [](const Step& s) { return s.optional; });
    // One bit per optional step, at most four: 16 chains, which share their prefixes in the trie.
    for (unsigned skip = 0; skip < (1u << optional); ++skip) {
      std::vector<CompiledStep> chain;
      unsigned bit = 1;  // of the next optional step
      for (const Step& s : spec_.steps) {
        const bool skipped = s.optional && (skip & bit);
        if (s.optional) bit <<= 1;
        if (!skipped) WALLE_TRY(append_step(s, chain));
      }
      // `a? a` gives the chain a twice.
      if (!chain.empty() &&
          std::find(out_.variants.begin(), out_.variants.end(), chain) == out_.variants.end())
        out_.variants.push_back(std::move(chain));
    }
    return {};
  }

  Status append_step(const Step& s, std::vector<CompiledStep>& chain) {
    CompiledStep c;
    WALLE_TRY(atoms(s.any_of, c.atoms));
    if (!chain.empty()) {
      c.follow = s.follow;
      c.gap_us = s.gap_us ? *s.gap_us : spec_.gap_us.value_or(-1);
      WALLE_TRY(atoms(s.guard, c.guard));
    }
    atoms_ += c.guard.size() + c.atoms.size() * s.count;
    // Counted while they are made: 16 steps of 64 alternatives in 16 variants would be 16,384.
    if (atoms_ > kMaxAtoms)
      return argument_error(
          "more than " + std::to_string(kMaxAtoms) + " events, with counts and optional steps written out",
          "fewer", place(s.position), "split the trigger");
    chain.push_back(c);
    c.follow = Follow::later;  // the other times
    c.gap_us = spec_.gap_us.value_or(-1);
    // The other times of a count follow anywhere later, and the guard spoke of the edge before the first.
    c.guard.clear();
    for (int k = 1; k < s.count; ++k) chain.push_back(c);
    return {};
  }

  const TriggerSpec& spec_;
  const Catalog& catalog_;
  std::string_view source_;
  CompiledTrigger out_;
  size_t atoms_ = 0;
};

}  // namespace

Result<CompiledTrigger> compile_trigger(const TriggerSpec& spec, const Catalog& catalog,
                                        std::string_view source) {
  return Compiler(spec, catalog, source).run();
}

}  // namespace walle::stream
