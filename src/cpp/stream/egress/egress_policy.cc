// Policies as FlatBuffers (schemas/egress.fbs). What is signed
// is bytes: they are verified before they are read.
#include <algorithm>
#include <iterator>

#include "base/utf8.h"
#include "schemas/egress_generated.h"
#include "stream/egress/egress.h"

namespace walle::stream {

namespace {

// Other versions are refused, not guessed at: a field that this build does not know might be the one that
// forbids.
constexpr uint32_t kPolicyVersion = 1;

Error damaged(const std::string& given) {
  return model_error(given, "schemas/egress.fbs, version 1", "egress policy",
                     "fetch the task's configuration again");
}

std::string_view text(const flatbuffers::String* s) { return s ? s->string_view() : std::string_view(); }
std::string_view bytes(const flatbuffers::Vector<uint8_t>* v) {
  return v ? std::string_view(reinterpret_cast<const char*>(v->data()), v->size()) : std::string_view();
}

Result<EgressPolicy> read_policy(std::string_view task, const walle_rt::fb::FeaturePolicy& in) {
  EgressPolicy p;
  p.task = task;
  p.feature = text(in.feature());
  p.bytes_per_day = in.bytes_per_day();
  p.sends_per_day = in.sends_per_day();
  p.minimum_events = in.minimum_events();
  p.consent = text(in.consent());
  p.expires_ts = in.expires_ts();
  if (!in.fields()) return p;
  for (const auto* f : *in.fields()) {
    // FlatBuffers checks that a byte is there, not that it is one of the enumeration's.
    if (f->type() > static_cast<uint8_t>(FeatureType::vector) ||
        f->highest() > static_cast<uint8_t>(Sensitivity::secret))
      return damaged("field '" + std::string(text(f->name())) + "' of type " + std::to_string(f->type()) +
                     " and sensitivity " + std::to_string(f->highest()));
    p.fields.push_back({.name = std::string(text(f->name())),
                        .type = static_cast<FeatureType>(f->type()),
                        .max_size = f->max_size(),
                        .highest = static_cast<Sensitivity>(f->highest())});
  }
  return p;
}

}  // namespace

std::string pack_policies(const std::string& task, const std::vector<EgressPolicy>& policies,
                          uint64_t number) {
  walle_rt::fb::TaskPolicyT out;
  out.version = kPolicyVersion;
  out.task = task;
  out.number = number;
  for (const EgressPolicy& p : policies) {
    auto feature = std::make_unique<walle_rt::fb::FeaturePolicyT>();
    feature->feature = p.feature;
    feature->bytes_per_day = p.bytes_per_day;
    feature->sends_per_day = p.sends_per_day;
    feature->minimum_events = p.minimum_events;
    feature->consent = p.consent;
    feature->expires_ts = p.expires_ts;
    for (const FeatureField& f : p.fields) {
      auto field = std::make_unique<walle_rt::fb::FeatureFieldT>();
      field->name = f.name;
      field->type = static_cast<uint8_t>(f.type);
      field->max_size = f.max_size;
      field->highest = static_cast<uint8_t>(f.highest);
      feature->fields.push_back(std::move(field));
    }
    out.features.push_back(std::move(feature));
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(walle_rt::fb::TaskPolicy::Pack(builder, &out));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

std::string sign_policy(std::string_view policy, std::string_view algorithm, std::string_view key_id,
                        std::string_view signature) {
  walle_rt::fb::SignedPolicyT out;
  out.policy.assign(policy.begin(), policy.end());
  out.algorithm = algorithm;
  out.key_id = key_id;
  out.signature.assign(signature.begin(), signature.end());
  flatbuffers::FlatBufferBuilder builder;
  walle_rt::fb::FinishSignedPolicyBuffer(builder, walle_rt::fb::SignedPolicy::Pack(builder, &out));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

Status EgressGate::load(std::string_view signed_policy, const PolicyVerifier& verify) {
  flatbuffers::Verifier envelope(reinterpret_cast<const uint8_t*>(signed_policy.data()),
                                 signed_policy.size());
  // 8 bytes: the root's offset and the identifier; the verifier reads the latter without asking for the size.
  const bool whole = signed_policy.size() >= 8 && walle_rt::fb::VerifySignedPolicyBuffer(envelope);
  const auto* in = whole ? walle_rt::fb::GetSignedPolicy(signed_policy.data()) : nullptr;
  if (!in || !base::valid_utf8(text(in->algorithm())) || !base::valid_utf8(text(in->key_id())))
    return damaged("a damaged signed policy of " + std::to_string(signed_policy.size()) + " bytes");
  const std::string inner(bytes(in->policy()));  // copied: aligned, and the same bytes are verified and read
  // Before anything of the policy is parsed: bytes of unknown origin reach no parser but the envelope's.
  WALLE_TRY(verify(inner, text(in->algorithm()), text(in->key_id()), bytes(in->signature())));
  flatbuffers::Verifier structure(reinterpret_cast<const uint8_t*>(inner.data()), inner.size());
  if (!structure.VerifyBuffer<walle_rt::fb::TaskPolicy>())
    return damaged("a damaged policy of " + std::to_string(inner.size()) + " bytes");
  const auto* policy = flatbuffers::GetRoot<walle_rt::fb::TaskPolicy>(inner.data());
  if (policy->version() != kPolicyVersion)
    return damaged("a policy of version " + std::to_string(policy->version()));
  // All or nothing: with half of a task's features allowed, the task would run and send half of what it
  // should. And the whole policy of the task: a feature that the new one leaves out is not allowed any more.
  const std::string task(text(policy->task()));
  std::vector<EgressPolicy> allowed;
  if (policy->features())
    for (const auto* f : *policy->features()) {
      WALLE_ASSIGN(EgressPolicy p, read_policy(task, *f));
      WALLE_TRY(check_policy(p));
      // The last of two for one feature counts, as in allow().
      std::erase_if(allowed, [&](const EgressPolicy& o) { return o.feature == p.feature; });
      allowed.push_back(std::move(p));
    }
  WALLE_TRY(ledger_->accept_policy(task, policy->number(), inner));
  const std::lock_guard guard(lock_);
  std::erase_if(policies_, [&](const EgressPolicy& p) { return p.task == task; });
  std::ranges::move(allowed, std::back_inserter(policies_));
  return {};
}

}  // namespace walle::stream
