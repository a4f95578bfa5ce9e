// Greedy non-maximum suppression: the reference kernel of NonMaxSuppression.
#pragma once

#include <cstdint>

namespace walle::kernels {

struct BoxSelection {
  int64_t batch = 1, classes = 1, boxes = 0;
  int64_t limit = 0;  // most boxes per batch item and class
  float iou_threshold = 0;
  float score_threshold = 0;  // minus infinity: none
  // Boxes are center x, center y, width, height; else two opposite corners y1, x1, y2, x2.
  bool center_point_box = false;
};

// boxes [batch, boxes, 4], scores [batch, classes, boxes]. Writes rows (batch,
// class, box), best score first within a class, and returns how many. `rows`
// holds batch * classes * min(limit, boxes) of them, `order` one entry per box.
int64_t run_box_selection(const BoxSelection& spec, const float* boxes, const float* scores, int64_t* rows,
                          int32_t* order);

}  // namespace walle::kernels
