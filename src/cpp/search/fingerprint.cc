#include "search/fingerprint.h"

#include "base/hash.h"

namespace walle::search {

namespace {
void add_refs(base::Hasher& hash, const std::vector<ops::Ref>& refs) {
  hash.value(uint64_t{refs.size()});
  for (const ops::Ref r : refs) hash.value(r);
}
}  // namespace

uint64_t fingerprint(const ops::Program& program) {
  base::Hasher hash;
  for (const ops::ProgramValue& v : program.values) {
    hash.value(static_cast<uint8_t>(v.dtype)).value(static_cast<uint8_t>(v.constant.has_value()));
    hash.value(v.shape.rank());
    for (const int64_t d : v.shape) hash.value(d);
  }
  for (const ops::ProgramNode& n : program.nodes) {
    hash.text(n.op->name).text(n.attributes.text());
    hash.text(n.raster ? n.raster->text() : "").text(n.loop ? n.loop->text() : "");
    add_refs(hash, n.inputs);
    add_refs(hash, n.outputs);
  }
  add_refs(hash, program.inputs);
  add_refs(hash, program.outputs);
  return hash.finish();
}

}  // namespace walle::search
