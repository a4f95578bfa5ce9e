#include <chrono>
#include <set>

#include "link/limits.h"
#include "link/trust/fields.h"
#include "link/trust/parse.h"

namespace walle::link {

namespace {
// "1", "1.0", "1.0.31": later minor versions say more, and nothing else.
bool is_version_one(std::string_view text) { return text == "1" || text.starts_with("1."); }

Status read_signatures(Fields& file, Document& out) {
  const Json::Array& entries = file.array("signatures");
  if (entries.size() > kMostSignatures)
    return malformed({entries.size(), " signatures"}, {"at most ", kMostSignatures}, out.where);
  std::set<std::string_view> seen;
  for (const Json& entry : entries) {
    Fields fields(entry, out.where + ", a signature");
    Signature signature{fields.text("keyid"), {}};
    // Empty where a key holder has not signed yet.
    if (!from_hex(fields.text("sig"), signature.bytes)) signature.bytes.clear();
    WALLE_TRY(fields.status());
    if (!seen.insert(fields.text("keyid")).second)
      return malformed({"two signatures of key ", in_quotes(signature.keyid)}, "one of each key", out.where);
    out.signatures.push_back(std::move(signature));
  }
  return {};
}

int digits(std::string_view text) {
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    value = 10 * value + (c - '0');
  }
  return value;
}
}  // namespace

std::optional<int64_t> parse_utc(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00Z";
  if (text.size() != kForm.size()) return std::nullopt;
  for (size_t i = 0; i < kForm.size(); ++i)
    if (kForm[i] != '0' && text[i] != kForm[i]) return std::nullopt;
  const int year = digits(text.substr(0, 4));
  const int month = digits(text.substr(5, 2));
  const int day = digits(text.substr(8, 2));
  const int hour = digits(text.substr(11, 2));
  const int minute = digits(text.substr(14, 2));
  const int second = digits(text.substr(17, 2));
  if (year < 0 || month < 0 || day < 0 || hour < 0 || minute < 0 || second < 0) return std::nullopt;
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((days * 24 + hour) * 60 + minute) * 60 + second;
}

Result<Document> parse_document(std::string_view bytes, std::string_view type, const std::string& where) {
  Document out;
  out.where = where;
  WALLE_ASSIGN(Json whole, parse_json(bytes, where));
  Fields file(whole, where);
  WALLE_TRY(file.status());
  WALLE_TRY(read_signatures(file, out));
  (void)file.object("signed");
  WALLE_TRY(file.status());
  out.content = whole.take("signed");

  Fields content(out.content, where);
  if (content.text("_type") != type)
    content.fail({"_type ", in_quotes(content.text("_type"))}, in_quotes(type));
  if (!is_version_one(content.text("spec_version")))
    content.fail({"spec_version ", in_quotes(content.text("spec_version"))}, "1.something");
  out.version = content.integer("version", 1);
  const std::optional<int64_t> expires = parse_utc(content.text("expires"));
  if (!expires)
    content.fail({"expires ", in_quotes(content.text("expires"))}, "a time as 2030-01-31T23:59:59Z");
  WALLE_TRY(content.status());
  out.expires = *expires;
  out.canonical = out.content.canonical();
  return out;
}

}  // namespace walle::link
