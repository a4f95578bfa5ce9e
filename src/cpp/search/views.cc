#include "search/views.h"

#include "raster/canonical.h"

namespace walle::search {

namespace {
// Every value that is there without any node. What is an input and a result at once stays an input, and the
// session copies it when it hands it out.
Views without_nodes(const ops::Program& p) {
  Views v;
  v.of.resize(p.values.size());
  v.home.resize(p.values.size(), Home::nowhere);
  v.skipped.resize(p.nodes.size(), false);
  const auto set = [&](ops::Ref r, Home home) {
    v.of[r].root = r;
    v.home[r] = home;
  };
  for (ops::Ref r : p.inputs) set(r, Home::input);
  for (size_t i = 0; i < p.values.size(); ++i)
    if (p.values[i].constant) set(static_cast<ops::Ref>(i), Home::constant);
  for (ops::Ref r : p.outputs)
    if (v.home_of(r) == Home::nowhere) set(r, Home::output);
  return v;
}

// Where the raster's only region starts in its source, if its result may be a view.
std::optional<Dim> view_start(const ops::Program& p, const ops::ProgramNode& n, const Views& v) {
  // A value that has a home already is a result of the program, whose bytes the caller keeps.
  if (!n.raster || n.inputs.size() != 1 || v.home_of(n.outputs[0]) != Home::nowhere) return std::nullopt;
  return raster::as_alias(*n.raster, p.at(n.outputs[0]).shape.dim_elements());
}
}  // namespace

Views find_views(const ops::Program& p) {
  Views v = without_nodes(p);
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    const ops::ProgramNode& n = p.nodes[i];
    if (const auto start = view_start(p, n, v)) {
      const View source = v.at(n.inputs[0]);  // may be a view itself: offsets add up, so that roots own bytes
      const Dim offset = source.offset + *start * dtype_size(p.at(n.outputs[0]).dtype);
      v.of[n.outputs[0]] = {source.root, offset};
      v.skipped[i] = true;
      ++v.aliases;
      continue;
    }
    for (ops::Ref r : n.outputs) {
      if (r < 0 || v.home_of(r) != Home::nowhere) continue;
      v.of[r].root = r;
      v.home[r] = Home::arena;
    }
  }
  return v;
}

}  // namespace walle::search
