"""LightGBM's boosters as onnxmltools writes them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from case import Case, Feeds
from onnxmltools import convert_lightgbm
from onnxmltools.convert.common.data_types import FloatTensorType

ROWS, FEATURES = 300, 7


def data(classes: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Rows, the last column a category, and classes (or numbers with classes=0)."""
    rng = np.random.default_rng(13)
    x = rng.normal(size=(ROWS, FEATURES)).astype(np.float32)
    x[:, -1] = rng.integers(0, 5, ROWS)
    score = x[:, 0] - x[:, 1] * x[:, 2] + (x[:, -1] == 2) + 0.2 * rng.normal(size=ROWS)
    if classes == 0:
        return x, score
    return x, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


def _export(make: Any, classes: int, missing: bool, zipmap: bool, fit: dict[str, Any], path: Path) -> Feeds:
    x, y = data(classes)
    if missing:
        x[::6, 1] = np.nan
    model = make(verbose=-1).fit(x, y, **fit)
    types = [("x", FloatTensorType([None, FEATURES]))]
    onnx_model = convert_lightgbm(model, initial_types=types, target_opset=15, zipmap=zipmap)
    path.write_bytes(onnx_model.SerializeToString())
    return {"x": x[:25]}


def cases() -> Iterator[Case]:
    """Classifiers and regressors."""
    classifier = partial(lightgbm.LGBMClassifier, n_estimators=20)
    regressor = partial(lightgbm.LGBMRegressor, n_estimators=20)
    yield Case("LGBMClassifier, two classes", partial(_export, classifier, 2, False, True, {}))
    yield Case("LGBMClassifier, four classes", partial(_export, classifier, 4, False, True, {}))
    yield Case("LGBMClassifier, no ZipMap", partial(_export, classifier, 3, False, False, {}))
    yield Case("LGBMClassifier, missing values", partial(_export, classifier, 2, True, True, {}))
    yield Case("LGBMRegressor", partial(_export, regressor, 0, False, True, {}))
    yield Case("LGBMRegressor, missing values", partial(_export, regressor, 0, True, True, {}))
    categories = {"categorical_feature": [FEATURES - 1]}
    yield Case("LGBMRegressor, categories", partial(_export, regressor, 0, False, True, categories))
    forest = partial(
        lightgbm.LGBMClassifier, boosting_type="rf", n_estimators=10, subsample=0.7, subsample_freq=1
    )
    yield Case("LGBMClassifier, random forest", partial(_export, forest, 2, False, True, {}))
    yield Case(
        "LGBMRegressor, dart", partial(_export, partial(regressor, boosting_type="dart"), 0, False, True, {})
    )
