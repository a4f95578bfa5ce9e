#include "ops/control/picture.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string>
#include <string_view>

namespace walle::ops {

namespace {
using Bytes = std::span<const uint8_t>;

// Pixels of one picture: 192 MB of RGB. Headers cost a hostile file nothing.
constexpr int64_t kMaxPixels = int64_t{1} << 26;

Error damaged(Text format, Text given) {
  return model_error({format, " data with ", given}, "a whole picture", "ImageDecoder", "check the bytes");
}

Error lacking(Text format, Text library) {
  return resource_error({"a ", format, " picture, but no ", library}, library, "ImageDecoder",
                        {"install ", library, ", or decode before the model"});
}

Result<Picture> blank(const char* format, int64_t width, int64_t height) {
  // By division: width * height may overflow.
  if (width < 1 || height < 1 || width > kMaxPixels || height > kMaxPixels / width)
    return damaged(format, {width, " x ", height, " pixels"});
  return Picture{width, height, std::vector<uint8_t>(width * height * 3)};
}

// Little-endian number of `size` bytes; the caller has checked that they are there.
int64_t number(Bytes b, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value |= static_cast<uint64_t>(b[at + i]) << (8 * i);
  // Sizes of four bytes are signed in BMP, those of two are not.
  return size == 4 ? static_cast<int32_t>(value) : static_cast<int64_t>(value);
}

// Uncompressed BMP of 24 or 32 bits; a negative height says that rows run from the top.
Result<Picture> decode_bmp(Bytes b) {
  // BITMAPFILEHEADER and BITMAPINFOHEADER; what later versions append is skipped by the offset of the pixels.
  constexpr size_t kHeader = 14 + 40;
  constexpr size_t kPixels = 10;
  constexpr size_t kWidth = 18;
  constexpr size_t kHeight = 22;
  constexpr size_t kBits = 28;
  constexpr size_t kCompression = 30;
  if (b.size() < kHeader) return damaged("BMP", "a cut header");
  const int64_t start = number(b, kPixels, 4);
  const int64_t height = number(b, kHeight, 4);
  const int64_t bits = number(b, kBits, 2);
  if ((bits != 24 && bits != 32) || number(b, kCompression, 4) != 0)
    return model_error({"a BMP of ", bits, " bits or with compression"}, "24 or 32 bits without it",
                       "ImageDecoder", "save the picture as PNG");
  WALLE_ASSIGN(Picture p, blank("BMP", number(b, kWidth, 4), std::max(height, -height)));
  // Rows are padded to four bytes.
  const int64_t row = (p.width * bits / 8 + 3) / 4 * 4;
  // Checked against the bytes before the first pixel is read; width and height are bounded by then.
  if (start < 0 || start + row * p.height > static_cast<int64_t>(b.size()))
    return damaged("BMP", "too few bytes");
  uint8_t* to = p.rgb.data();
  for (int64_t y = 0; y < p.height; ++y) {
    const uint8_t* from = b.data() + start + (height < 0 ? y : p.height - 1 - y) * row;
    // BMP stores blue first; a fourth byte (alpha or nothing) is skipped.
    for (int64_t x = 0; x < p.width; ++x, from += bits / 8, to += 3) std::reverse_copy(from, from + 3, to);
  }
  return p;
}

// Binary PNM: P5 (grey) or P6 (colour) of 8 bits.
Result<Picture> decode_pnm(Bytes b) {
  size_t at = 2;
  const auto next = [&]() -> int64_t {
    // PNM allows comments wherever a blank may stand.
    while (at < b.size() && (std::isspace(b[at]) || b[at] == '#')) {
      if (b[at] == '#')
        while (at < b.size() && b[at] != '\n') ++at;
      else
        ++at;
    }
    int64_t value = -1;
    // Stops before it can overflow; blank() refuses what is larger.
    for (; at < b.size() && std::isdigit(b[at]) && value < kMaxPixels; ++at)
      value = std::max<int64_t>(value, 0) * 10 + (b[at] - '0');
    return value;
  };
  const int64_t width = next();
  const int64_t height = next();
  // The largest value of a sample: 255 is one byte, more would be two.
  if (next() != 255) return damaged("PNM", "another depth than 8 bits");
  ++at;  // one white space
  WALLE_ASSIGN(Picture p, blank("PNM", width, height));
  const int64_t channels = b[1] == '6' ? 3 : 1;
  if (at > b.size() || static_cast<int64_t>(b.size() - at) < width * height * channels)
    return damaged("PNM", "too few bytes");
  for (int64_t i = 0; i < width * height * 3; ++i) p.rgb[i] = b[at + (channels == 3 ? i : i / 3)];
  return p;
}

// A shared library that stays open; its functions by name. Empty where it is not installed.
// Looked for at run time: the core links against neither library, so that it runs where they are not
// installed and is not larger where they are.
class Library {
 public:
  explicit Library(const char* name) : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}
  template <class Function>
  Function find(const char* name) const {
    return handle_ ? reinterpret_cast<Function>(dlsym(handle_, name)) : nullptr;
  }

 private:
  void* handle_;
};

// The simplified interface of libpng 1.6, whose layout its manual fixes (png_image, version 1).
struct PngImage {
  void* opaque = nullptr;
  uint32_t version = 1;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t format = 0;
  uint32_t flags = 0;
  uint32_t colormap_entries = 0;
  uint32_t warning_or_error = 0;
  char message[64] = {};
};
// PNG_FORMAT_FLAG_COLOR without alpha: the library composes and converts.
constexpr uint32_t kPngRgb = 2;

Result<Picture> decode_png(Bytes b) {
  static const Library library("libpng16.so.16");
  static const auto begin =
      library.find<int (*)(PngImage*, const void*, size_t)>("png_image_begin_read_from_memory");
  static const auto finish =
      library.find<int (*)(PngImage*, const void*, void*, int32_t, void*)>("png_image_finish_read");
  static const auto release = library.find<void (*)(PngImage*)>("png_image_free");
  if (!begin || !finish || !release) return lacking("PNG", "libpng16");
  PngImage image;
  if (!begin(&image, b.data(), b.size())) return damaged("PNG", image.message);
  auto made = blank("PNG", image.width, image.height);
  image.format = kPngRgb;
  const bool good = made.ok() && finish(&image, nullptr, made->rgb.data(), 0, nullptr) != 0;
  const std::string message = image.message;
  // Frees what begin() took whether or not the pixels were read.
  release(&image);
  if (made.ok() && !good) return damaged("PNG", message);
  return made;
}

Result<Picture> decode_jpeg(Bytes b) {
  // TurboJPEG, libjpeg-turbo's own interface, which is simpler and more stable than libjpeg's structures.
  static const Library library("libturbojpeg.so.0");
  static const auto open = library.find<void* (*)()>("tjInitDecompress");
  static const auto close = library.find<int (*)(void*)>("tjDestroy");
  static const auto header =
      library.find<int (*)(void*, const uint8_t*, unsigned long, int*, int*, int*, int*)>(
          "tjDecompressHeader3");
  static const auto decompress =
      library.find<int (*)(void*, const uint8_t*, unsigned long, uint8_t*, int, int, int, int, int)>(
          "tjDecompress2");
  if (!open || !close || !header || !decompress) return lacking("JPEG", "libturbojpeg");
  void* handle = open();
  if (!handle)
    return resource_error("libturbojpeg does not start", "a working one", "ImageDecoder", "reinstall it");
  int width = 0;
  int height = 0;
  int sampling = 0;
  int colours = 0;
  Result<Picture> made = damaged("JPEG", "no header");
  if (header(handle, b.data(), b.size(), &width, &height, &sampling, &colours) == 0) {
    made = blank("JPEG", width, height);
    constexpr int kRgb = 0;
    if (made.ok() && decompress(handle, b.data(), b.size(), made->rgb.data(), width, 0, height, kRgb, 0) != 0)
      made = damaged("JPEG", "an error inside");
  }
  close(handle);
  return made;
}
}  // namespace

Result<Picture> decode_picture(Bytes bytes) {
  const auto starts = [&](std::string_view magic) {
    return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
  };
  // By the first bytes: ImageDecoder says nothing of the format, and names of files are not known.
  if (starts("BM")) return decode_bmp(bytes);
  if (starts("P5") || starts("P6")) return decode_pnm(bytes);
  if (starts("\x89PNG")) return decode_png(bytes);
  if (starts("\xff\xd8\xff")) return decode_jpeg(bytes);
  return model_error("bytes of a picture format that is not known", "BMP, PNM, PNG or JPEG", "ImageDecoder",
                     "convert the picture");
}

}  // namespace walle::ops
