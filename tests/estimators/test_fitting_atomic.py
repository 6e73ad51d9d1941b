"""A fit succeeds whole or changes nothing, for every estimator."""

import inspect
import pickle
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import BayesianRidge
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

import ordinality
from ordinality import (
    LabelRankingGP,
    LabelRankingSVM,
    LabelRankingSVMCV,
    LeastSquaresOrdinalGP,
    LowRankImputer,
    OrdinalBoost,
    OrdinalConformal,
    OrdinalGP,
    OrdinalRegression,
    OrdinalStack,
    OrdinalSVM,
    OrdinalSVMCV,
    OrdinalTrees,
    PreferenceGP,
    PreferenceSVM,
    PreferenceSVMCV,
    RankBoost,
    RoundedRegressor,
)
from ordinality.workbench.models import Frequencies

PACKAGE = str(Path(ordinality.__file__).parent)
ASKED = ("predict", "predict_proba", "predict_level_proba", "scores", "transform")


def rows(seed, shape=(30, 2)):
    """Other features, other levels and another number of rows for each seed."""
    X = np.random.default_rng(seed).normal(size=shape)
    return X, np.digitize(X[:, 0] + 0.3 * X[:, 1] ** 2, [-0.4, 0.6 + 0.2 * seed][: 2 - seed])


def rankings(seed):
    X, _ = rows(seed, (15, 2))
    return X, 1 + np.argsort(np.argsort(X @ [[1.0, 0.0, -1.0], [0.0, 1.0, 0.3]], axis=1))


def pairs(seed):
    rng = np.random.default_rng(seed)
    asked = np.array([rng.choice(8, 2, replace=False) for _ in range(20)])
    return asked, np.where(asked[:, 0] > asked[:, 1] + rng.normal(size=20), 1, -1)


def holed(seed):
    X, _ = rows(seed, (12, 4))
    X[np.random.default_rng(seed).random(X.shape) < 0.2] = np.nan
    return (X,)


# Each estimator, at settings that cost little, with its data.
ESTIMATORS = {
    "OrdinalGP": (OrdinalGP(max_evaluations=6), rows),
    "OrdinalGP, one step": (OrdinalGP(optimizer=None, inference="variational"), rows),
    "LeastSquaresOrdinalGP": (LeastSquaresOrdinalGP(max_evaluations=6), rows),
    "OrdinalRegression": (OrdinalRegression(penalty="l2"), rows),
    "OrdinalBoost": (OrdinalBoost(n_estimators=4, updates=5, calibration_folds=2), rows),
    "OrdinalBoost, warm": (OrdinalBoost(n_estimators=4, updates=5, warm_start=True), rows),
    "OrdinalBoost, stopped": (
        OrdinalBoost(n_estimators=4, learner="stump", validation_fraction=0.3), rows,
    ),
    "OrdinalConformal": (
        OrdinalConformal(OrdinalGP(optimizer=None), calibration_folds=2), rows,
    ),
    "OrdinalStack": (
        OrdinalStack(
            [("gp", OrdinalGP(optimizer=None)), ("svm", OrdinalSVM())], cv=2, levels=[0, 1, 2]
        ), rows,
    ),
    "OrdinalTrees": (OrdinalTrees(6, scale=True, nonparallel=True), rows),
    "RankBoost": (RankBoost(n_estimators=4, learner="tree", calibration_folds=2), rows),
    "OrdinalSVM": (OrdinalSVM(calibration_folds=2), rows),
    "OrdinalSVM, warm": (OrdinalSVM(C=3.0, warm_start=True), rows),
    "OrdinalSVMCV": (
        OrdinalSVMCV(cv=2, log_C=(0, 1), log_kappa=(0, 0), fine_steps=0), rows,
    ),
    "RoundedRegressor": (RoundedRegressor(BayesianRidge()), rows),
    "PreferenceGP": (PreferenceGP(8, max_evaluations=6), pairs),
    "PreferenceSVM": (PreferenceSVM(np.arange(8.0)[:, None]), pairs),
    "PreferenceSVMCV": (
        PreferenceSVMCV(
            np.arange(8.0)[:, None], cv=2, log_C=(0, 1), log_kappa=(0, 0), fine_steps=0
        ), pairs,
    ),
    "LabelRankingGP": (LabelRankingGP(max_evaluations=6), rankings),
    "LabelRankingSVM": (LabelRankingSVM(), rankings),
    "LabelRankingSVMCV": (
        LabelRankingSVMCV(cv=2, log_C=(0, 1), log_kappa=(0, 0), fine_steps=0), rankings,
    ),
    "LowRankImputer": (LowRankImputer(1, max_iter=30, tol=1e-2), holed),
    "Frequencies": (Frequencies([0, 1, 2]), rows),
}  # fmt: skip
each = pytest.mark.parametrize("name", ESTIMATORS)


def fitted(name, seed):
    model, data = ESTIMATORS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).fit(*data(seed))


def predictions(model, X):
    return [np.array(getattr(model, how)(X)) for how in ASKED if hasattr(model, how)]


def assert_same(found, wanted):
    assert len(found) == len(wanted) > 0
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


@contextmanager
def raising(error, at):
    """Raise an error when the package calls a function of its own for the `at`-th time.

    Gives a list of one number: the calls so far. Not counted: generators, which an error raised
    from here would end without their `finally`, and the release of BLAS threads.
    """
    calls = [0]

    def watch(frame, event, _):
        code = frame.f_code
        ours = code.co_filename.startswith(PACKAGE) and not code.co_filename.endswith(
            "threads.py"
        )
        if event == "call" and ours and not code.co_flags & inspect.CO_GENERATOR:
            calls[0] += 1
            if calls[0] == at:
                sys.setprofile(None)
                raise error

    sys.setprofile(watch)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def points(run, model):
    """Calls at which to interrupt a run: the first two, some on the way, the last two."""
    run(copied(model))  # what is compiled or cached at first use is not counted
    model = copied(model)
    with raising(None, at=0) as calls:
        run(model)
    n = calls[0]
    return sorted({1, 2, n // 5, n // 2, n * 3 // 4, n * 9 // 10, n - 1, n} - {0})


def copied(model):
    return pickle.loads(pickle.dumps(model))


def refit(model, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(*data)


def test_every_estimator_is_here():
    classes = filter(inspect.isclass, (getattr(ordinality, n) for n in ordinality.__all__))
    public = {found.__name__ for found in classes if issubclass(found, BaseEstimator)}
    assert public <= {name.partition(",")[0] for name in ESTIMATORS}


@each
def test_an_interrupted_refit_leaves_the_old_model_whole(name):
    model, (old, new) = fitted(name, 0), map(ESTIMATORS[name][1], (0, 1))
    if getattr(model, "warm_start", False):  # more rounds, or another price, of the same rows
        new = old
        model.set_params(**({"n_estimators": 8} if "Boost" in name else {"C": 30.0}))
    before, attributes = predictions(model, old[0]), dict(vars(model))
    other = copied(model)
    for at in points(lambda copy: refit(copy, new), model):
        with raising(KeyboardInterrupt(), at), pytest.raises(KeyboardInterrupt):
            refit(model, new)
        assert vars(model).keys() == attributes.keys()
        assert all(vars(model)[key] is value for key, value in attributes.items())
        assert_same(predictions(model, old[0]), before)
    refit(model, new)
    refit(other, new)
    assert_same(predictions(model, new[0]), predictions(other, new[0]))
    assert vars(model).keys() == vars(other).keys()


@each
def test_a_refit_that_fails_leaves_the_old_model_whole(name):
    model, (old, new) = fitted(name, 0), map(ESTIMATORS[name][1], (0, 1))
    model.set_params(**({"warm_start": False} if hasattr(model, "warm_start") else {}))
    before, attributes = predictions(model, old[0]), dict(vars(model))
    fresh, failed = clone(model), 0
    refit(fresh, new)
    for at in points(lambda copy: refit(copy, new), model):
        try:
            with raising(ValueError("injected"), at):
                refit(model, new)
        except ValueError:  # some are caught on the way, where a wrong parameter would raise
            failed += 1
            assert all(vars(model)[key] is value for key, value in attributes.items())
            assert_same(predictions(model, old[0]), before)
        else:
            model = fitted(name, 0)
            attributes = dict(vars(model))
    assert failed >= 3  # later Pythons inline comprehensions: fewer calls to fail at
    refit(model, new)
    assert_same(predictions(model, new[0]), predictions(fresh, new[0]))


def test_an_interrupted_update_of_answers_leaves_the_old_model_whole():
    model, more = fitted("PreferenceGP", 0), pairs(1)
    before = [*model.utility(), model.posterior()[1]]
    other = copied(model).update(*more)
    for at in points(lambda copy: copy.update(*more), model):
        with raising(KeyboardInterrupt(), at), pytest.raises(KeyboardInterrupt):
            model.update(*more)
        assert_same([*model.utility(), model.posterior()[1]], before)
    assert_same(model.update(*more).utility(), other.utility())


@pytest.mark.parametrize(
    ("model", "then"),
    [
        (OrdinalSVM(kernel="linear"), {"kernel": "rbf", "calibration_folds": None}),
        (OrdinalSVM(), {"kernel": "precomputed"}),
        (OrdinalBoost(n_estimators=3, validation_fraction=0.3), {"validation_fraction": None}),
        (OrdinalGP(optimizer=None), {"kernel": "precomputed"}),
        (LabelRankingSVM(), {"kernel": "precomputed"}),
        (LabelRankingGP(optimizer=None), {"kernel": "precomputed"}),
    ],
)
def test_a_refit_with_other_settings_keeps_no_attribute_of_the_former(model, then):
    X, y = rankings(0) if "Label" in type(model).__name__ else rows(0)
    model.fit(X, y).set_params(**then)
    data = (X @ X.T if then.get("kernel") == "precomputed" else X, y)
    fresh = clone(model).fit(*data)
    assert vars(model.fit(*data)).keys() == vars(fresh).keys()


# ---------------------------------------------------------------- what the decorator must keep


@each
def test_fit_returns_the_very_object_and_keeps_its_signature(name):
    model, data = ESTIMATORS[name]
    model = clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert model.fit(*data(0)) is model
    assert "self" not in (parameters := inspect.signature(model.fit).parameters)
    assert parameters.keys() & {"X", "pairs"}
    assert model.fit.__doc__


def test_scikit_learn_still_sees_the_parameters_of_fit():
    assert has_fit_parameter(OrdinalGP(), "sample_weight")
    assert not has_fit_parameter(LowRankImputer(), "sample_weight")
    with config_context(enable_metadata_routing=True):
        model = OrdinalSVM(calibration_folds=None).set_fit_request(sample_weight=True)
        X, y = rows(0)
        assert model.fit(X, y).get_metadata_routing().fit.requests == {"sample_weight": True}


class Scaled(OrdinalSVM):
    """What a user may write: state before and after the fit of the base class."""

    def fit(self, X, y):
        self.scaler_ = StandardScaler().fit(X)
        super().fit(self.scaler_.transform(X), y)
        self.rows_ = len(X)
        return self


def test_a_subclass_that_overrides_fit_keeps_its_own_attributes():
    X, y = rows(0)
    model = Scaled(calibration_folds=None)
    assert model.fit(X, y) is model
    assert model.rows_ == len(X)
    assert_same([model.scaler_.mean_], [X.mean(axis=0)])
    assert model.predict(model.scaler_.transform(X)).shape == y.shape


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (OrdinalGP(max_evaluations=2), rows),
        (OrdinalGP(optimizer=None, max_iter=1), rows),
        (LeastSquaresOrdinalGP(max_evaluations=2), rows),
        (PreferenceGP(max_evaluations=2), pairs),
        (LabelRankingGP(max_evaluations=2), rankings),
        (OrdinalSVM(max_iter=1), rows),
        (OrdinalSVMCV(max_iter=1, cv=2, log_C=(0, 0), log_kappa=(0, 0), fine_steps=0), rows),
        (PreferenceSVM(np.arange(8.0)[:, None], max_iter=1), pairs),
        (LabelRankingSVM(max_iter=1), rankings),
        (LowRankImputer(2, max_iter=1), holed),
    ],
)
def test_a_warning_points_to_the_line_that_called_fit(model, data):
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(*data(0))
    assert {Path(w.filename).name for w in caught} == {Path(__file__).name}


@pytest.mark.parametrize(
    "model",
    [OrdinalGP(optimizer=None), OrdinalBoost(n_estimators=1), OrdinalSVM(), RoundedRegressor()],
)
def test_the_warning_about_unordered_text_points_to_the_line_that_called_fit(model):
    X, y = rows(0)
    with pytest.warns(UserWarning, match="text") as caught:
        model.fit(X, np.array(["low", "mid", "top"])[y])
    assert {Path(w.filename).name for w in caught} == {Path(__file__).name}
