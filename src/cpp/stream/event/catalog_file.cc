#include "stream/event/catalog_file.h"

namespace walle::stream {

namespace {
constexpr const char* kCatalogFile = "/catalog.walc";
constexpr const char* kKind = "CATL";
}  // namespace

Result<CatalogFile> CatalogFile::open(Env& env, const std::string& dir) {
  const std::string path = dir + kCatalogFile;
  WALLE_ASSIGN(store::MirroredFile file, store::MirroredFile::open(env, path, kKind));
  CatalogFile out(std::move(file));
  const store::MirroredFile::Found found = out.file_.found();
  if (found == store::MirroredFile::Found::damaged)
    return model_error("a damaged catalogue: neither copy has its checksum", "one whole copy",
                       {"'", path, "' and its mirror"}, "restore one of the two files, or move the log away");
  if (found != store::MirroredFile::Found::nothing) {
    WALLE_ASSIGN(out.stored_, Catalog::parse(out.file_.content()));
  }
  return out;
}

Status CatalogFile::store(const Catalog& catalog) {
  const std::string bytes = catalog.serialize();
  if (stored_ && bytes == file_.content()) {
    // Where a damaged copy cannot be replaced now, the other one goes on serving.
    (void)file_.mend().ok();
    return {};
  }
  WALLE_TRY(file_.write(bytes));
  stored_ = catalog;
  return {};
}

Result<Catalog> extended_catalog(Catalog known, const Catalog& given) {
  for (const EventDecl& e : given.events()) WALLE_TRY(known.adopt(e));
  for (const std::string& p : given.pages()) WALLE_TRY(known.page(p));
  for (const std::string& s : given.states()) WALLE_TRY(known.state(s));
  return known;
}

}  // namespace walle::stream
