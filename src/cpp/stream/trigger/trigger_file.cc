// The compiled form as FlatBuffers. A loaded file is checked twice: its structure, then that it is what
// compiling its own canonical text with this catalogue gives - so a damaged or foreign file can never
// describe another trigger.
#include "base/hash.h"
#include "schemas/trigger_generated.h"
#include "stream/trigger/trigger_compile.h"

namespace walle::stream {

namespace {
std::vector<walle_rt::fb::TriggerAtom> pack(const std::vector<CompiledAtom>& atoms) {
  std::vector<walle_rt::fb::TriggerAtom> out;
  for (const CompiledAtom& a : atoms) out.emplace_back(a.event, a.page, a.predicate);
  return out;
}
uint64_t catalog_fingerprint(const Catalog& catalog) {
  const std::string bytes = catalog.serialize();
  return base::Hasher().text(bytes).finish();
}
}  // namespace

std::string save_compiled(const CompiledTrigger& trigger, const Catalog& catalog) {
  walle_rt::fb::CompiledTriggerT out;
  out.version = 1;
  out.text = trigger.text;
  out.catalog = catalog_fingerprint(catalog);
  for (const auto& chain : trigger.variants) {
    auto variant = std::make_unique<walle_rt::fb::TriggerVariantT>();
    for (const CompiledStep& s : chain) {
      auto step = std::make_unique<walle_rt::fb::TriggerStepT>();
      step->follow = static_cast<uint8_t>(s.follow);
      step->gap_us = s.gap_us;
      step->least_us = s.least_us;
      step->atoms = pack(s.atoms);
      step->guard = pack(s.guard);
      variant->steps.push_back(std::move(step));
    }
    out.variants.push_back(std::move(variant));
  }
  for (const Predicate& p : trigger.predicates) out.predicates.push_back(p.text());
  out.absent = pack(trigger.absent);
  flatbuffers::FlatBufferBuilder builder;
  walle_rt::fb::FinishCompiledTriggerBuffer(builder, walle_rt::fb::CompiledTrigger::Pack(builder, &out));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

Result<CompiledTrigger> load_compiled(std::string_view bytes, const Catalog& catalog) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  // 8 bytes: root offset and identifier, which the verifier reads unasked.
  if (bytes.size() < 8 || !walle_rt::fb::VerifyCompiledTriggerBuffer(verifier))
    return model_error("a damaged compiled trigger of " + std::to_string(bytes.size()) + " bytes",
                       "schemas/trigger.fbs, version 1", "compiled trigger",
                       "compile it again from its text");
  const auto* in = walle_rt::fb::GetCompiledTrigger(bytes.data());
  WALLE_ASSIGN(const TriggerSpec spec, parse_trigger(in->text()->string_view()));
  WALLE_ASSIGN(CompiledTrigger out, compile_trigger(spec, catalog, in->text()->string_view()));
  // Byte for byte: FlatBuffers' builder gives the same bytes for the same content and version, and the
  // compiled part is then only a cache of the text.
  if (save_compiled(out, catalog) != bytes)
    return model_error("a compiled trigger of another catalogue or version",
                       "one compiled with this device's catalogue", "compiled trigger",
                       "compile it again from its text");
  return out;
}

}  // namespace walle::stream
