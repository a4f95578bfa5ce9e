"""Image models of timm, with random weights, exported by torch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torch
import torchvision_operators  # noqa: F401  (before timm)
from case import Case, Feeds
from torch_models import export

import timm  # isort: skip

NAMES = (
    "resnet18", "mobilenetv3_small_050", "efficientnet_b0", "regnetx_002", "convnext_atto",
    "vit_tiny_patch16_224", "ghostnet_100", "edgenext_xx_small",
)  # fmt: skip


def _made(name: str, path: Path) -> Feeds:
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False, num_classes=10)
    side = model.default_cfg["input_size"][-1] if "vit" in name else 64
    return export(model, (torch.randn(1, 3, side, side),), path, True)


def cases() -> Iterator[Case]:
    """One of each family."""
    for name in NAMES:
        yield Case(name, partial(_made, name))
