// Records as one message of the tunnel, and back: docs/reference/formats/tunnel.md.
//
// Records of one stream stand together in a section, deflated as one: behind the first they cost what is new
// in them. A section may be deflated with a dictionary, which is the end of an earlier section of the same
// device and stream that the sink was asked to remember; so each stream's dictionary is made of the stream
// itself, and nobody has to distribute any.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "link/tunnel/record_source.h"

namespace walle::link {

struct MessageSection {
  std::string stream;
  std::vector<TunnelRecord> records;  // at least one, ascending
  std::string dictionary;             // empty: none
  bool remember = false;              // the sink is to keep this section as a dictionary
};

// A name for a dictionary, never 0.
uint32_t dictionary_id(std::string_view dictionary);

struct PackedMessage {
  std::string bytes;
  // By section: what the sink will remember of it; empty where it was not asked to.
  std::vector<std::string> remembered;
  uint64_t record_bytes = 0;  // before they were deflated
};
PackedMessage pack_message(const std::vector<MessageSection>& sections);

// What a section costs at most beside its records, and a record beside its bytes.
inline constexpr size_t kSectionBytes = 300;
inline constexpr size_t kRecordBytes = 550;

struct ReadSection {
  std::string stream;
  std::vector<TunnelRecord> records;
  std::string remember;  // the dictionary to keep; empty: none
  uint32_t unknown = 0;  // the dictionary that nobody has: there are no records then
};
// A stream's dictionary of that id; nothing where there is none.
using DictionaryOf = std::function<std::optional<std::string>(std::string_view stream, uint32_t id)>;
// What pack_message() wrote. An error of group model for anything else.
Result<std::vector<ReadSection>> read_message(std::string_view bytes, const DictionaryOf& dictionary_of);

}  // namespace walle::link
