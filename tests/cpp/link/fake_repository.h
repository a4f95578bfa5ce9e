// A repository in memory that a test can change, sign with the wrong keys and serve wrongly; after the idea
// of python-tuf's RepositorySimulator.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "link/transport.h"
#include "signing_key.h"

namespace walle::link {

inline constexpr const char* kMetadataUrl = "mem://meta/";
inline constexpr const char* kTargetUrl = "mem://targets/";

// Serves `files` by URL, from a byte on where one is asked for; everything else is a 404. Keeps what is
// posted.
class FakeServer final : public Transport {
 public:
  std::string name() const override { return "in memory"; }
  Result<int> get(const HttpGet& request, const BodySink& body) override {
    asked.push_back(request.url);
    if (on_get) on_get(request.url);
    if (request.url.ends_with("/v1/device")) return told(request.headers);
    if (request.url == broken) return network_error("no connection", "a server", request.url, "try again");
    if (request.url == endless) {
      const std::string piece(4096, ' ');
      while (true) {
        sent += piece.size();
        WALLE_TRY(body(piece));
      }
    }
    const auto found = files.find(request.url);
    if (found == files.end()) return 404;
    if (request.from > found->second.size()) return 416;
    // In small pieces, as networks deliver.
    size_t left = cut.contains(request.url) ? cut[request.url] : SIZE_MAX;
    for (size_t at = request.from; at < found->second.size(); at += kPiece) {
      if (left == 0) return network_error("a connection that was cut", "the rest", request.url, "try again");
      const std::string_view piece = std::string_view(found->second).substr(at, std::min(kPiece, left));
      left -= piece.size();
      sent += piece.size();
      WALLE_TRY(body(piece));
      if (piece.size() < kPiece && at + piece.size() < found->second.size())
        return network_error("a connection that was cut", "the rest", request.url, "try again");
    }
    return request.from > 0 ? 206 : 200;
  }
  Result<int> post(const HttpPost& request, const BodySink& body) override {
    if (on_post) on_post(request);
    if (post_status == 0) return network_error("no connection", "a server", request.url, "try again");
    if (post_status == 200) posted.push_back(request.body);
    if (post_status == 429) WALLE_TRY(body(wait_reply));
    return post_status;
  }

  // GET /v1/device: the headers that came.
  int told(const std::vector<HttpHeader>& headers) {
    auto& kept = profiles.emplace_back();
    for (const HttpHeader& header : headers) kept[header.name] = header.value;
    return device_status;
  }

  static constexpr size_t kPiece = 1000;
  std::map<std::string, std::string> files;
  std::map<std::string, size_t> cut;  // a connection that ends behind so many bytes
  std::vector<std::string> asked, posted;
  std::string broken, endless;
  uint64_t sent = 0;
  std::vector<std::map<std::string, std::string>> profiles;
  int device_status = 204;
  int post_status = 200;                                       // 0: nobody answers
  std::string wait_reply = R"({"granted":false,"wait_s":7})";  // of a 429
  std::function<void(const std::string&)> on_get;
  std::function<void(const HttpPost&)> on_post;
};

struct FakeRole {
  std::vector<std::shared_ptr<SigningKey>> keys;  // that the delegator names
  std::vector<std::shared_ptr<SigningKey>> signers;
  int64_t threshold = 1;
  int64_t version = 0;
  std::string expires = "2030-01-01T00:00:00Z";
  std::map<std::string, std::string> targets;  // content by path
  std::string type = "targets";
};

struct FakeDelegation {
  std::string from, to;
  std::vector<std::string> paths;
  bool terminating = false;
  bool by_hash = false;
};

class FakeRepository {
 public:
  explicit FakeRepository(FakeServer& server) : server_(&server) {
    for (const char* role : {"root", "timestamp", "snapshot", "targets"}) {
      new_keys(role);
      roles[role].type = role;
    }
    publish({"targets", "snapshot", "timestamp", "root"});
  }

  void new_keys(const std::string& role, size_t count = 1,
                SigningKey::Kind kind = SigningKey::Kind::ed25519) {
    roles[role].keys.clear();
    for (size_t i = 0; i < count; ++i) roles[role].keys.push_back(std::make_shared<SigningKey>(kind));
    roles[role].signers = roles[role].keys;
  }

  void delegate(FakeDelegation delegation) {
    if (!roles.contains(delegation.to)) new_keys(delegation.to);
    delegations.push_back(std::move(delegation));
  }

  void publish(const std::vector<std::string>& names) {
    for (const std::string& role : names) {
      ++roles[role].version;
      sign(role);
    }
  }

  // The file of the role's present version, which the server has from then on.
  void sign(const std::string& role) {
    const FakeRole& state = roles[role];
    Json::Object content{{"_type", Json(state.type)},
                         {"spec_version", Json(std::string("1.0.31"))},
                         {"version", Json(state.version)},
                         {"expires", Json(state.expires)},
                         {"x-unknown", Json(Json::Array{Json(true), Json()})}};
    if (state.type == "root") add_root(content);
    if (state.type == "timestamp")
      content.push_back({"meta", Json(Json::Object{{"snapshot.json", meta("snapshot")}})});
    if (state.type == "snapshot") content.push_back({"meta", snapshot_meta()});
    if (state.type == "targets") add_targets(content, role);
    const std::string bytes = signed_bytes(Json(std::move(content)), state.signers);
    current[role] = bytes;
    const bool versioned = role == "root" || (consistent && role != "timestamp");
    server_->files[url(role, versioned ? state.version : 0)] = bytes;
  }

  // The canonical form leaves line ends in texts as they are, which a file of JSON may not have.
  static std::string as_text(const Json& value) {
    std::string text;
    for (const char c : value.canonical()) text += c == '\n' ? std::string("\\n") : std::string(1, c);
    return text;
  }

  static std::string signed_bytes(const Json& content,
                                  const std::vector<std::shared_ptr<SigningKey>>& signers) {
    Json::Array signatures;
    for (const auto& key : signers)
      signatures.push_back(Json(
          Json::Object{{"keyid", Json(key->id())}, {"sig", Json(to_hex(key->sign(content.canonical())))}}));
    return as_text(Json(Json::Object{{"signatures", Json(std::move(signatures))}, {"signed", content}}));
  }

  static std::string url(const std::string& role, int64_t version) {
    return kMetadataUrl + (version ? std::to_string(version) + "." : std::string()) + role + ".json";
  }

  static std::string sha256(std::string_view bytes) {
    return *digest_hex(**Crypto::system(), DigestKind::sha256, bytes);
  }

  std::string target_url(const std::string& path) const {
    for (const auto& [name, role] : roles)
      if (role.targets.contains(path)) {
        const size_t at = path.rfind('/') + 1;
        return kTargetUrl + path.substr(0, at) + sha256(role.targets.at(path)) + "." + path.substr(at);
      }
    return {};
  }

  std::map<std::string, FakeRole> roles;
  std::vector<FakeDelegation> delegations;
  std::map<std::string, std::string> current;  // bytes by role
  bool with_hashes = true;
  bool consistent = true;

 private:
  static Json key_set(const std::vector<std::shared_ptr<SigningKey>>& keys) {
    Json::Object out;
    for (const auto& key : keys) out.push_back({key->id(), key->json()});
    return Json(std::move(out));
  }
  Json::Object role_json(const std::string& name) {
    Json::Array ids;
    for (const auto& key : roles[name].keys) ids.push_back(Json(key->id()));
    return {{"keyids", Json(std::move(ids))}, {"threshold", Json(roles[name].threshold)}};
  }
  void add_root(Json::Object& content) {
    std::vector<std::shared_ptr<SigningKey>> keys;
    Json::Object all;
    for (const char* role : {"root", "timestamp", "snapshot", "targets"}) {
      keys.insert(keys.end(), roles[role].keys.begin(), roles[role].keys.end());
      all.push_back({role, Json(role_json(role))});
    }
    content.push_back({"keys", key_set(keys)});
    content.push_back({"roles", Json(std::move(all))});
    content.push_back({"consistent_snapshot", Json(consistent)});
  }
  Json meta(const std::string& role) {
    Json::Object out{{"version", Json(roles[role].version)}};
    if (with_hashes && current.contains(role)) {
      out.push_back({"length", Json(static_cast<int64_t>(current[role].size()))});
      out.push_back({"hashes", Json(Json::Object{{"sha256", Json(sha256(current[role]))}})});
    }
    return Json(std::move(out));
  }
  Json snapshot_meta() {
    Json::Object out;
    for (const auto& [name, role] : roles)
      if (role.type == "targets" && role.version) out.push_back({name + ".json", meta(name)});
    return Json(std::move(out));
  }
  void add_targets(Json::Object& content, const std::string& role) {
    Json::Object targets;
    for (const auto& [path, bytes] : roles[role].targets) {
      targets.push_back(
          {path, Json(Json::Object{{"length", Json(static_cast<int64_t>(bytes.size()))},
                                   {"hashes", Json(Json::Object{{"sha256", Json(sha256(bytes))}})}})});
      server_->files[target_url(path)] = bytes;
    }
    content.push_back({"targets", Json(std::move(targets))});
    std::vector<std::shared_ptr<SigningKey>> keys;
    Json::Array out;
    for (const FakeDelegation& d : delegations) {
      if (d.from != role) continue;
      keys.insert(keys.end(), roles[d.to].keys.begin(), roles[d.to].keys.end());
      Json::Object entry = role_json(d.to);
      Json::Array paths;
      for (const std::string& path : d.paths) paths.push_back(Json(path));
      entry.push_back({"name", Json(d.to)});
      entry.push_back({"terminating", Json(d.terminating)});
      entry.push_back({d.by_hash ? "path_hash_prefixes" : "paths", Json(std::move(paths))});
      out.push_back(Json(std::move(entry)));
    }
    if (!out.empty())
      content.push_back(
          {"delegations", Json(Json::Object{{"keys", key_set(keys)}, {"roles", Json(std::move(out))}})});
  }

  FakeServer* server_;
};

}  // namespace walle::link
