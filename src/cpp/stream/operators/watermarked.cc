#include "stream/operators/watermarked.h"

namespace walle::stream {

Result<Batch> Watermarked::push(const Batch& in) {
  WALLE_TRY(check_times(in, name_));
  WALLE_TRY(kinds_.check(in, name_));
  WALLE_TRY(bind(in));
  Batch out = layout();
  for (size_t r = 0; r < in.rows(); ++r) {
    place(in, r, out);
    // After the row is placed: a row never closes what it belongs to.
    const int64_t mark = in.ts[r] - disorder_us_;
    if (mark <= watermark_) continue;
    watermark_ = mark;
    if (watermark_ >= due_) close(out);
  }
  return out;
}

Result<Batch> Watermarked::finish() {
  Batch out = layout();
  watermark_ = INT64_MAX;
  close(out);
  return out;
}

}  // namespace walle::stream
