// Deflate: zlib over bytes at hand, with and without a preset dictionary.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace walle::link {

// Nothing where it would not become smaller, or there is no memory.
std::optional<std::string> deflated(std::string_view bytes, std::string_view dictionary);
// Exactly `size` bytes, or nothing: another size, damage, another dictionary. Precondition: `size` is
// bounded.
std::optional<std::string> inflated(std::string_view bytes, std::string_view dictionary, size_t size);

}  // namespace walle::link
