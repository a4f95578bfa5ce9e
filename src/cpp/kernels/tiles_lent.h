// Whether the system lends this process the tiles of AMX (amx_int8, amx_bf16), which it does when it is
// asked.
//
// Asked once, by the first kernel that would use them and not before: from then on an alternate signal stack
// must have room for 8 KB of tiles, and the system refuses both a smaller stack afterwards and the tiles
// where there is one already.
#pragma once

namespace walle::kernels {

bool tiles_lent();

}  // namespace walle::kernels
