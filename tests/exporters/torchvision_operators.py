"""Makes torchvision importable beside a torch without GPUs: imported before whatever imports it.

torchvision's wheel is built for GPUs and cannot load its own operators here. timm and transformers never call
them: declared, they let torchvision's Python part be imported.
"""

from __future__ import annotations

import torch

_DECLARED = torch.library.Library("torchvision", "DEF")
for _name in ("nms", "qnms"):
    _DECLARED.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
