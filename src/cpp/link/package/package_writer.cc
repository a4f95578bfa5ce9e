// Writes a package's manifest; package_file.cc reads it.
#include <array>
#include <cstring>

#include "base/bytes.h"
#include "link/package/package.h"
#include "schemas/package_generated.h"

namespace walle::link {

namespace {

using namespace walle_rt::fb;

flatbuffers::Offset<walle_rt::fb::PackageFile> write_file(flatbuffers::FlatBufferBuilder& to,
                                                          const PackageFile& file) {
  std::array<uint8_t, kSha256Bytes> bytes;
  std::memcpy(bytes.data(), file.sha256.data(), kSha256Bytes);
  const PackageDigest digest{flatbuffers::span<const uint8_t, kSha256Bytes>(bytes)};
  return CreatePackageFile(to, to.CreateString(file.name), &digest, file.size,
                           static_cast<uint8_t>(file.kind));
}

}  // namespace

Result<std::string> pack_package(const Package& package) {
  WALLE_TRY(verify_package(package));
  flatbuffers::FlatBufferBuilder to;
  std::vector<flatbuffers::Offset<walle_rt::fb::PackageFile>> files;
  for (const PackageFile& file : package.files) files.push_back(write_file(to, file));
  // One after the other and not as arguments of one call, whose order is the compiler's: the bytes are to be
  // the same whoever built this.
  const auto listed = to.CreateVector(files);
  const auto imports = to.CreateVectorOfStrings(package.imports);
  const auto capabilities = to.CreateVectorOfStrings(package.capabilities);
  const auto facts = to.CreateVectorOfStrings(package.facts);
  const auto op_set = to.CreateString(package.op_set);
  const auto vm = to.CreateString(package.vm);
  const auto version = to.CreateString(package.version);
  const auto task = to.CreateString(package.task);
  const auto scenario = to.CreateString(package.scenario);
  FinishPackageManifestBuffer(
      to, CreatePackageManifest(to, kManifestVersion, scenario, task, version, vm, op_set, package.ram_bytes,
                                facts, capabilities, imports, listed));
  base::ByteWriter out;
  out.put_bytes({reinterpret_cast<const char*>(to.GetBufferPointer()), to.GetSize()});
  out.put_checksum();
  if (out.size() > kMostPackageBytes) {
    return task_error({"a manifest of ", out.size(), " bytes"}, {"at most ", kMostPackageBytes},
                      {"packing task '", package.task, "'"}, "put many small files into one");
  }
  return out.take();
}

}  // namespace walle::link
