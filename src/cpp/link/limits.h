// Limits: what a server may make a device read, keep or follow. Sizes in bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace walle::link {

// Of one metadata file. Of 300 tasks in 20 roles, three versions each, a role and the snapshot take 8.8 KB.
inline constexpr uint64_t kMostRootBytes = 512'000;
inline constexpr uint64_t kMostTimestampBytes = 16'384;
inline constexpr uint64_t kMostSnapshotBytes = 2'000'000;
inline constexpr uint64_t kMostTargetsBytes = 5'000'000;

// New versions of root in one refresh, and delegated roles looked at for one target.
inline constexpr int kMostRootRotations = 256;
inline constexpr size_t kMostDelegations = 32;

// Roles one file delegates to: each scenario has one.
inline constexpr size_t kMostDelegatedRoles = 4096;

// Of JSON: a value takes 40 bytes of memory and may take two of text.
inline constexpr size_t kMostJsonDepth = 32;
inline constexpr size_t kMostJsonValues = 250'000;

// Each signature may cost a verification.
inline constexpr size_t kMostSignatures = 256;

// Of a role's name as a file name: what file systems take, less the suffix.
inline constexpr size_t kMostRoleNameBytes = 200;

}  // namespace walle::link
