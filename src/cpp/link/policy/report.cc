// Batches of reports (schemas/report.fbs), with a checksum behind them: they wait on a device's disk.
#include "link/policy/report.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/names.h"
#include "schemas/report_generated.h"

namespace walle::link {

using base::NameKind;

namespace {

namespace fb = walle_rt::fb;

constexpr const char* kReportWhere = "reports";
constexpr uint32_t kReportVersion = 1;
constexpr size_t kLeastReportBytes = 8 + sizeof(uint32_t);  // root, identifier, checksum
constexpr size_t kMostText = 128;
constexpr uint32_t kMostReportDepth = 4;

Error bad_report(Text given, Text expected) {
  return argument_error(given, expected, kReportWhere, "send what the agent writes, unchanged");
}

bool plain_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-.+/:").find(c) != std::string_view::npos;
}

Status check_text(std::string_view text, const char* what) {
  if (text.size() <= kMostText && std::ranges::all_of(text, plain_letter)) return {};
  return bad_report({what, " ", base::shown_name(text)},
                    {"at most ", kMostText, " letters, digits and _-.+/:"});
}

Status check(const Report& r) {
  WALLE_TRY(base::check_name(NameKind::release, r.release, kReportWhere));
  WALLE_TRY(base::check_name(NameKind::scenario, r.scenario, kReportWhere));
  WALLE_TRY(base::check_name(NameKind::task, r.task, kReportWhere));
  if (!r.version.empty()) WALLE_TRY(base::check_name(NameKind::version, r.version, kReportWhere));
  WALLE_TRY(check_text(r.phase, "phase"));
  WALLE_TRY(check_text(r.error_type, "error type"));
  return check_text(r.limit, "limit");
}

Status check_count(size_t reports) {
  if (reports <= kMostReports) return {};
  return bad_report({"a batch of ", reports}, {"at most ", kMostReports});
}

std::string text(const flatbuffers::String* s) {
  // One byte more than may be: check_text refuses it, and no copy is large.
  return s ? std::string(s->string_view().substr(0, kMostText + 1)) : std::string();
}

Result<Report> report_of(const fb::Report& in) {
  if (in.cohort() > static_cast<uint8_t>(Cohort::control) || in.status() >= kReportStatusNames.size())
    return bad_report({"cohort ", in.cohort(), " and status ", in.status()},
                      {"cohort 0 or 1, status 0..", kReportStatusNames.size() - 1});
  Report out{.device = in.device(),
             .release = text(in.release()),
             .scenario = text(in.scenario()),
             .task = text(in.task()),
             .version = text(in.version()),
             .cohort = static_cast<Cohort>(in.cohort()),
             .status = static_cast<ReportStatus>(in.status()),
             .phase = text(in.phase()),
             .error_type = text(in.error_type()),
             .limit = text(in.limit()),
             .firings = in.firings(),
             .failures = in.failures(),
             .epoch = in.epoch(),
             .seq = in.seq()};
  WALLE_TRY(check(out));
  return out;
}

}  // namespace

Result<std::string> write_reports(const std::vector<Report>& reports) {
  WALLE_TRY(check_count(reports.size()));
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fb::Report>> tables;
  for (const Report& r : reports) {
    WALLE_TRY(check(r));
    tables.push_back(fb::CreateReportDirect(
        builder, r.device, r.release.c_str(), r.scenario.c_str(), r.task.c_str(), r.version.c_str(),
        static_cast<uint8_t>(r.cohort), static_cast<uint8_t>(r.status), r.phase.c_str(), r.error_type.c_str(),
        r.limit.c_str(), r.firings, r.failures, r.epoch, r.seq));
  }
  fb::FinishReportBatchBuffer(builder, fb::CreateReportBatchDirect(builder, kReportVersion, &tables));
  base::ByteWriter out;
  out.put_bytes({reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()});
  out.put_checksum();
  return out.take();
}

Result<std::vector<Report>> read_reports(std::string_view bytes) {
  const std::string size = std::to_string(bytes.size()) + " bytes";
  if (bytes.size() < kLeastReportBytes || bytes.size() > kMostReportBytes)
    return bad_report({"a batch of ", size}, {kLeastReportBytes, "..", kMostReportBytes});
  const std::string_view content = bytes.substr(0, bytes.size() - sizeof(uint32_t));
  if (base::crc32c(0, content.data(), content.size()) !=
      base::load_le<uint32_t>(content.data() + content.size()))
    return bad_report({"a batch of ", size, " with a wrong checksum"}, "the CRC-32C of what is before it");
  std::vector<uint64_t> aligned((content.size() + 7) / 8);  // what FlatBuffers reads
  std::copy(content.begin(), content.end(), reinterpret_cast<char*>(aligned.data()));
  const auto* data = reinterpret_cast<const uint8_t*>(aligned.data());
  flatbuffers::Verifier verifier(data, content.size(), kMostReportDepth, kMostReports + 1);
  if (!fb::VerifyReportBatchBuffer(verifier))
    return bad_report({"a damaged batch of ", size}, "a FlatBuffer of schemas/report.fbs");
  const fb::ReportBatch& in = *fb::GetReportBatch(data);
  if (in.version() != kReportVersion)
    return bad_report({"reports of version ", in.version()}, {"version ", kReportVersion});
  std::vector<Report> out;
  if (!in.reports()) return out;
  WALLE_TRY(check_count(in.reports()->size()));
  for (const auto* r : *in.reports()) {
    WALLE_ASSIGN(Report report, report_of(*r));
    out.push_back(std::move(report));
  }
  return out;
}

}  // namespace walle::link
