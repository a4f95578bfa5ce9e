// A package's manifest as FlatBuffers with a checksum behind it (schemas/package.fbs). The checksum is there
// for damage: authentic is what a signed digest names. FlatBuffers' verifier vouches for offsets and lengths,
// verify_package() for what is said.
#include <cstring>

#include "base/bytes.h"
#include "link/package/package.h"
#include "schemas/package_generated.h"

namespace walle::link {

namespace {

using namespace walle_rt::fb;

constexpr size_t kChecksumBytes = 4;
constexpr size_t kLeastFlatBuffer = 8;  // the root's offset and the identifier, which it reads unasked
constexpr flatbuffers::uoffset_t kMaxTables = kMostPackageFiles + 1;
constexpr int kMaxDepth = 4;

using Texts = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;

Error damaged(Text given) {
  return task_error(given, "what `walle task pack` wrote (schemas/package.fbs, version 1)",
                    "the manifest of a package", "fetch it again, or pack the task again");
}

std::vector<std::string> texts(const Texts* all) {
  std::vector<std::string> out;
  if (all == nullptr) return out;
  for (const flatbuffers::String* text : *all) out.push_back(text->str());
  return out;
}

PackageFile read_file(const walle_rt::fb::PackageFile& in) {
  const auto* digest = reinterpret_cast<const char*>(in.sha256()->bytes()->Data());
  return {.name = in.name()->str(),
          .sha256 = std::string(digest, kSha256Bytes),
          .size = in.size(),
          .kind = static_cast<FileKind>(in.kind())};
}

Package read_values(const PackageManifest& in) {
  Package out;
  out.scenario = in.scenario()->str();
  out.task = in.task()->str();
  out.version = in.task_version()->str();
  out.vm = in.vm()->str();
  if (in.op_set() != nullptr) out.op_set = in.op_set()->str();
  out.ram_bytes = in.ram_bytes();
  out.facts = texts(in.facts());
  out.capabilities = texts(in.capabilities());
  out.imports = texts(in.imports());
  if (in.files() == nullptr) return out;
  for (const walle_rt::fb::PackageFile* file : *in.files()) out.files.push_back(read_file(*file));
  return out;
}

}  // namespace

Result<Package> read_package(std::string_view bytes) {
  const std::string size = std::to_string(bytes.size()) + " bytes";
  if (bytes.size() > kMostPackageBytes)
    return damaged({"a manifest of ", size, ", more than ", kMostPackageBytes});
  if (bytes.size() < kLeastFlatBuffer + kChecksumBytes) return damaged({"a manifest of ", size});
  base::ByteReader whole(bytes);
  const std::string_view table = whole.bytes(bytes.size() - kChecksumBytes);
  if (!whole.checksum()) return damaged({"a manifest of ", size, " whose checksum does not match"});
  // FlatBuffers wants its bytes aligned, and these may lie anywhere.
  std::vector<uint64_t> aligned((table.size() + 7) / 8);
  std::memcpy(aligned.data(), table.data(), table.size());
  const auto* data = reinterpret_cast<const uint8_t*>(aligned.data());
  flatbuffers::Verifier verifier(data, table.size(), kMaxDepth, kMaxTables);
  if (!VerifyPackageManifestBuffer(verifier)) return damaged({"a damaged manifest of ", size});
  const PackageManifest& in = *GetPackageManifest(data);
  if (in.version() != kManifestVersion) return damaged({"a manifest of version ", in.version()});
  Package out = read_values(in);
  WALLE_TRY(verify_package(out));
  return out;
}

}  // namespace walle::link
