// CatalogFile: the catalogue of a log as it lies in the directory: two copies with checksums
// (store/mirrored_file.h), so that a flipped bit neither keeps the log from opening nor changes a label.
//
// Not synchronised; read and written under the log's lock.
#pragma once

#include <optional>

#include "store/mirrored_file.h"
#include "stream/event/catalog.h"

namespace walle::stream {

class CatalogFile {
 public:
  // An error when a catalogue is there and no copy of it can be believed: ids without their names are
  // nothing.
  static Result<CatalogFile> open(Env& env, const std::string& dir);

  const std::optional<Catalog>& stored() const { return stored_; }
  bool mended() const { return file_.found() == store::MirroredFile::Found::mended; }
  // Durable when it returns. Nothing is written where the same is stored.
  Status store(const Catalog& catalog);

 private:
  explicit CatalogFile(store::MirroredFile file) : file_(std::move(file)) {}

  store::MirroredFile file_;
  std::optional<Catalog> stored_;
};

// What the log knows stays; the declarations of the program that opens it extend it.
Result<Catalog> extended_catalog(Catalog known, const Catalog& given);

}  // namespace walle::stream
