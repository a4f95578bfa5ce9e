#include "store/column_bytes.h"

#include <bit>
#include <unordered_map>

#include "base/bytes.h"

namespace walle::store {

namespace {
using base::ByteReader;
using base::ByteWriter;
using tensor::Column;

// Small numbers of either sign become small unsigned ones, and so short varints.
uint64_t zigzag(int64_t v) { return static_cast<uint64_t>(v) << 1 ^ static_cast<uint64_t>(v >> 63); }
int64_t unzigzag(uint64_t v) { return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1); }

// Words of a dictionary: a float is its bits, so that every NaN and both zeros come back as they were.
void put_word(ByteWriter& out, uint64_t word) { out.put(word); }
void put_word(ByteWriter& out, std::string_view word) {
  out.put_varint(word.size());
  out.put_bytes(word);
}
void get_word(ByteReader& r, uint64_t& word) { word = r.get<uint64_t>(); }
void get_word(ByteReader& r, std::string_view& word) { word = r.bytes(r.varint()); }

// The words in order of first use, then one index per value.
template <class Word, class WordAt>
void put_dictionary(ByteWriter& out, const Column& c, WordAt&& word_at) {
  std::unordered_map<Word, uint64_t> known;
  ByteWriter words, indices;
  for (size_t row = 0; row < c.size(); ++row) {
    if (!c.present(row)) continue;
    const auto [it, fresh] = known.emplace(word_at(row), known.size());
    if (fresh) put_word(words, it->first);
    indices.put_varint(it->second);
  }
  out.put_varint(known.size());
  out.put_bytes(words.written());
  out.put_bytes(indices.written());
}

// Differences wrap around: the numbers may be any.
void put_differences(ByteWriter& out, const Column& c) {
  uint64_t previous = 0;
  for (size_t row = 0; row < c.size(); ++row) {
    if (!c.present(row)) continue;
    const auto value = static_cast<uint64_t>(c[row].i);
    out.put_varint(zigzag(static_cast<int64_t>(value - previous)));
    previous = value;
  }
}

// One column out of its bytes.
class ColumnReader {
 public:
  ColumnReader(std::string_view raw, ColumnType type, const ColumnCounts& counts, int64_t& room)
      : counts_(counts), in_(raw), room_(room), out_(type) {}

  std::optional<Column> read() {
    const size_t marks = counts_.values < counts_.rows ? tensor::mark_bytes(counts_.rows) : 0;
    if (counts_.values > counts_.rows || in_.left() < marks || counts_.values > in_.left() - marks)
      return std::nullopt;  // a value takes at least one byte
    room_ -= int64_t{counts_.rows} * static_cast<int64_t>(sizeof(int64_t) + (marks ? 1 : 0));
    if (room_ < 0 || !read_marks(marks) || !read_values() || !in_.done()) return std::nullopt;
    if (out_.size() - out_.absent() != counts_.values) return std::nullopt;
    return std::move(out_);
  }

 private:
  bool read_marks(size_t bytes) {
    if (bytes == 0) return true;
    marks_ = in_.bytes(bytes);
    return tensor::are_marks(marks_, counts_.rows);
  }
  bool marked(size_t row) const { return marks_.empty() || tensor::marked(marks_, row); }

  bool read_values() {
    if (out_.type() == ColumnType::real)
      return read_dictionary<uint64_t>([](uint64_t bits) { return Cell::of(std::bit_cast<double>(bits)); });
    if (tensor::has_bytes(out_.type()))
      return read_dictionary<std::string_view>([this](std::string_view run) {
        room_ -= static_cast<int64_t>(run.size());
        return Cell::of_bytes(run, out_.type());
      });
    return read_differences();
  }

  bool read_differences() {
    const bool flags = out_.type() == ColumnType::boolean;
    if (!flags && marks_.empty()) return read_integers();
    uint64_t value = 0;
    bool good = true;
    for (uint32_t row = 0; row < counts_.rows && good; ++row) {
      if (marked(row)) {
        value += static_cast<uint64_t>(unzigzag(in_.varint()));
        good = !flags || value <= 1;
        good = out_.push_back(flags ? Cell::of(value == 1) : Cell::of(static_cast<int64_t>(value))) && good;
      } else {
        out_.push_absent();
      }
    }
    return good;
  }

  // Most columns of most segments.
  bool read_integers() {
    Column::Integers values(counts_.rows);
    uint64_t value = 0;
    for (int64_t& v : values) {
      value += static_cast<uint64_t>(unzigzag(in_.varint()));
      v = static_cast<int64_t>(value);
    }
    out_ = Column(std::move(values));
    return true;
  }

  // A writer knows no word that no value names, so a dictionary of more words than values is not one of its
  // own.
  template <class Word, class CellOf>
  bool read_dictionary(CellOf&& cell_of) {
    const uint64_t known = in_.varint_count(1);
    if (known > counts_.values) return false;
    std::vector<Word> words(known);
    for (Word& word : words) get_word(in_, word);
    out_.reserve(counts_.rows);
    for (uint32_t row = 0; row < counts_.rows && in_.ok(); ++row) {
      if (!marked(row)) {
        out_.push_absent();
        continue;
      }
      const uint64_t index = in_.varint();
      if (index >= words.size()) return false;
      const Cell cell = cell_of(words[index]);
      if (room_ < 0 || !out_.push_back(cell)) return false;
    }
    return true;
  }

  const ColumnCounts counts_;
  ByteReader in_;
  int64_t& room_;
  std::string_view marks_;  // which rows have a value, a bit each; none where all have
  Column out_;
};

}  // namespace

std::string pack_column(const Column& c) {
  ByteWriter out;
  if (!c.whole()) out.put_bytes(tensor::marks_of(c));
  if (c.type() == ColumnType::real)
    put_dictionary<uint64_t>(out, c, [&](size_t row) { return std::bit_cast<uint64_t>(c.reals()[row]); });
  else if (tensor::has_bytes(c.type()))
    put_dictionary<std::string_view>(out, c, [&](size_t row) { return c.runs()[row]; });
  else
    put_differences(out, c);
  return out.take();
}

std::optional<Column> unpack_column(std::string_view bytes, ColumnType type, ColumnCounts counts,
                                    int64_t& room) {
  return ColumnReader(bytes, type, counts, room).read();
}

}  // namespace walle::store
