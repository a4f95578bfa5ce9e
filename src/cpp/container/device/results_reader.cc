#include "container/device/results_reader.h"

#include "container/device/commit_frame.h"
#include "container/device/commits.h"
#include "store/journal_copy.h"

namespace walle::container {

Result<std::unique_ptr<ResultsReader>> ResultsReader::open(Env& env, const std::string& dir,
                                                           const std::string& key) {
  std::unique_ptr<store::SealedEnv> sealed;
  if (!key.empty()) {
    WALLE_ASSIGN(auto aead, store::open_aead(env, dir, key));
    sealed = std::make_unique<store::SealedEnv>(env, std::move(aead));
  }
  if (env.file_size(dir + kCommitsState) < 0 && env.file_size(dir + kCommitsState + ".mirror") < 0)
    return argument_error({"folder '", dir, "' without a device's results"}, "the folder of a device",
                          "results", "check the path");
  WALLE_TRY(store::check_key(env, dir, sealed ? &sealed->aead() : nullptr, false, false));
  auto reader = std::unique_ptr<ResultsReader>(new ResultsReader(std::move(sealed)));
  Env& files = reader->sealed_ ? static_cast<Env&>(*reader->sealed_) : env;
  // The journal first: what leaves it meanwhile is in the segments that are listed behind it.
  WALLE_ASSIGN(const auto journal, store::JournalCopy::read(env, dir + kCommitsJournal, 0));
  WALLE_ASSIGN(reader->tables_,
               store::Tables::open(files, dir + kCommitsTables, store::Tables::Access::read_only));
  std::string plain;
  journal.read(0, [&](uint64_t number, std::span<const std::byte> bytes) {
    std::string_view frame = base::as_text(bytes);
    if (reader->sealed_) {
      if (!reader->sealed_->aead().unseal(frame, store::put_number(number), plain)) return true;
      frame = plain;
    }
    FrameIn f;
    if (!read_frame(frame, f)) return true;
    for (const FrameRows& r : f.rows) reader->tables_->apply(number, r.first, r.rows);
    return true;
  });
  return reader;
}

}  // namespace walle::container
