#include "ops/rules/unicode.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace walle::ops {

namespace {
struct CaseRun {
  char32_t first, last;
  char32_t step;  // 1, or 2 where upper and lower case take turns
  int32_t distance;
};
struct CaseExpansion {
  char32_t letter;
  const char32_t* letters;
};
#include "unicode/unicode_case.inc"

struct CaseTable {
  std::span<const CaseRun> runs;
  std::span<const CaseExpansion> expansions;
};
constexpr CaseTable kLower{kLowerRuns, kLowerExpansions};
constexpr CaseTable kUpper{kUpperRuns, kUpperExpansions};

void append(std::string& out, char32_t code) {
  const auto next = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    next(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    next(6);
    next(0);
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    next(12);
    next(6);
    next(0);
  }
}

// False where the letter has no other case.
bool append_changed(std::string& out, char32_t code, const CaseTable& table) {
  const auto run = std::ranges::lower_bound(table.runs, code, {}, &CaseRun::last);
  if (run != table.runs.end() && code >= run->first && (code - run->first) % run->step == 0) {
    append(out, static_cast<char32_t>(static_cast<int32_t>(code) + run->distance));
    return true;
  }
  const auto many = std::ranges::lower_bound(table.expansions, code, {}, &CaseExpansion::letter);
  if (many == table.expansions.end() || many->letter != code) return false;
  for (const char32_t* letter = many->letters; *letter != 0; ++letter) append(out, *letter);
  return true;
}

std::string changed(const std::string& text, const CaseTable& table) {
  std::vector<size_t> starts;
  const std::u32string letters = decoded(text, &starts);
  std::string out;
  for (size_t i = 0; i < letters.size(); ++i) {
    const size_t bytes = starts[i + 1] - starts[i];
    const bool whole = bytes > 1 || letters[i] < 0x80;  // else a byte that is no UTF-8
    if (!whole || !append_changed(out, letters[i], table)) out.append(text, starts[i], bytes);
  }
  return out;
}
}  // namespace

std::u32string decoded(const std::string& text, std::vector<size_t>* starts) {
  std::u32string out;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    // Lead bytes 110x, 1110, 11110; everything else is one byte.
    const size_t length = lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 1;
    char32_t code = length == 1 ? lead : lead & (0x7Fu >> length);
    bool whole = i + length <= text.size();
    for (size_t k = 1; whole && k < length; ++k) {
      const auto next = static_cast<uint8_t>(text[i + k]);
      whole = next >> 6 == 2;
      code = code << 6 | (next & 0x3Fu);
    }
    out.push_back(whole ? code : lead);
    if (starts) starts->push_back(i);
    i += whole ? length : 1;
  }
  if (starts) starts->push_back(text.size());
  return out;
}

std::string lower_case(const std::string& text) { return changed(text, kLower); }
std::string upper_case(const std::string& text) { return changed(text, kUpper); }

void for_each_case(const std::function<void(char32_t letter, char32_t other)>& visit) {
  for (const CaseTable& table : {kLower, kUpper})
    for (const CaseRun& run : table.runs)
      for (char32_t letter = run.first; letter <= run.last; letter += run.step) {
        const auto other = static_cast<char32_t>(static_cast<int32_t>(letter) + run.distance);
        visit(letter, other);
        visit(other, letter);
      }
}

}  // namespace walle::ops
