"""Calibration from the scores of a cross-validation: whose labels a link has seen."""

import numpy as np
import pytest

from ordinality import OrdinalBoost, OrdinalGP, OrdinalSVM, RankBoost, metrics
from ordinality.estimators import calibration
from ordinality.estimators.calibration import calibrate_from_folds, needs_link

N, FOLDS = 60, 5
rng = np.random.default_rng(7)
X = rng.normal(size=(N, 2))
y = np.digitize(X[:, 0] + 0.7 * rng.normal(size=N), [-0.5, 0.5])
fold_of = np.arange(N) % FOLDS
SPLITS = [(np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k)) for k in range(FOLDS)]


def machines(labels=y, **given):
    """A machine of each fold, without a link, and the scores of all rows by each."""
    given = {"calibration_folds": None, "levels": [0, 1, 2], **given}
    found = [OrdinalSVM(**given).fit(X[train], labels[train]) for train, _ in SPLITS]
    return found, np.array([one.predict_latent(X) for one in found])


def test_classifiers_with_a_link_of_their_own_are_known():
    assert all(needs_link(kind()) for kind in (OrdinalSVM, OrdinalBoost, RankBoost))
    assert not needs_link(OrdinalSVM(calibration_folds=None))
    assert not needs_link(OrdinalGP())


@pytest.mark.parametrize("k", range(FOLDS))
def test_the_link_of_a_fold_does_not_depend_on_the_labels_of_that_fold(k):
    found, scores = machines()
    test = SPLITS[k][1]
    others = y.copy()
    others[test] = (y[test] + 1) % 3
    links = []
    for labels in (y, others):
        calibrate_from_folds(found[k], scores[k], scores, SPLITS, labels, fold=k)
        links.append(found[k].link_)
    np.testing.assert_array_equal(links[0].thresholds, links[1].thresholds)
    assert links[0].width == links[1].width


def test_the_link_of_a_fold_is_learnt_from_all_other_rows_and_no_others(monkeypatch):
    found, scores = machines()
    seen = []
    learn = calibration.learn_link

    def spy(s, ranks, n_levels, weights):
        seen.append(ranks)
        return learn(s, ranks, n_levels, weights)

    monkeypatch.setattr(calibration, "learn_link", spy)
    for k, (train, _) in enumerate(SPLITS):
        calibrate_from_folds(found[k], scores[k], scores, SPLITS, y, fold=k)
        np.testing.assert_array_equal(seen[-1], y[train])
    whole = OrdinalSVM(calibration_folds=None).fit(X, y)
    calibrate_from_folds(whole, whole.predict_latent(X), scores, SPLITS, y)
    np.testing.assert_array_equal(seen[-1], y)


def test_scores_of_other_folds_are_brought_to_the_scale_of_the_model():
    """A model whose scores are ten times as long gets a link ten times as wide."""
    found, scores = machines()
    widths = []
    for factor in (1.0, 10.0):
        stretched = scores * np.where(np.arange(FOLDS) == 0, factor, 1.0)[:, None]
        calibrate_from_folds(found[0], stretched[0], stretched, SPLITS, y, fold=0)
        widths.append(found[0].link_.width)
    assert widths[1] == pytest.approx(10.0 * widths[0], rel=1e-5)


def test_a_weight_of_two_is_the_row_twice():
    found, scores = machines()
    weights = np.ones(N)
    weights[::7] = 2.0
    twice = np.repeat(np.arange(N), weights.astype(int))
    folds = fold_of[twice]
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(FOLDS)]
    calibrate_from_folds(found[0], scores[0], scores, SPLITS, y, weights, fold=0)
    once = found[0].link_
    calibrate_from_folds(found[0], scores[0][twice], scores[:, twice], splits, y[twice], fold=0)
    np.testing.assert_allclose(found[0].link_.thresholds, once.thresholds, rtol=1e-6)


def test_labels_that_are_noise_are_not_predicted_better_than_by_their_frequencies():
    """Models of other folds have seen the labels of a fold; that must not flatter it."""
    gains = []
    for seed in range(12):
        noise = np.random.default_rng(seed).permutation(np.arange(N) % 3)
        found, scores = machines(noise)
        proba = np.empty((N, 3))
        for k, (_, test) in enumerate(SPLITS):
            calibrate_from_folds(found[k], scores[k], scores, SPLITS, noise, fold=k)
            proba[test] = found[k].predict_proba(X[test])
        gains.append(np.log(3) - metrics.log_score(noise, proba, levels=[0, 1, 2]))
    assert np.mean(gains) < 0.0
