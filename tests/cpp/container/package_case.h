// What the tests of packages share: versions made of source text, as manifests and files under their digests.
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>

#include "columns.h"
#include "container/device/package_version.h"
#include "container/device_case.h"
#include "link/crypto.h"

namespace walle::container {

namespace fs = std::filesystem;

inline std::string source(int version) {
  return "def main(event):\n    return {'item': event['fields']['item'], 'text': '" +
         std::to_string(version) + "'}\n";
}

class PackageTest : public DeviceTest {
 protected:
  struct Packed {
    link::Package package;
    std::map<std::string, std::string> blobs;  // by digest in hexadecimal
    std::string manifest() const {
      const Result<std::string> bytes = link::pack_package(package);
      EXPECT_TRUE(bytes.ok()) << bytes.error().message();
      return bytes.ok() ? *bytes : "";
    }
  };

  void SetUp() override {
    DeviceTest::SetUp();
    blobs_ = dir_ + "_blobs";
  }
  void TearDown() override {
    DeviceTest::TearDown();
    std::error_code none;
    fs::remove_all(blobs_, none);
  }

  void add(Packed& to, const std::string& name, const std::string& bytes, link::FileKind kind) {
    const Result<std::string> hex = package_digest(bytes);
    ASSERT_TRUE(hex.ok());
    std::string raw;
    ASSERT_TRUE(link::from_hex(*hex, raw));
    to.package.files.push_back({name, raw, bytes.size(), kind});
    to.blobs[*hex] = bytes;
  }
  Packed pack(const Manifest& m, const std::string& text, const Files& files = {}) {
    Packed out;
    link::Package& p = out.package;
    p.scenario = "shop";
    p.task = m.name;
    p.version = m.version;
    p.vm = vm_->id();
    p.capabilities = m.host_calls;
    p.imports = m.imports;
    p.facts = m.requires_facts;
    for (auto* names : {&p.capabilities, &p.imports, &p.facts}) std::ranges::sort(*names);
    const Result<std::string> code = vm_->compile({{"main", "main.py", text, false}});
    const Result<std::string> packed = pack_manifest(m);
    EXPECT_TRUE(code.ok() && packed.ok());
    add(out, std::string(link::kCodeName), *code, link::FileKind::code);
    add(out, std::string(link::kTaskManifestName), *packed, link::FileKind::policy);
    for (const auto& [name, bytes] : files) add(out, name, bytes, link::FileKind::resource);
    std::ranges::sort(p.files, {}, &link::PackageFile::name);
    return out;
  }
  // What the agent does: each file under its digest.
  void lay_out(const Packed& packed) {
    ASSERT_TRUE(env_->make_dirs(blobs_).ok());
    for (const auto& [digest, bytes] : packed.blobs)
      ASSERT_TRUE(env_->replace_file(blobs_ + "/" + digest, bytes).ok());
  }
  Result<std::string> install_package(const Packed& packed) {
    lay_out(packed);
    return core_->install_package(packed.manifest(), blobs_);
  }
  void must_install(const Packed& packed) {
    const Result<std::string> installed = install_package(packed);
    ASSERT_TRUE(installed.ok()) << installed.error().message();
    EXPECT_EQ(*installed, packed.package.task);
  }
  std::vector<std::string> parts() {
    Result<std::vector<std::string>> files = env_->list_files(dir_ + "/tasks/parts");
    return files.ok() ? *files : std::vector<std::string>();
  }
  std::vector<std::string> texts(const std::string& task) {
    Result<store::TableColumns> read = core_->commits().tables().read(table_name(task, "rows"));
    EXPECT_TRUE(read.ok()) << read.error().message();
    return read.ok() ? texts_of(read->columns[1].cells) : std::vector<std::string>();
  }

  std::string blobs_;
};

}  // namespace walle::container
