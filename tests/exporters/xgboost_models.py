"""xgboost's boosters as onnxmltools writes them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xgboost
from case import Case, Feeds
from onnxmltools import convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType

ROWS, FEATURES = 200, 7


def data(classes: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Rows with some values missing, and classes (or numbers with classes=0)."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=(ROWS, FEATURES)).astype(np.float32)
    score = x[:, 0] - x[:, 1] * x[:, 2] + 0.2 * rng.normal(size=ROWS)
    if classes == 0:
        return x, score
    return x, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


def _export(make: Any, classes: int, missing: bool, path: Path) -> Feeds:
    x, y = data(classes)
    if missing:
        x[::7, 2] = np.nan
    model = make().fit(x, y)
    onnx_model = convert_xgboost(
        model, initial_types=[("x", FloatTensorType([None, FEATURES]))], target_opset=15
    )
    path.write_bytes(onnx_model.SerializeToString())
    return {"x": x[:25]}


def cases() -> Iterator[Case]:
    """Classifiers, regressors, rankers' kin."""
    classifier = partial(xgboost.XGBClassifier, n_estimators=20, max_depth=4)
    regressor = partial(xgboost.XGBRegressor, n_estimators=20, max_depth=5)
    yield Case("XGBClassifier, two classes", partial(_export, classifier, 2, False))
    yield Case("XGBClassifier, four classes", partial(_export, classifier, 4, False))
    yield Case("XGBClassifier, missing values", partial(_export, classifier, 2, True))
    yield Case("XGBRegressor", partial(_export, regressor, 0, False))
    yield Case("XGBRegressor, missing values", partial(_export, regressor, 0, True))
    yield Case(
        "XGBRegressor, stumps",
        partial(_export, partial(xgboost.XGBRegressor, n_estimators=30, max_depth=1), 0, False),
    )
    yield Case(
        "XGBRFClassifier", partial(_export, partial(xgboost.XGBRFClassifier, n_estimators=10), 3, False)
    )
    yield Case("XGBRFRegressor", partial(_export, partial(xgboost.XGBRFRegressor, n_estimators=10), 0, False))
    logistic = partial(xgboost.XGBRegressor, n_estimators=10, objective="reg:squarederror", base_score=0.3)
    yield Case("XGBRegressor, base_score", partial(_export, logistic, 0, False))
