// Records in memory, and what became of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "link/tunnel/record_source.h"

namespace walle::link {

class FakeSource : public RecordSource {
 public:
  void add(const std::string& stream, std::string bytes, std::string feature = "f") {
    Stream& s = all_[stream];
    const uint64_t seq = ++s.newest;
    s.waiting[seq] = {.seq = seq,
                      .ts = 1'700'000'000'000'000 + static_cast<int64_t>(seq) * 1000,
                      .task = "task",
                      .feature = std::move(feature),
                      .bytes = std::move(bytes)};
    added[{stream, seq}] = s.waiting[seq].bytes;
  }
  // As an outbox that is full does.
  void drop(const std::string& stream, uint64_t seq) {
    all_[stream].waiting.erase(seq);
    added.erase({stream, seq});
  }

  Result<std::vector<SourceStream>> streams() override {
    if (broken) return failed();
    std::vector<SourceStream> out;
    for (const auto& [name, s] : all_)
      out.push_back({.name = name, .acknowledged = s.acknowledged, .waiting = s.waiting.size()});
    return out;
  }
  Result<std::vector<TunnelRecord>> read(const std::string& stream, uint64_t from, size_t limit) override {
    if (broken) return failed();
    std::vector<TunnelRecord> out;
    const auto& waiting = all_[stream].waiting;
    for (auto at = waiting.lower_bound(from); at != waiting.end() && out.size() < limit; ++at)
      out.push_back(at->second);
    return out;
  }
  Status acknowledge(const std::string& stream, uint64_t seq) override {
    if (broken) return failed();
    Stream& s = all_[stream];
    s.acknowledged = std::max(s.acknowledged, seq);
    s.waiting.erase(s.waiting.begin(), s.waiting.upper_bound(seq));
    return {};
  }
  size_t waiting() const {
    size_t out = 0;
    for (const auto& [name, s] : all_) out += s.waiting.size();
    return out;
  }
  uint64_t acknowledged(const std::string& stream) { return all_[stream].acknowledged; }

  bool broken = false;                                            // the disk
  std::map<std::pair<std::string, uint64_t>, std::string> added;  // those that were not dropped

 private:
  static Error failed() { return resource_error("a full disk", "space", "source", "free some"); }
  struct Stream {
    uint64_t newest = 0, acknowledged = 0;
    std::map<uint64_t, TunnelRecord> waiting;
  };
  std::map<std::string, Stream> all_;
};

}  // namespace walle::link
