#include "ir/paid_reader.h"

#include "base/utf8.h"

namespace walle::ir::detail {

Status PaidReader::pay(int64_t bytes) {
  budget_ -= bytes;
  if (budget_ >= 0) return {};
  return model_error("a graph that expands far beyond its file", "tables that are used once", where_,
                     kConvertAgain);
}

Result<std::string> PaidReader::text(const flatbuffers::String* s) {
  if (!s) return std::string();
  WALLE_TRY(pay(static_cast<int64_t>(s->size() + sizeof(std::string))));
  if (!base::valid_utf8(s->string_view()))
    return model_error("a text that is not UTF-8", "UTF-8", where_, kConvertAgain);
  return s->str();
}

Result<std::string> PaidReader::name(const flatbuffers::String* s) {
  if (s && s->size() > base::kMaxNameBytes)
    return model_error({"a name of ", s->size(), " bytes"}, {"at most ", base::kMaxNameBytes}, where_,
                       kConvertAgain);
  return text(s);
}

}  // namespace walle::ir::detail
