#include "link/crypto.h"

namespace walle::link {

namespace {
constexpr std::string_view kPemHead = "-----BEGIN PUBLIC KEY-----";
constexpr std::string_view kPemTail = "-----END PUBLIC KEY-----";

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

int sextet_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

// Base64 with line ends; nothing may follow the padding.
bool from_base64(std::string_view text, std::string& out) {
  uint32_t word = 0;
  int sextets = 0;
  int padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    const int value = c == '=' ? 0 : sextet_of(c);
    if (c == '=')
      ++padding;
    else if (padding)
      return false;
    if (value < 0 || padding > 2) return false;
    word = word << 6 | static_cast<uint32_t>(value);
    if (++sextets % 4) continue;
    for (int byte = 2; byte >= padding; --byte) out += static_cast<char>(word >> 8 * byte);
    word = 0;
  }
  return sextets % 4 == 0;
}
}  // namespace

Result<std::string> digest_hex(const Crypto& crypto, DigestKind kind, std::string_view bytes) {
  const std::unique_ptr<Digest> digest = crypto.digest(kind);
  WALLE_TRY(digest->add(bytes));
  WALLE_ASSIGN(const std::string raw, digest->finish());
  return to_hex(raw);
}

std::string to_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

bool from_hex(std::string_view text, std::string& out) {
  out.clear();
  if (text.size() % 2) return false;
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = digit_of(text[i]);
    const int low = digit_of(text[i + 1]);
    if (high < 0 || low < 0) return false;
    out += static_cast<char>(high << 4 | low);
  }
  return true;
}

bool from_pem(std::string_view text, std::string& der) {
  der.clear();
  const auto is_blank = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  if (!text.starts_with(kPemHead) || !text.ends_with(kPemTail)) return false;
  if (text.size() < kPemHead.size() + kPemTail.size()) return false;
  text.remove_prefix(kPemHead.size());
  text.remove_suffix(kPemTail.size());
  return from_base64(text, der);
}

}  // namespace walle::link
