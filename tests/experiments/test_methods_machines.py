"""The search of constraint classification: the same fits as the estimators', found faster."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from ordinality import LabelRankingSVM, PreferenceSVM
from ordinality.datasets import Split
from ordinality.experiments.papers import methods
from ordinality.experiments.papers.problems import Pairs

CS = np.array([0.1, 1.0, 30.0])


@pytest.fixture(scope="module")
def pairs():
    """Items of unequal scales, one feature of which is constant, and noisy comparisons."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * [1.0, 50.0, 0.0] + [0.0, 1000.0, 3.0]
    felt = X[:, 0] + np.sin(X[:, 1] / 20) + 0.3 * rng.normal(size=40)
    drawn = np.array([rng.choice(40, 2, replace=False) for _ in range(160)])
    drawn = np.where((felt[drawn[:, 0]] > felt[drawn[:, 1]])[:, None], drawn, drawn[:, ::-1])
    drawn = np.unique(drawn, axis=0)
    return Pairs(X, rng.permutation(drawn)[:100], drawn)


@pytest.fixture(scope="module")
def classes():
    """Three classes of unequal numbers; a feature that varies in some folds only."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=(60, 2)), np.zeros(60)])
    X[7, 2] = 1.0
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=60), [-0.8, 0.4]) + 5
    return Split(X, y, X, y)


@pytest.mark.parametrize("kappa", [0.01, 1.0])
def test_left_out_pairs_are_told_as_the_estimator_tells_them(pairs, kappa):
    folds = methods.folds_of(100, 3)
    expected = np.empty((len(CS), 5))
    for i, C in enumerate(CS):
        for fold in range(5):
            model = PreferenceSVM(pairs.X, C, gamma=kappa / 2, tol=1e-6)
            model.fit(pairs.train[folds != fold])
            expected[i, fold] = model.score(pairs.train[folds == fold])
    found = methods.pair_shares(pairs, 3)(CS, kappa)
    np.testing.assert_allclose(found, expected.mean(axis=1), atol=1e-12)


@pytest.mark.parametrize("kappa", [0.01, 1.0])
def test_left_out_classes_are_told_as_the_estimator_tells_them(classes, kappa):
    X, y, folds = classes.X, classes.y, methods.folds_of(60, 3)
    expected = np.empty((len(CS), 5))
    for i, C in enumerate(CS):
        for fold in range(5):
            kept, left = folds != fold, folds == fold
            model = LabelRankingSVM(C, gamma=kappa / 2, standardize=False, tol=1e-6)
            model.fit(X[kept], y[kept])
            expected[i, fold] = model.score(X[left], y[left])
    found = methods.class_shares(classes, 3)(CS, kappa)
    np.testing.assert_allclose(found, expected.mean(axis=1), atol=1e-12)


def test_folds_are_of_equal_sizes_and_drawn_by_the_seed():
    folds = methods.folds_of(103, 1)
    assert sorted(np.bincount(folds)) == [20, 20, 21, 21, 21]
    np.testing.assert_array_equal(folds, methods.folds_of(103, 1))
    assert np.any(folds != methods.folds_of(103, 2))


def test_whole_powers_are_tried_and_then_fifths_around_the_best():
    tried = []

    def shares(Cs, kappa):
        tried.extend((round(np.log10(C), 1), round(np.log10(kappa), 1)) for C in Cs)
        return -np.abs(np.log10(Cs) - 2.4) - abs(np.log10(kappa) + 1.2)

    C, kappa = methods.searched(shares, with_kappa=True)
    assert (C, kappa) == pytest.approx((10**2.4, 10**-1.2))
    coarse = [(float(c), float(k)) for k in range(-3, 4) for c in range(-2, 5)]
    fine = [(round(2 + c, 1), round(-1 + k, 1)) for k in FIFTHS for c in FIFTHS]
    assert tried == coarse + fine


FIFTHS = [-0.8, -0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8]


def test_of_equally_good_points_the_smallest_c_is_taken_then_the_smallest_kappa():
    def alike(Cs, kappa):
        return np.array([np.mean([0.1, 0.2, 0.3, c]) for c in np.full(len(Cs), 0.4)])

    C, kappa = methods.searched(alike, with_kappa=True)
    assert (C, kappa) == pytest.approx((10**-2.8, 10**-3.8))

    def rounded_otherwise(Cs, kappa):  # 0.6 summed in two orders
        right = [0.1 + 0.2 + 0.3 if C < 1 else 0.3 + 0.2 + 0.1 for C in Cs]
        return np.array(right[::-1])

    assert methods.searched(rounded_otherwise, with_kappa=False)[0] == pytest.approx(10**-2.8)


def test_a_search_without_kappa_has_none():
    found = methods.searched(lambda Cs, kappa: -np.abs(np.log10(Cs)), with_kappa=False)
    assert found == (1.0, None)


def test_a_fit_that_is_cut_short_says_so(pairs, monkeypatch):
    monkeypatch.setattr(methods, "STEPS", 3)
    with pytest.warns(ConvergenceWarning, match="at C = 0.1 a fit .* stopped after 3 steps"):
        methods.pair_shares(pairs, 1)(CS[:1], 1.0)


def test_both_methods_learn(pairs, classes):
    of_pairs = methods.comparisons_svm(pairs, 1)
    assert of_pairs["pair_error"] < 0.2
    assert set(of_pairs) == {"pair_error", "C", "kappa"}
    of_classes = methods.classes_svm(classes, 1)
    assert of_classes["label_error"] < 0.4
    assert of_classes["pref_error"] < of_classes["label_error"]
