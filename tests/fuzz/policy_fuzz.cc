// Any bytes as a device header, a plan and a batch of reports: what is read can be decided by, and what comes
// back from it is written again as it was.
#include "base/bytes.h"
#include "base/crc32c.h"
#include "link/policy/decide.h"
#include "link/policy/report.h"

namespace {
using namespace walle::link;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

void read_header(const std::string& bytes) {
  if (const auto header = decode(bytes); header.ok()) require(*decode_text(encode_text(*header)) == *header);
  if (const auto header = decode_text(bytes); header.ok())
    require(encode_text(*header).size() == bytes.size());
  (void)app_version_key(bytes).ok();
  (void)os_version_key(bytes).ok();
}

void read_plan(const std::string& bytes) {
  const auto plan = Plan::read(bytes);
  if (!plan.ok()) return;
  DeviceHeader header;
  for (uint32_t n = 1; n < 9; ++n) {
    const Decision decision = decide(*plan, header, static_cast<int64_t>(n) << 30);
    require(decision.digest == decide_digest(*plan, header, static_cast<int64_t>(n) << 30));
    for (const Choice& c : decision.choices) {
      require(c.release == kNoRelease || c.release < plan->releases().size());
      require(c.trial == kNoRelease || plan->releases()[c.trial].ramp);
    }
    header.bucket = n * 0x9e3779b9u;
    header.app_version = n << 28;
    header.os = static_cast<Os>(n % kOsNames.size());
  }
  const auto again = write_plan({plan->epoch(), plan->releases(), plan->kills(), plan->taken_back()});
  require(again.ok() && Plan::read(*again).ok());
}

void read_batch(std::string bytes) {
  (void)read_reports(bytes).ok();
  // With a checksum that fits, so that what is behind it is reached.
  const uint32_t crc = walle::base::crc32c(0, bytes.data(), bytes.size());
  bytes.resize(bytes.size() + sizeof crc);
  walle::base::store_le(bytes.data() + bytes.size() - sizeof crc, crc);
  const auto reports = read_reports(bytes);
  if (reports.ok()) require(read_reports(*write_reports(*reports))->size() == reports->size());
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  read_header(bytes);
  read_plan(bytes);
  read_batch(bytes);
  return 0;
}
