// MirroredFile: a small file in two copies, `path` and `path.mirror`: what a device must not forget because
// one file was damaged or removed - how much epsilon is spent, how a column is labelled.
//
// Every write numbers the content and replaces one copy, then the other, each atomically and durably. So a
// crash leaves two whole copies, of which the higher number counts, and one damaged copy takes nothing away:
// the other one is no older than the last write that succeeded. Alternating between two places would be half
// the work and would answer damage to the newer one with a content of one write before.
//
// The layout is docs/reference/formats/mirrored-file.md. Not synchronised; one writer, whose lock is the
// owner's.
#pragma once

#include <cstdint>
#include <string>

#include "base/env.h"

namespace walle::store {

// Of a content, unless its owner says more. What needs more belongs into a journal or into segments: every
// write replaces it twice.
inline constexpr size_t kMaxMirroredBytes = size_t{16} << 20;

class MirroredFile {
 public:
  enum class Found : uint8_t {
    nothing,  // no copy is there
    whole,    // both are, or a crash came between the writes of one and the other
    mended,   // one was missing or damaged; mend() writes it again
    damaged   // no copy can be believed
  };

  // `kind`: four letters that say whose content it is. `most`: bytes of a content, at most. An error only
  // when no copy is whole and one could not be read: the disk may be asked again, and nothing is to be
  // decided before.
  static Result<MirroredFile> open(Env& env, std::string path, std::string kind,
                                   size_t most = kMaxMirroredBytes);

  Found found() const { return found_; }
  bool readable() const { return found_ == Found::whole || found_ == Found::mended; }
  const std::string& content() const { return content_; }  // empty where none was found
  // The copies as they should be, if they are not. A failure (a full or read-only disk) costs nothing yet.
  Status mend();
  // Durable in both copies when it returns. After an error the new content may be on the disk, in one copy.
  Status write(std::string_view content);
  // Copies that cannot be believed, under names that end in ".damaged", for whoever wants to look.
  Status set_aside();

  const std::string& path() const { return path_; }
  std::string mirror_path() const { return path_ + ".mirror"; }

 private:
  MirroredFile(Env& env, std::string path, std::string kind, size_t most)
      : env_(&env), path_(std::move(path)), kind_(std::move(kind)), most_(most) {}

  Env* env_;
  std::string path_, kind_, content_;
  size_t most_;
  uint64_t number_ = 0;  // of the newest write that was tried
  Found found_ = Found::nothing;
  bool uneven_ = false;  // the copies differ, or one is not there
};

// One copy's bytes, and back: false for what encode_mirrored() does not write. For tests and tools.
std::string encode_mirrored(std::string_view kind, uint64_t number, std::string_view content);
bool decode_mirrored(std::string_view bytes, std::string_view kind, uint64_t& number, std::string& content,
                     size_t most = kMaxMirroredBytes);

}  // namespace walle::store
