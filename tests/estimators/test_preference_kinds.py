"""PreferenceGP on answers of every kind: ties, degrees, several judges, ratings."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from ordinality import PreferenceGP

N, M = 25, 160  # items, and half the answers, of a study


# Ties, grades, judges


def test_ties_and_grades_are_learnt(study):
    model = PreferenceGP(study.X, ties=True, grades=2).fit(study.pairs, study.graded)
    np.testing.assert_array_equal(model.classes_, [-2, -1, 0, 1, 2])
    assert model.predict_proba(study.pairs).shape == (2 * M, 5)
    # Truly 0.5 and 1.2; the scale of utilities is set by the kernel, so compare the ratio.
    assert model.steps_[1] / model.steps_[0] == pytest.approx(1.2 / 0.5, rel=0.25)
    assert set(model.predict(study.pairs)) <= {-2, -1, 0, 1, 2}
    assert model.score(study.pairs, study.graded) > 0.6  # the most frequent answer: 0.24


def test_repeated_ties_bring_two_utilities_together(study):
    far = np.array([np.argmax(study.f), np.argmin(study.f)])
    pairs = np.vstack([study.pairs, np.tile(far, (60, 1))])
    tied = np.append(study.tied, np.zeros(60, dtype=int))
    before = PreferenceGP(study.X, ties=True).fit(study.pairs, study.tied)
    after = PreferenceGP(study.X, ties=True).fit(pairs, tied)
    gaps = [abs(np.diff(model.utility().mean[far])[0]) for model in (before, after)]
    assert gaps[1] < 0.5 * gaps[0]


def test_each_judge_has_a_noise_of_their_own(study):
    rng = np.random.default_rng(3)
    judges = np.array(["careful", "hasty"])[np.arange(2 * M) % 2]
    hasty = judges == "hasty"
    felt = study.f[study.pairs] + np.where(hasty, 2.0, 0.1)[:, None] * rng.normal(
        size=(2 * M, 2)
    )
    answers = np.where(felt[:, 0] > felt[:, 1], 1, -1)
    model = PreferenceGP(study.X).fit(study.pairs, answers, judges=judges)
    assert model.judges_.tolist() == ["careful", "hasty"]
    assert model.noise_[0] < 0.5 * model.noise_[1]
    sure, unsure = (model.predict_proba([[0, 1]], judge=j)[0].max() for j in model.judges_)
    assert sure > unsure
    either = model.predict_proba([[0, 1]])[0].max()
    assert either == pytest.approx(0.5 * (sure + unsure), abs=1e-12)
    together = PreferenceGP(study.X).fit(study.pairs, answers)
    assert model.log_evidence_ > together.log_evidence_ + 3.0


# Ratings beside comparisons


def test_ratings_and_comparisons_inform_one_utility(study):
    ratings = (np.arange(N), study.stars)
    few = slice(0, 40)
    settings = {"items": study.X, "inference": "ep"}
    both = PreferenceGP(**settings).fit(study.pairs[few], study.answers[few], ratings=ratings)
    compared = PreferenceGP(**settings).fit(study.pairs[few], study.answers[few])
    rated = PreferenceGP(**settings).fit(np.empty((0, 2)), ratings=ratings)
    found = [spearmanr(m.utility().mean, study.f).statistic for m in (both, compared, rated)]
    assert found[0] > max(found[1:])
    assert both.rating_levels_.tolist() == [1, 2, 3, 4]
    assert np.all(np.diff(both.thresholds_) > 0)
    assert compared.thresholds_ is None


def test_ratings_are_predicted_for_all_items_and_for_new_ones(study):
    half = np.arange(0, N, 2)
    model = PreferenceGP(study.X).fit(
        study.pairs, study.answers, ratings=(half, study.stars[half])
    )
    proba = model.predict_ratings()
    assert proba.shape == (N, 4)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    expected = proba @ model.rating_levels_
    assert spearmanr(expected, study.f).statistic > 0.85
    assert model.predict_ratings(study.X[:3]).shape == (3, 4)


def test_rating_levels_may_be_stated(study):
    words = np.array(["poor", "fair", "good", "great"])
    model = PreferenceGP(study.X, levels=words).fit(
        study.pairs, study.answers, ratings=(np.arange(N), words[study.stars - 1])
    )
    numbers = PreferenceGP(study.X).fit(
        study.pairs, study.answers, ratings=(np.arange(N), study.stars)
    )
    assert model.rating_levels_.tolist() == words.tolist()
    np.testing.assert_array_equal(model.thresholds_, numbers.thresholds_)
