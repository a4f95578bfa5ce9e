#include "link/tunnel/deflate.h"

#include <zlib.h>

namespace walle::link {

namespace {
// zlib's own default. Of 3 KB it takes 60 us, and level 9 gains less than a percent of it.
constexpr int kLevel = Z_DEFAULT_COMPRESSION;

// zlib reads through a pointer to what is not const, and writes nothing there.
Bytef* input(std::string_view bytes) { return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data())); }
}  // namespace

std::optional<std::string> deflated(std::string_view bytes, std::string_view dictionary) {
  z_stream z{};
  // Raw: message.h has sizes and a checksum of its own, and names the dictionary.
  if (bytes.empty() ||
      deflateInit2(&z, kLevel, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
    return std::nullopt;
  std::string out(bytes.size() - 1, '\0');
  bool done = dictionary.empty() ||
              deflateSetDictionary(&z, input(dictionary), static_cast<uInt>(dictionary.size())) == Z_OK;
  z.next_in = input(bytes);
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  done = done && ::deflate(&z, Z_FINISH) == Z_STREAM_END;
  const size_t size = z.total_out;
  deflateEnd(&z);
  if (!done) return std::nullopt;
  out.resize(size);
  return out;
}

std::optional<std::string> inflated(std::string_view bytes, std::string_view dictionary, size_t size) {
  z_stream z{};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return std::nullopt;
  std::string out(size, '\0');
  bool done = dictionary.empty() ||
              inflateSetDictionary(&z, input(dictionary), static_cast<uInt>(dictionary.size())) == Z_OK;
  z.next_in = input(bytes);
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  done = done && ::inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_in == 0 && z.total_out == size;
  inflateEnd(&z);
  if (!done) return std::nullopt;
  return out;
}

}  // namespace walle::link
