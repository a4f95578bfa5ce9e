"""scikit-learn estimators and pipelines as skl2onnx writes them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from case import Case, Feeds
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn import (
    calibration,
    cluster,
    compose,
    cross_decomposition,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_extraction,
    feature_selection,
    gaussian_process,
    impute,
    linear_model,
    mixture,
    multiclass,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)

ROWS = 120
FEATURES = 6


def _data(classes: int = 3) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(ROWS, FEATURES)).astype(np.float32)
    score = x @ rng.normal(size=FEATURES) + 0.3 * rng.normal(size=ROWS)
    if classes == 0:
        return x, score.astype(np.float32)
    return x, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score).astype(np.int64)


def _write(estimator: Any, path: Path, feeds: Feeds, types: Any = None, **more: Any) -> Feeds:
    types = types or [(k, FloatTensorType([None, v.shape[1]])) for k, v in feeds.items()]
    path.write_bytes(
        to_onnx(
            estimator, initial_types=types, target_opset={"": 21, "ai.onnx.ml": 3}, **more
        ).SerializeToString()
    )
    return feeds


def _fitted(make: Any, classes: int, positive: bool, options: Any, path: Path) -> Feeds:
    x, y = _data(classes)
    x = np.abs(x) if positive else x
    estimator = make().fit(x, y)
    return _write(estimator, path, {"X": x[:20]}, options=options(estimator) if options else None)


CLASSIFIERS: dict[str, Any] = {
    "LogisticRegression": linear_model.LogisticRegression,
    "LogisticRegressionCV": partial(linear_model.LogisticRegressionCV, Cs=3, cv=3),
    "SGDClassifier": partial(linear_model.SGDClassifier, loss="log_loss", random_state=0),
    "Perceptron": partial(linear_model.Perceptron, random_state=0),
    "RidgeClassifier": linear_model.RidgeClassifier,
    "PassiveAggressive hinge": partial(linear_model.SGDClassifier, loss="hinge", random_state=0),
    "LinearDiscriminantAnalysis": discriminant_analysis.LinearDiscriminantAnalysis,
    "QuadraticDiscriminantAnalysis": discriminant_analysis.QuadraticDiscriminantAnalysis,
    "DecisionTreeClassifier": partial(tree.DecisionTreeClassifier, random_state=0),
    "ExtraTreeClassifier": partial(tree.ExtraTreeClassifier, random_state=0),
    "RandomForestClassifier": partial(ensemble.RandomForestClassifier, n_estimators=10, random_state=0),
    "ExtraTreesClassifier": partial(ensemble.ExtraTreesClassifier, n_estimators=10, random_state=0),
    "GradientBoostingClassifier": partial(
        ensemble.GradientBoostingClassifier, n_estimators=5, random_state=0
    ),
    "HistGradientBoostingClassifier": partial(
        ensemble.HistGradientBoostingClassifier, max_iter=5, random_state=0
    ),
    "AdaBoostClassifier": partial(ensemble.AdaBoostClassifier, n_estimators=5, random_state=0),
    "BaggingClassifier": partial(ensemble.BaggingClassifier, n_estimators=4, random_state=0),
    "VotingClassifier": lambda: ensemble.VotingClassifier(
        [
            ("a", linear_model.LogisticRegression()),
            ("b", tree.DecisionTreeClassifier(max_depth=3, random_state=0)),
        ],
        voting="soft",
    ),
    "StackingClassifier": lambda: ensemble.StackingClassifier(
        [
            ("a", linear_model.LogisticRegression()),
            ("b", tree.DecisionTreeClassifier(max_depth=3, random_state=0)),
        ]
    ),
    "SVC": partial(svm.SVC, random_state=0),
    "SVC probability": partial(svm.SVC, probability=True, random_state=0),
    "SVC linear": partial(svm.SVC, kernel="linear", random_state=0),
    "SVC poly": partial(svm.SVC, kernel="poly", random_state=0),
    "NuSVC": partial(svm.NuSVC, random_state=0),
    "LinearSVC": partial(svm.LinearSVC, random_state=0),
    "KNeighborsClassifier": neighbors.KNeighborsClassifier,
    "GaussianNB": naive_bayes.GaussianNB,
    "BernoulliNB": naive_bayes.BernoulliNB,
    "MLPClassifier": partial(neural_network.MLPClassifier, max_iter=30, random_state=0),
    "OneVsRestClassifier": lambda: multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
    "OneVsOneClassifier": lambda: multiclass.OneVsOneClassifier(linear_model.LogisticRegression()),
    "CalibratedClassifierCV": lambda: calibration.CalibratedClassifierCV(
        linear_model.LogisticRegression(), cv=2
    ),
}
REGRESSORS: dict[str, Any] = {
    "LinearRegression": linear_model.LinearRegression,
    "Ridge": linear_model.Ridge,
    "Lasso": linear_model.Lasso,
    "ElasticNet": linear_model.ElasticNet,
    "BayesianRidge": linear_model.BayesianRidge,
    "HuberRegressor": linear_model.HuberRegressor,
    "SGDRegressor": partial(linear_model.SGDRegressor, random_state=0),
    "DecisionTreeRegressor": partial(tree.DecisionTreeRegressor, random_state=0),
    "RandomForestRegressor": partial(ensemble.RandomForestRegressor, n_estimators=10, random_state=0),
    "ExtraTreesRegressor": partial(ensemble.ExtraTreesRegressor, n_estimators=10, random_state=0),
    "GradientBoostingRegressor": partial(ensemble.GradientBoostingRegressor, n_estimators=5, random_state=0),
    "HistGradientBoostingRegressor": partial(
        ensemble.HistGradientBoostingRegressor, max_iter=5, random_state=0
    ),
    "AdaBoostRegressor": partial(ensemble.AdaBoostRegressor, n_estimators=5, random_state=0),
    "SVR": svm.SVR,
    "NuSVR": svm.NuSVR,
    "LinearSVR": partial(svm.LinearSVR, random_state=0),
    "KNeighborsRegressor": neighbors.KNeighborsRegressor,
    "MLPRegressor": partial(neural_network.MLPRegressor, max_iter=30, random_state=0),
    "GaussianProcessRegressor": gaussian_process.GaussianProcessRegressor,
    "PLSRegression": partial(cross_decomposition.PLSRegression, n_components=2),
}
TRANSFORMERS: dict[str, Any] = {
    "StandardScaler": preprocessing.StandardScaler,
    "MinMaxScaler": preprocessing.MinMaxScaler,
    "MaxAbsScaler": preprocessing.MaxAbsScaler,
    "RobustScaler": preprocessing.RobustScaler,
    "Normalizer l1": partial(preprocessing.Normalizer, norm="l1"),
    "Normalizer l2": partial(preprocessing.Normalizer, norm="l2"),
    "Normalizer max": partial(preprocessing.Normalizer, norm="max"),
    "Binarizer": partial(preprocessing.Binarizer, threshold=0.2),
    "PolynomialFeatures": preprocessing.PolynomialFeatures,
    "KBinsDiscretizer": partial(preprocessing.KBinsDiscretizer, n_bins=4, encode="onehot-dense"),
    "PowerTransformer": preprocessing.PowerTransformer,
    "SimpleImputer": impute.SimpleImputer,
    "PCA": partial(decomposition.PCA, n_components=3),
    "TruncatedSVD": partial(decomposition.TruncatedSVD, n_components=3),
    "SelectKBest": partial(feature_selection.SelectKBest, k=3),
    "VarianceThreshold": feature_selection.VarianceThreshold,
    "KMeans": partial(cluster.KMeans, n_clusters=3, random_state=0, n_init=1),
    "GaussianMixture": partial(mixture.GaussianMixture, n_components=3, random_state=0),
    "IsolationForest": partial(ensemble.IsolationForest, n_estimators=8, random_state=0),
}


def _words() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    texts = ["buy cheap phones now", "the phone is fine", "cheap cheap offers", "read the fine print now"]
    return np.array([[t] for t in texts * 8]), np.array([1, 0, 1, 0] * 8)


def _text(vectorizer: Any, path: Path) -> Feeds:
    x, y = _words()
    steps = compose.ColumnTransformer([("words", vectorizer, 0)])
    model = pipeline.make_pipeline(steps, linear_model.LogisticRegression()).fit(x, y)
    return _write(model, path, {"text": x[:6]}, [("text", StringTensorType([None, 1]))])


def _categories() -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(3)
    return np.stack([rng.choice(["red", "green", "blue"], ROWS), rng.choice(["s", "m", "l"], ROWS)], 1)


def _encoded(encoder: Any, path: Path) -> Feeds:
    x = _categories()
    return _write(encoder.fit(x), path, {"words": x[:9]}, [("words", StringTensorType([None, 2]))])


def _label_encoder(path: Path) -> Feeds:
    x = _categories()[:, 0]
    return _write(
        preprocessing.LabelEncoder().fit(x), path, {"words": x[:9]}, [("words", StringTensorType([None]))]
    )


def _mixed(make: Any, path: Path) -> Feeds:
    import pandas

    x, y = _data(2)
    words = _categories()
    frame = pandas.DataFrame({"a": x[:, 0], "b": x[:, 1], "colour": words[:, 0], "n": np.arange(ROWS) % 5})
    columns = compose.ColumnTransformer(
        [
            (
                "numbers",
                pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler()),
                ["a", "b"],
            ),
            ("words", preprocessing.OneHotEncoder(handle_unknown="ignore"), ["colour"]),
            ("ints", "passthrough", ["n"]),
        ]
    )
    model = pipeline.make_pipeline(columns, make()).fit(frame, y)
    types = [("a", FloatTensorType([None, 1])), ("b", FloatTensorType([None, 1])),
             ("colour", StringTensorType([None, 1])), ("n", Int64TensorType([None, 1]))]  # fmt: skip
    feeds = {
        "a": x[:9, :1],
        "b": x[:9, 1:2],
        "colour": words[:9, :1],
        "n": (np.arange(9) % 5).astype(np.int64)[:, None],
    }
    return _write(model, path, feeds, types)


def _string_labels(path: Path) -> Feeds:
    x, y = _data(3)
    model = linear_model.LogisticRegression().fit(x, np.array(["low", "mid", "high"])[y])
    return _write(model, path, {"X": x[:9]})


def _forest_of_words(path: Path) -> Feeds:
    x, y = _data(3)
    model = ensemble.RandomForestClassifier(8, random_state=0).fit(x, np.array(["low", "mid", "high"])[y])
    return _write(model, path, {"X": x[:9]})


def _categorical_nb(path: Path) -> Feeds:
    x = np.random.default_rng(0).integers(0, 4, (ROWS, 5))
    model = naive_bayes.CategoricalNB().fit(x, _data(3)[1])
    return _write(model, path, {"X": x[:9].astype(np.int64)}, [("X", Int64TensorType([None, 5]))])


def _no_zipmap(estimator: Any) -> Any:
    return {id(estimator): {"zipmap": False}}


TWO_CLASSES = (
    "LogisticRegression",
    "DecisionTreeClassifier",
    "RandomForestClassifier",
    "GradientBoostingClassifier",
    "HistGradientBoostingClassifier",
    "SVC",
    "SVC probability",
    "LinearSVC",
    "SGDClassifier",
    "MLPClassifier",
)


def cases() -> Iterator[Case]:
    """Everything, plain first."""
    for name, make in CLASSIFIERS.items():
        yield Case(name, partial(_fitted, make, 3, False, None))
    for name in TWO_CLASSES:
        yield Case(f"{name}, two classes", partial(_fitted, CLASSIFIERS[name], 2, False, None))
    for name in ("LogisticRegression", "RandomForestClassifier"):
        yield Case(f"{name}, no ZipMap", partial(_fitted, CLASSIFIERS[name], 3, False, _no_zipmap))
    yield Case("MultinomialNB", partial(_fitted, naive_bayes.MultinomialNB, 3, True, None))
    yield Case("ComplementNB", partial(_fitted, naive_bayes.ComplementNB, 3, True, None))
    yield Case("CategoricalNB", _categorical_nb)
    for name, make in REGRESSORS.items():
        yield Case(name, partial(_fitted, make, 0, False, None))
    for name, make in TRANSFORMERS.items():
        yield Case(name, partial(_fitted, make, 3, False, None))
    yield Case("LogisticRegression, words as labels", _string_labels)
    yield Case("RandomForestClassifier, words as labels", _forest_of_words)
    yield Case("LabelEncoder of words", _label_encoder)
    yield Case("OneHotEncoder of words", partial(_encoded, preprocessing.OneHotEncoder(sparse_output=False)))
    yield Case("OrdinalEncoder of words", partial(_encoded, preprocessing.OrdinalEncoder()))
    text = feature_extraction.text
    yield Case("TfidfVectorizer", partial(_text, text.TfidfVectorizer(lowercase=False)))
    yield Case(
        "CountVectorizer, pairs", partial(_text, text.CountVectorizer(ngram_range=(1, 2), lowercase=False))
    )
    yield Case("ColumnTransformer, LogisticRegression", partial(_mixed, linear_model.LogisticRegression))
    yield Case(
        "ColumnTransformer, GradientBoosting",
        partial(_mixed, partial(ensemble.GradientBoostingClassifier, n_estimators=4)),
    )
