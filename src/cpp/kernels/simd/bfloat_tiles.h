// Products of bfloat16 by tiles (simd/tiles.h). TDPBF16PS sums the first and the second elements of words
// apart, adds the two and then the sum before; all roundings are half to even, subnormal numbers count as
// zeros. Tests have the same element by element.
#pragma once

#define WALLE_TILE_PRODUCTS _tile_dpbf16ps
#include "kernels/simd/tiles.h"
