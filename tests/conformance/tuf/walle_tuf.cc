// walle-tuf: the native TUF client behind the command line of the public tuf-conformance suite
// (https://github.com/theupdateframework/tuf-conformance, CLIENT-CLI.md): init, refresh, download. Errors go
// to stderr; the exit status is 0 or 1, and 2 for a command line that is none.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "http_get.h"
#include "link/trust/path_match.h"
#include "link/trust/updater.h"

namespace walle::tuf {
namespace {

constexpr const char* kUsage =
    "usage: walle-tuf --metadata-dir DIR init ROOT\n"
    "       walle-tuf --metadata-dir DIR --metadata-url URL refresh\n"
    "       walle-tuf --metadata-dir DIR --metadata-url URL --target-name PATH... --target-base-url URL\n"
    "                 --target-dir DIR download\n";

struct Arguments {
  std::map<std::string, std::string> options;
  std::vector<std::string> targets;
  std::string command, root;
};

bool read_arguments(int count, char** words, Arguments& out) {
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word.starts_with("--")) {
      if (++i == count) return false;
      if (word == "--target-name")
        out.targets.emplace_back(words[i]);
      else
        out.options[word] = words[i];
    } else if (out.command.empty()) {
      out.command = word;
    } else {
      out.root = word;
    }
  }
  const bool download = out.command == "download";
  if (!out.options.contains("--metadata-dir")) return false;
  if (out.command == "init") return !out.root.empty();
  if (!out.options.contains("--metadata-url")) return false;
  return out.command == "refresh" ||
         (download && !out.targets.empty() && out.options.contains("--target-dir") &&
          out.options.contains("--target-base-url"));
}

Status download(link::Updater& updater, const std::string& folder, const std::string& path) {
  WALLE_ASSIGN(const std::optional<link::FoundTarget> found, updater.find(path));
  if (!found)
    return network_error("no target '" + path + "'", "one that the repository lists", "download",
                         "check the name");
  const std::string file = folder + "/" + link::encode_name(path);
  WALLE_ASSIGN(const bool cached, updater.is_cached(*found, file));
  return cached ? Status() : updater.download(*found, file);
}

Status run(const Arguments& arguments) {
  const auto option = [&](const char* name) {
    const auto found = arguments.options.find(name);
    return found == arguments.options.end() ? std::string() : found->second;
  };
  Env& env = Env::system();
  if (arguments.command == "init") {
    WALLE_ASSIGN(const std::string root, env.read_file(arguments.root));
    return link::Updater::init(env, option("--metadata-dir"), root);
  }
  HttpGetTransport transport;
  WALLE_ASSIGN(const std::unique_ptr<link::Updater> updater,
               link::Updater::open(env, transport,
                                   {.folder = option("--metadata-dir"),
                                    .metadata_url = option("--metadata-url"),
                                    .target_url = option("--target-base-url"),
                                    .first_root = {}}));
  if (arguments.command == "refresh") return updater->refresh();
  for (const std::string& path : arguments.targets)
    WALLE_TRY(download(*updater, option("--target-dir"), path));
  return {};
}

}  // namespace
}  // namespace walle::tuf

int main(int count, char** words) {
  walle::tuf::Arguments arguments;
  if (!walle::tuf::read_arguments(count, words, arguments)) {
    std::fputs(walle::tuf::kUsage, stderr);
    return 2;
  }
  const walle::Status done = walle::tuf::run(arguments);
  if (done.ok()) return 0;
  std::fprintf(stderr, "walle-tuf: %s\n", done.error().message().c_str());
  return 1;
}
