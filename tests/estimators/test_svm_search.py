"""The search for C and kappa finds what trying every point by hand finds."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import PredefinedSplit, StratifiedKFold

from ordinality import OrdinalSVM, OrdinalSVMCV, metrics
from ordinality.estimators.calibration import fold_splits
from ordinality.estimators.fitting import Scaling

SMALL = {"log_C": (-1, 1), "log_kappa": (-1, 1), "fine_steps": 1, "calibration_folds": None}
CONSTRAINTS = ["implicit", "explicit", "fixed-margin"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 2))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.4 * rng.normal(size=80), [-0.3, 0.6, 1.8])
    return X, y


def by_hand(X, y, constraints, points, error, splits):
    """Mean errors of the points, each fit from scratch by the estimator."""
    Z = Scaling.of(X, np.ones(len(X)))(X)  # on all rows, as the papers did
    means = []
    for C, kappa in points:
        model = OrdinalSVM(
            C, gamma=kappa / 2, constraints=constraints, standardize=False, levels=range(4),
            calibration_folds=None, tol=1e-3,
        )  # fmt: skip
        folds = [error(y[b], model.fit(Z[a], y[a]).predict(Z[b])) for a, b in splits]
        means.append(np.mean(folds))
    return np.array(means)


@pytest.mark.parametrize("constraints", CONSTRAINTS)
@pytest.mark.parametrize("scoring", ["mae", "zero-one"])
def test_the_search_picks_what_a_loop_picks(data, constraints, scoring):
    X, y = data
    order = np.lexsort((y, *X.T[::-1]))  # rows are sorted before they are put into folds
    X, y = X[order], y[order]
    model = OrdinalSVMCV(constraints=constraints, scoring=scoring, cv=3, **SMALL).fit(X, y)
    splits = fold_splits(y, 3, model._generator(2))
    results = model.cv_results_
    points = np.column_stack([results["C"], results["kappa"]])
    assert len(points) == 9 + 9
    error = metrics.mean_absolute_error if scoring == "mae" else metrics.zero_one_error
    means = by_hand(X, y, constraints, points, error, splits)
    name = scoring.replace("-", "_")
    # A row on a threshold may fall either way within the tolerance: one in eighty.
    np.testing.assert_allclose(results[f"mean_test_{name}"], means, atol=1.6 / 80)
    assert np.mean(np.abs(results[f"mean_test_{name}"] - means) < 1e-12) > 0.8
    best = points[results[f"mean_test_{name}"] <= results[f"mean_test_{name}"].min() + 1e-12]
    C, kappa = best[np.lexsort(best.T[::-1])][0]
    assert (model.C_, model.gamma_) == (C, kappa / 2)
    assert model.best_score_ == pytest.approx(-results[f"mean_test_{name}"].min())


def test_the_fine_grid_lies_around_the_best_coarse_point(data):
    model = OrdinalSVMCV(cv=3, **SMALL | {"fine_steps": 4}).fit(*data)
    results = model.cv_results_
    coarse, fine = (results["stage"] == stage for stage in ("coarse", "fine"))
    assert (coarse.sum(), fine.sum()) == (9, 81)
    order = np.lexsort(
        (results["kappa"][coarse], results["C"][coarse], results["mean_test_mae"][coarse])
    )
    for name in ("C", "kappa"):
        around = np.unique(np.log10(results[name][fine]).round(6))
        centre = np.log10(results[name][coarse][order[0]])
        np.testing.assert_allclose(around - centre, 0.2 * np.arange(-4, 5), atol=1e-5)
    np.testing.assert_array_equal(results["gamma"], results["kappa"] / 2)


def test_the_final_fit_is_that_of_the_point_chosen(data):
    X, y = data
    search = OrdinalSVMCV(cv=3, **SMALL).fit(X, y)
    plain = OrdinalSVM(search.C_, gamma=search.gamma_, calibration_folds=None).fit(X, y)
    np.testing.assert_allclose(search.predict_latent(X), plain.predict_latent(X), rtol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_other_kernels_search_for_c_only(data, kernel):
    X, y = data
    model = OrdinalSVMCV(kernel, cv=3, **SMALL | {"fine_steps": 2}).fit(X, y)
    assert model.cv_results_["C"].shape == (3 + 5,)
    assert np.all(np.isnan(model.cv_results_["kappa"]))
    assert model.C_ in model.cv_results_["C"]


def test_the_sum_of_margins_leaves_out_prices_that_are_too_small(data):
    X, y = data
    model = OrdinalSVMCV(constraints="sum-of-margins", cv=3, **SMALL | {"log_C": (-2, 0)})
    model.fit(X, y)
    few = model.cv_results_["C"] < 0.1  # with some 12 rows of the highest level
    assert np.all(np.isnan(model.cv_results_["mean_test_mae"][few]))
    assert model.score(X, y) > 0.6
    with pytest.raises(ValueError, match="no point of the search has a score.*raise log_C"):
        model.set_params(log_C=(-5, -4)).fit(X, y)


def test_splits_may_be_given(data):
    X, y = data
    fold = np.arange(80) % 3
    given = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    one, other = (
        OrdinalSVMCV(cv=cv, **SMALL).fit(X, y).cv_results_["mean_test_mae"]
        for cv in (given, PredefinedSplit(fold))
    )
    np.testing.assert_array_equal(one, other)
    assert OrdinalSVMCV(cv=StratifiedKFold(3), **SMALL).fit(X, y).score(X, y) > 0.6


def test_threads_change_nothing_and_every_path_is_told(data, caplog):
    X, y = data
    caplog.set_level("DEBUG", logger="ordinality")
    one = OrdinalSVMCV(cv=3, **SMALL).fit(X, y)
    told = [r.getMessage() for r in caplog.records if "search: fit" in r.getMessage()]
    two = OrdinalSVMCV(cv=3, **SMALL, n_jobs=2).fit(X, y)
    for name, column in one.cv_results_.items():
        np.testing.assert_array_equal(two.cv_results_[name], column)
    found = [line.split(",")[0] for line in told]
    assert found == [f"search: fit {done} of 54" for done in range(3, 55, 3)]


def test_fits_cut_short_are_noted_and_not_shouted(data):
    model = OrdinalSVMCV(cv=2, search_max_iter=5, **SMALL).fit(*data)
    assert not model.cv_results_["converged"].all()
    assert model.converged_


@pytest.mark.parametrize("scoring", ["macro_mae", "quadratic_kappa", "kendall_tau"])
def test_other_scores_can_be_searched_for(data, scoring):
    model = OrdinalSVMCV(cv=2, scoring=scoring, **SMALL).fit(*data)
    assert model.best_score_ == np.nanmax(model.cv_results_["mean_test_score"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scoring": "accuracy"}, "no score named 'accuracy'; choose one of mae"),
        (
            {"scoring": "rps"},
            "scoring='rps' needs probabilities, which the search does not compute",
        ),
        ({"log_C": 3}, r"log_C=3 must be two whole numbers.*such as \(-3, 3\)"),
        ({"log_kappa": (1, 0)}, r"log_kappa=\(1, 0\) must be two whole numbers"),
        ({"cv": 1}, "cv=1 must be a whole number, 2 or more"),
        ({"fine_steps": -1}, "fine_steps=-1 must be a whole number, 0 or more"),
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(data, changes, message):
    with pytest.raises(ValueError, match=message):
        OrdinalSVMCV(**changes).fit(*data)


@pytest.mark.parametrize("weights", ["equal", "half of them"])
def test_a_search_with_enormous_weights_is_bounded_and_says_why(weights):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 2))
    y = np.digitize(np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * rng.normal(size=40), [-0.6, 0.6])
    w = np.where((rng.random(40) < 0.5) | (weights == "equal"), 1e9, 1.0)
    with pytest.warns(ConvergenceWarning, match=r"search for C stopped early at .*1\.0e\+12"):
        model = OrdinalSVMCV(calibration_folds=None).fit(X, y, sample_weight=w)
    # Prices are beyond 1e5 at all points. Two terms a row, 200 steps each, for every path:
    # 5 folds by 7 widths of the coarse grid, then by 9 of the fine one.
    assert np.sum(5 * model.cv_results_["mean_n_iter"]) <= 200 * 80 * 5 * (7 + 9)
