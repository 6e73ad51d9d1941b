"""Searches of C and kappa of constraint classification: the same fits, found faster."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold

from ordinality import LabelRankingSVM, LabelRankingSVMCV, PreferenceSVM, PreferenceSVMCV

SMALL = {"log_C": (-1, 1), "log_kappa": (-2, 0), "fine_steps": 0}
CV = KFold(5, shuffle=True, random_state=3)


@pytest.fixture(scope="module")
def films():
    """Items of unequal scales, one feature of which is constant, and noisy comparisons."""
    # Two items that both lie on the margin of a third tie, and rounding decides between them:
    # in four of the first six seeds, not in this one.
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 3)) * [1.0, 50.0, 0.0] + [0.0, 1000.0, 3.0]
    felt = X[:, 0] + np.sin(X[:, 1] / 20) + 0.3 * rng.normal(size=40)
    pairs = np.unique([rng.choice(40, 2, replace=False) for _ in range(160)], axis=0)
    pairs = rng.permutation(pairs)[:100]
    return X, pairs, np.where(felt[pairs[:, 0]] > felt[pairs[:, 1]], 1, -1)


@pytest.fixture(scope="module")
def classes():
    """Three classes of unequal numbers; a feature that varies in some folds only."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=(60, 2)), np.zeros(60)])
    X[7, 2] = 1.0
    return X, np.digitize(X[:, 0] + 0.5 * rng.normal(size=60), [-0.8, 0.4]) + 5


def table(model, name):
    """A column of a 3 x 3 grid by C and kappa."""
    order = np.lexsort((model.cv_results_["kappa"], model.cv_results_["C"]))
    return model.cv_results_[name][order].reshape(3, 3)


POINTS = [(C, kappa) for C in (0.1, 1.0, 10.0) for kappa in (0.01, 0.1, 1.0)]


# The solver's tolerance is 1e-6, so that warm and cold starts predict alike.
@pytest.mark.parametrize("weighted", [False, True])
def test_held_out_pairs_are_scored_as_the_estimator_scores_them(films, weighted):
    items, pairs, answers = films
    w = np.random.default_rng(4).uniform(0.1, 3.0, size=100) if weighted else np.ones(100)
    w[::9] *= not weighted
    expected = []
    for C, kappa in POINTS:
        plain = PreferenceSVM(items, C, gamma=kappa / 2, tol=1e-6)
        expected.append(np.mean([
            plain.fit(pairs[a], answers[a], sample_weight=w[a])
            .score(pairs[b], answers[b], w[b])
            for a, b in CV.split(pairs)
        ]))  # fmt: skip
    model = PreferenceSVMCV(items, cv=CV, tol=1e-6, **SMALL)
    model.fit(pairs, answers, sample_weight=w)
    found = table(model, "mean_test_score").ravel()
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("standardize", [False, True])
def test_held_out_classes_are_scored_as_the_estimator_scores_them(classes, standardize):
    X, y = classes
    Z = (X - X.mean(axis=0)) / X.std(axis=0) if standardize else X
    expected = []
    for C, kappa in POINTS:
        plain = LabelRankingSVM(C, gamma=kappa / 2, standardize=False, tol=1e-6)
        scores = [plain.fit(Z[a], y[a]).score(Z[b], y[b]) for a, b in CV.split(X)]
        expected.append(np.mean(scores))
    model = LabelRankingSVMCV(cv=CV, tol=1e-6, standardize=standardize, **SMALL).fit(X, y)
    found = table(model, "mean_test_score").ravel()
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_without_room_for_the_matrix_the_same_is_found(films, classes):
    items, pairs, answers = films
    both = [
        PreferenceSVMCV(items, cv=CV, tol=1e-6, cache_size=size, **SMALL).fit(pairs, answers)
        for size in (256, 0.01)
    ]
    np.testing.assert_allclose(*(table(m, "mean_test_score") for m in both), atol=1e-12)
    both = [
        LabelRankingSVMCV(cv=CV, tol=1e-6, cache_size=size, **SMALL).fit(*classes)
        for size in (256, 0.01)
    ]
    np.testing.assert_allclose(*(table(m, "mean_test_score") for m in both), atol=1e-12)


def test_the_last_fit_is_that_of_the_plain_estimator(films, classes):
    items, pairs, answers = films
    model = PreferenceSVMCV(items, **SMALL).fit(pairs, answers)
    plain = PreferenceSVM(items, model.C_, gamma=model.gamma_).fit(pairs, answers)
    np.testing.assert_array_equal(model.utility(), plain.utility())
    X, y = classes
    model = LabelRankingSVMCV(**SMALL).fit(X, y)
    plain = LabelRankingSVM(model.C_, gamma=model.gamma_).fit(X, y)
    np.testing.assert_array_equal(model.scores(X), plain.scores(X))
    assert not hasattr(model, "_data")  # the training rows are not kept


def test_a_fine_grid_lies_in_steps_of_a_fifth_around_the_best_coarse_point(films):
    items, pairs, answers = films
    model = PreferenceSVMCV(items, **SMALL | {"fine_steps": 1}).fit(pairs, answers)
    found = {name: values[9:] for name, values in model.cv_results_.items()}
    assert set(found["stage"]) == {"fine"}
    for name in ("C", "kappa"):
        log = np.log10(found[name])
        np.testing.assert_allclose(np.ptp(log), 0.4)
        assert np.median(log) == pytest.approx(round(np.median(log)))
    best = found["mean_test_score"].max()
    assert model.best_score_ == best
    top = np.isclose(found["mean_test_score"], best, rtol=0, atol=1e-12)
    assert found["C"][top].min() == model.C_


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_other_kernels_are_searched_by_c_alone(films, classes, kernel):
    items, pairs, answers = films
    gram = kernel == "precomputed"
    Z = (items - items.mean(axis=0)) / [1.0, 50.0, 1.0]
    model = PreferenceSVMCV(rbf_kernel(Z) if gram else items, kernel, **SMALL)
    assert model.fit(pairs, answers).score(pairs, answers) > 0.7
    assert len(model.cv_results_["C"]) == 3
    assert not hasattr(model, "gamma_")
    X, y = classes
    model = LabelRankingSVMCV(kernel, cv=CV, tol=1e-8, **SMALL)
    model.fit(rbf_kernel(X) if gram else X, y)
    assert model.best_score_ > 0.7
    if gram:  # the same kernel by name
        named = LabelRankingSVM(model.C_, gamma=1 / 3, tol=1e-8, standardize=False).fit(X, y)
        np.testing.assert_allclose(model.dual_coef_, named.dual_coef_, atol=1e-6)


def test_items_without_features_are_searched_by_c_alone(films):
    _, pairs, answers = films
    model = PreferenceSVMCV(**SMALL).fit(pairs, answers)
    np.testing.assert_array_equal(model.cv_results_["C"], [0.1, 1.0, 10.0])


def test_a_search_that_is_cut_short_warns(films):
    items, pairs, answers = films
    with pytest.warns(ConvergenceWarning, match="stopped after 3 steps at . of 9 points"):
        model = PreferenceSVMCV(items, search_max_iter=3, **SMALL).fit(pairs, answers)
    assert not np.all(model.cv_results_["converged"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"log_C": (1, 0)}, "log_C=.* two whole numbers"),
        ({"fine_steps": -1}, "fine_steps=-1 must be"),
        ({"cv": 1}, "cv=1 must be"),
        ({"tol": 0.0}, "tol=0.0 must be"),
    ],
)
def test_parameters_are_checked(films, classes, changes, message):
    items, pairs, answers = films
    with pytest.raises(ValueError, match=message):
        PreferenceSVMCV(items, **changes).fit(pairs, answers)
    with pytest.raises(ValueError, match=message):
        LabelRankingSVMCV(**changes).fit(*classes)


def test_folds_without_a_preference_are_refused():
    with pytest.raises(ValueError, match="cv=2 leaves no fold"):
        LabelRankingSVMCV(cv=2).fit(np.eye(4), [[1, 1], [1, 1], [1, 1], [1, 2]])
    with pytest.raises(ValueError, match="no pairs"):
        PreferenceSVMCV(3).fit(np.empty((0, 2)))


def test_errors_of_ordered_labels_are_not_listed(films):
    items, pairs, answers = films
    found = PreferenceSVMCV(items, **SMALL).fit(pairs, answers).cv_results_
    assert sorted(found) == [
        "C", "converged", "gamma", "kappa", "mean_n_iter", "mean_test_score", "stage",
        "std_test_score",
    ]  # fmt: skip
