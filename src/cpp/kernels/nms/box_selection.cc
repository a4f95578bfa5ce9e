#include "kernels/nms/box_selection.h"

#include <algorithm>

namespace walle::kernels {

namespace {
struct Corners {
  float y0, x0, y1, x1;
};

Corners corners(const float* b, bool center) {
  // ONNX center_point_box = 1 is what PyTorch's detectors write, 0 what TensorFlow's do. Corners of the
  // second form may come in either order, says ONNX; the minima put them right.
  if (center)
    return {.y0 = b[1] - b[3] / 2, .x0 = b[0] - b[2] / 2, .y1 = b[1] + b[3] / 2, .x1 = b[0] + b[2] / 2};
  return {.y0 = std::min(b[0], b[2]),
          .x0 = std::min(b[1], b[3]),
          .y1 = std::max(b[0], b[2]),
          .x1 = std::max(b[1], b[3])};
}

// Intersection over union beyond the threshold. Boxes without area overlap nothing.
bool overlaps(const Corners& a, const Corners& b, float threshold) {
  const float height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  const float width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  if (height <= 0 || width <= 0) return false;
  const float common = height * width;
  const float area_a = (a.y1 - a.y0) * (a.x1 - a.x0);
  const float area_b = (b.y1 - b.y0) * (b.x1 - b.x0);
  // Else 0 / 0 would be NaN, and NaN > threshold is false only by luck of the comparison's direction.
  if (area_a <= 0 || area_b <= 0) return false;
  return common / (area_a + area_b - common) > threshold;
}
}  // namespace

int64_t run_box_selection(const BoxSelection& s, const float* boxes, const float* scores, int64_t* rows,
                          int32_t* order) {
  int64_t found = 0;
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t c = 0; c < s.classes; ++c) {
      const float* score = scores + (n * s.classes + c) * s.boxes;
      const float* box = boxes + n * s.boxes * 4;
      int64_t candidates = 0;
      for (int64_t i = 0; i < s.boxes; ++i)
        if (score[i] > s.score_threshold) order[candidates++] = static_cast<int32_t>(i);
      // Ties by position, as the ONNX reference keeps them; std::sort alone would order them by chance.
      std::sort(order, order + candidates,
                [&](int32_t a, int32_t b) { return score[a] > score[b] || (score[a] == score[b] && a < b); });
      // Greedy: each box against those kept of its own class, of which there are at most `limit`.
      const int64_t first = found;
      for (int64_t i = 0; i < candidates && found - first < s.limit; ++i) {
        const Corners own = corners(box + order[i] * 4, s.center_point_box);
        bool kept = true;
        // Against the kept ones, not all: quadratic in `limit`, which models keep at 100 to 300, not in the
        // number of boxes. A grid or a tree would pay only for thousands of kept boxes.
        for (int64_t k = first; kept && k < found; ++k)
          kept = !overlaps(own, corners(box + rows[k * 3 + 2] * 4, s.center_point_box), s.iou_threshold);
        if (!kept) continue;
        rows[found * 3] = n;
        rows[found * 3 + 1] = c;
        rows[found * 3 + 2] = order[i];
        ++found;
      }
    }
  return found;
}

}  // namespace walle::kernels
