// Vectors through a network: the operator gathers rows, whoever implements Encoder runs them.
#include <algorithm>

#include "stream/operators/batch_rows.h"
#include "stream/operators/operators.h"

namespace walle::stream {

namespace {

class Encode final : public Operator {
 public:
  Encode(std::vector<std::string> columns, std::string out, std::shared_ptr<Encoder> encoder)
      : columns_(std::move(columns)), out_(std::move(out)), encoder_(std::move(encoder)) {}

  Result<Batch> push(const Batch& in) override {
    WALLE_ASSIGN(const auto from, columns_of(in, columns_, "encode"));
    Column made{.name = out_, .sensitivity = Sensitivity::open, .cells = tensor::Column(ColumnType::vector)};
    for (const size_t c : from) {
      // A network hides nothing: what it was given can often be computed back from the code.
      made.sensitivity = std::max(made.sensitivity, in.columns[c].sensitivity);
      made.path += (made.path.empty() ? "" : ", ") +
                   (in.columns[c].path.empty() ? in.columns[c].name : in.columns[c].path);
    }
    made.path += " > encode";
    if (in.rows()) WALLE_TRY(run(in, from, made));
    Batch out;
    out.ts = in.ts;
    out.support = in.support;
    for (size_t c = 0; c < in.columns.size(); ++c)
      if (std::find(from.begin(), from.end(), c) == from.end()) out.columns.push_back(in.columns[c]);
    out.columns.push_back(std::move(made));
    return out;
  }

 private:
  Status run(const Batch& in, const std::vector<size_t>& from, Column& made) {
    Floats gathered, codes;
    size_t width = 0;
    for (size_t r = 0; r < in.rows(); ++r) {
      for (const size_t c : from) WALLE_TRY(append(in.columns[c], r, gathered));
      if (r == 0) width = gathered.size();
      // The first row decides: networks have one input width, and vectors of a column may differ by mistake.
      if (gathered.size() != (r + 1) * width)
        return argument_error({"a row of ", gathered.size() - r * width, " floats"},
                              {width, " floats as in the first row"}, {"encode, row ", r},
                              "give every row as many values");
    }
    // All rows at once: a matrix product of many rows costs little more than one of few.
    WALLE_TRY(encoder_->run(gathered, in.rows(), codes));
    // The encoder is whoever's; rows that do not divide its output evenly would be cut in the wrong places.
    if (codes.empty() || codes.size() % in.rows() != 0)
      return argument_error({codes.size(), " floats for ", in.rows(), " rows"}, "as many for each row",
                            "encode", "check the encoder's output shape");
    const auto each = static_cast<std::ptrdiff_t>(codes.size() / in.rows());
    for (auto at = codes.begin(); at != codes.end(); at += each)
      put(made, Cell::of(std::span<const float>(at, at + each)));
    return {};
  }

  static Status append(const Column& column, size_t row, Floats& to) {
    const Cell cell = column.cells[row];
    if (cell.is(ColumnType::vector))
      cell.append_floats(to);
    else if (const std::optional<double> number = cell.number())
      to.push_back(static_cast<float>(*number));
    else
      return argument_error({"a value that is no number in column '", column.name, "'"},
                            "numbers and vectors", {"encode, row ", row},
                            "filter with 'exists', or map texts to numbers");
    return {};
  }

  std::vector<std::string> columns_;
  std::string out_;
  std::shared_ptr<Encoder> encoder_;
};

}  // namespace

Result<std::unique_ptr<Operator>> make_encode(std::vector<std::string> columns, std::string out,
                                              std::shared_ptr<Encoder> encoder) {
  if (columns.empty() || out.empty() || !encoder)
    return argument_error({"encode of ", columns.size(), " columns"}, "columns, a name and an encoder",
                          "encode", "name what is encoded");
  return std::unique_ptr<Operator>(new Encode(std::move(columns), std::move(out), std::move(encoder)));
}

}  // namespace walle::stream
