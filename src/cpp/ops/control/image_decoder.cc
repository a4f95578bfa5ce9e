// ImageDecoder: the pixels of a picture given as the bytes of its file, [height, width, 1 or 3]. Run by the
// executor, because the size is in the bytes.
#include "ir/op_def.h"
#include "ops/control/picture.h"
#include "ops/control_context.h"

namespace walle::ops {

namespace {
// ITU-R 601 luma in 16-bit fixed point, rounded, as Pillow has it.
uint8_t grey(const uint8_t* rgb) {
  return static_cast<uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

Status run(ControlContext& c) {
  const Tensor* bytes = c.in(0).tensor();
  const std::string format = c.attrs().get_string("pixel_format", "RGB");
  if (!bytes || bytes->dtype() != DType::uint8 || bytes->shape().rank() != 1 ||
      (format != "RGB" && format != "BGR" && format != "Grayscale"))
    return model_error({"pixel_format '", format, "', or an input that is no row of bytes"},
                       "uint8 [bytes]; RGB, BGR or Grayscale", "ImageDecoder", "check the node");
  WALLE_ASSIGN(const Picture picture, decode_picture(bytes->as<uint8_t>()));
  const int64_t channels = format == "Grayscale" ? 1 : 3;
  WALLE_ASSIGN(Tensor out, Tensor::allocate(DType::uint8, Shape{picture.height, picture.width, channels}));
  auto* to = static_cast<uint8_t*>(out.mutable_data());
  for (size_t i = 0; i < picture.rgb.size(); i += 3) {
    const uint8_t* from = &picture.rgb[i];
    if (channels == 1)
      *to++ = grey(from);
    else
      // BGR is OpenCV's order, which models trained with it expect.
      for (int k = 0; k < 3; ++k) *to++ = from[format == "RGB" ? k : 2 - k];
  }
  c.output(0, std::move(out));
  return {};
}
}  // namespace

extern const ir::OpDef kImageDecoderOp{
    .name = "ImageDecoder", .op_class = ir::OpClass::control, .control = run};

}  // namespace walle::ops
