// Package: one version of a task as it is fetched - which VM it is for, what it may do, and every file of it
// by name, size and SHA-256 (docs/reference/formats/package.md).
//
// The bytes of the manifest are what a scenario's key vouches for; their SHA-256 is the package digest. Files
// lie apart, under their digests, so that tasks share a model and a device fetches what it lacks. A value:
// one that read_package() returned has been verified whole. What only the device can know - whether the VM is
// its own, whether bytes have the digest - is checked by whoever installs it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace walle::link {

// Other versions are refused, not guessed at: a field that this build does not know might be the one that
// forbids.
inline constexpr uint32_t kManifestVersion = 1;
// They bound what a manifest makes a device hold, and fetch.
inline constexpr size_t kMostPackageBytes = size_t{1} << 20;  // of the manifest
inline constexpr size_t kMostPackageFiles = 4096;
inline constexpr size_t kMostPackageNames = 256;                  // facts, capabilities, imports: of each
inline constexpr uint64_t kMostCodeBytes = uint64_t{1} << 26;     // read into memory
inline constexpr uint64_t kMostPolicyBytes = uint64_t{1} << 20;   // of one file; read into memory
inline constexpr uint64_t kMostContentBytes = uint64_t{1} << 34;  // of all files together
inline constexpr size_t kSha256Bytes = 32;

// Files that are the task's and not its author's. A folder's hidden files never travel, so no author's file
// has such a name.
inline constexpr std::string_view kReservedFolder = ".walle/";
inline constexpr std::string_view kCodeName = ".walle/code";
inline constexpr std::string_view kTaskManifestName = ".walle/manifest";
inline constexpr std::string_view kCloudCodeName = ".walle/cloud";

enum class FileKind : uint8_t {
  code,      // the bytecode, kCodeName: exactly one
  resource,  // models, tables: whatever the author put beside the code
  policy,    // what the task may do, below kReservedFolder: kTaskManifestName is always there
  cloud,     // what the server alone runs with: kCloudCodeName and resources. Devices do not fetch it
};

struct PackageFile {
  std::string name;
  std::string sha256;  // raw, kSha256Bytes
  uint64_t size = 0;
  FileKind kind = FileKind::resource;
  bool for_devices() const { return kind != FileKind::cloud; }
};

struct Package {
  std::string scenario, task, version;
  std::string vm;          // id: "cpython-3.13.5/walle-2"
  std::string op_set;      // id, of the engine it was packed with; empty: it holds no model
  uint64_t ram_bytes = 0;  // its heap's limit and its files
  std::vector<std::string> facts, capabilities, imports;  // sorted, each once
  std::vector<PackageFile> files;                         // sorted by name, each once

  // Of all files; what two of them share counts once.
  uint64_t content_bytes() const;
  const PackageFile* find(std::string_view name) const;
  // Where a repository lists it: "<scenario>/<task>/<task>-<version>.walp".
  std::string path() const;
};

// Whether a package means something; the error names the part of it.
Status verify_package(const Package& package);

// Bytes nobody vouches for: checksum, structure (schemas/package.fbs), then verify_package().
Result<Package> read_package(std::string_view bytes);
// Of a package that verify_package() accepts; equal ones give equal bytes, on every machine.
Result<std::string> pack_package(const Package& package);

}  // namespace walle::link
