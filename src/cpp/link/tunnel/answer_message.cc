#include "link/tunnel/answer_message.h"

#include <optional>

#include "base/bytes.h"
#include "base/utf8.h"
#include "link/tunnel/answer_text.h"
#include "link/tunnel/limits.h"

namespace walle::link {

namespace {
constexpr std::string_view kMarksMagic = "WTG";
// What one takes at least, for counts that are read from bytes.
constexpr size_t kLeastRow = 1, kLeastCell = 2, kLeastMark = 2;

Error damaged_answer(Text what) {
  return network_error("damaged bytes", {what, " of the tunnel, version 1"}, what,
                       "look at who writes to this device's topics");
}

// Reads until something is wrong; then ok() is false, and all that it gives is empty.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : in_(bytes) {}
  bool begins(std::string_view magic) { return in_.expect(magic) && in_.get<uint8_t>() == kAnswerVersion; }
  uint64_t varint() { return in_.varint(); }
  size_t count(size_t least, size_t most) {
    const uint64_t n = in_.varint_count(least);
    good_ = good_ && n <= most;
    return good() ? static_cast<size_t>(n) : 0;
  }
  std::string text(size_t most, bool utf8 = true) {
    const uint64_t size = in_.varint();
    good_ = good_ && size <= most;
    if (!good()) return {};
    std::string out(in_.bytes(static_cast<size_t>(size)));
    good_ = good_ && (!utf8 || base::valid_utf8(out));
    return out;
  }
  AnswerCell cell() {
    AnswerCell out;
    out.column = text(kMostTunnelNameBytes);
    const auto kind = in_.get<uint8_t>();
    good_ = good_ && kind <= 1 + static_cast<uint8_t>(ColumnType::bytes);
    if (good() && kind > 0) out.value = value(static_cast<ColumnType>(kind - 1));
    return out;
  }
  bool good() const { return good_ && in_.ok(); }
  bool done() const { return good() && in_.done(); }

 private:
  Scalar value(ColumnType type) {
    if (type == ColumnType::integer) return in_.get<int64_t>();
    if (type == ColumnType::real) return in_.get<double>();
    if (type == ColumnType::boolean) {
      const auto flag = in_.get<int64_t>();
      good_ = good_ && (flag == 0 || flag == 1);
      return flag == 1;
    }
    return Cell::of_bytes(text(kMostAnswerBytes, type == ColumnType::text), type);
  }

  base::ByteReader in_;
  bool good_ = true;
};

// Without the checksum at their end; nothing where it is another.
std::optional<std::string_view> checked(std::string_view bytes) {
  if (bytes.size() < sizeof(uint32_t)) return std::nullopt;
  const std::string_view content = bytes.substr(0, bytes.size() - sizeof(uint32_t));
  base::ByteReader whole(bytes);
  whole.bytes(content.size());
  if (!whole.checksum()) return std::nullopt;
  return content;
}
}  // namespace

Result<Answer> read_answer(std::string_view bytes) {
  const std::optional<std::string_view> content = checked(bytes);
  if (!content || bytes.size() > kMostAnswerBytes) return damaged_answer("an answer");
  Reader in(*content);
  if (!in.begins(kAnswerMagic)) return damaged_answer("an answer");
  Answer out;
  out.stream = in.text(kMostTunnelNameBytes);
  out.seq = in.varint();
  out.number = in.varint();
  out.after = in.varint();
  out.task = in.text(kMostTunnelNameBytes);
  out.error = in.text(kMostAnswerError);
  const size_t rows = in.count(kLeastRow, kMostAnswerRows);
  for (size_t i = 0; i < rows && in.good(); ++i) {
    AnswerRow row;
    const size_t cells = in.count(kLeastCell, kMostAnswerColumns);
    for (size_t k = 0; k < cells && in.good(); ++k) row.push_back(in.cell());
    out.rows.push_back(std::move(row));
  }
  const bool sense =
      !out.stream.empty() && out.seq > 0 && out.number > out.after && (out.error.empty() || out.rows.empty());
  if (!in.done() || !sense) return damaged_answer("an answer");
  return out;
}

std::string pack_marks(const std::vector<AnswerMark>& marks) {
  base::ByteWriter out;
  out.put_bytes(kMarksMagic);
  out.put(kAnswerVersion);
  out.put_varint(marks.size());
  for (const AnswerMark& mark : marks) {
    put_text(out, mark.stream);
    out.put_varint(mark.taken);
  }
  out.put_checksum();
  return out.take();
}

Result<std::vector<AnswerMark>> read_marks(std::string_view bytes) {
  const std::optional<std::string_view> content = checked(bytes);
  if (!content) return damaged_answer("marks");
  Reader in(*content);
  if (!in.begins(kMarksMagic)) return damaged_answer("marks");
  std::vector<AnswerMark> out;
  const size_t count = in.count(kLeastMark, kMostSections);
  for (size_t i = 0; i < count && in.good(); ++i) {
    AnswerMark mark;
    mark.stream = in.text(kMostTunnelNameBytes);
    mark.taken = in.varint();
    if (mark.stream.empty()) return damaged_answer("marks");
    out.push_back(std::move(mark));
  }
  if (!in.done()) return damaged_answer("marks");
  return out;
}

}  // namespace walle::link
