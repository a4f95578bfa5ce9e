// Products of four bytes by tiles (simd/tiles.h), of A unsigned and of B signed, in int32 that wraps.
#pragma once

#define WALLE_TILE_PRODUCTS _tile_dpbusd
#include "kernels/simd/tiles.h"
