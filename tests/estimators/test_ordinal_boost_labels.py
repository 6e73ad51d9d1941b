"""Thresholded ensembles keep the order of labels, whatever the labels are."""

import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict, cross_val_score

from ordinality import OrdinalBoost, RankBoost, metrics

LEVELS = ["low", "mid", "high"]  # sorted: high, low, mid
N = 90
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
RANK = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=N), [-0.6, 0.6])
Y = np.array(LEVELS)[RANK]

both = pytest.mark.parametrize("kind", [OrdinalBoost, RankBoost])


def model(kind=OrdinalBoost, **changes):
    return kind(**{"n_estimators": 10, "learner": "sigmoid", "levels": LEVELS, **changes})


# ------------------------------------------------------------------------------ order


@both
def test_levels_are_in_order_and_classes_are_sorted(kind):
    found = model(kind).fit(X, Y)
    assert found.levels_.tolist() == LEVELS
    assert found.classes_.tolist() == sorted(LEVELS)
    by_class, by_level = found.predict_proba(X), found.predict_level_proba(X)
    for k, level in enumerate(LEVELS):
        np.testing.assert_array_equal(by_class[:, sorted(LEVELS).index(level)], by_level[:, k])
    assert np.all(found.predict(X) == found.classes_[by_class.argmax(axis=1)])
    assert log_loss(Y, by_class) == pytest.approx(
        metrics.log_score(Y, by_level, levels=LEVELS), rel=1e-12
    )


@both
def test_words_and_ranks_give_the_same_model(kind):
    words, ranks = model(kind).fit(X, Y), model(kind, levels=None).fit(X, RANK)
    np.testing.assert_array_equal(words.thresholds_, ranks.thresholds_)
    np.testing.assert_array_equal(words.predict_level_proba(X), ranks.predict_proba(X))
    assert np.all(words.predict(X) == np.array(LEVELS)[ranks.predict(X)])


def test_the_reversed_order_gives_the_mirror_image():
    up, down = (
        model(learner="stump", levels=levels).fit(X, Y) for levels in (LEVELS, LEVELS[::-1])
    )
    np.testing.assert_allclose(down.thresholds_, -up.thresholds_[::-1], atol=1e-9)
    np.testing.assert_allclose(down.predict_latent(X), -up.predict_latent(X), atol=1e-9)


@both
@pytest.mark.parametrize("levels", [["low", "high"], ["high", "low"]], ids=str)
def test_the_decision_function_of_two_levels_rises_with_the_second_class(kind, levels):
    y = np.where(RANK > 0, "high", "low")
    two = model(kind, levels=levels).fit(X, y)
    score = two.decision_function(X)
    assert score.shape == (N,)
    assert np.all((score > 0) == (two.predict(X) == "low"))
    beyond = two.predict_latent(X) - two.thresholds_[0]
    np.testing.assert_allclose(score, beyond if levels[1] == "low" else -beyond)


@both
@pytest.mark.parametrize("learner", ["stump", "sigmoid"])
def test_the_decision_function_is_the_smaller_margin_of_each_class(kind, learner):
    found = model(kind, learner=learner).fit(X, Y)
    decision = found.decision_function(X)
    assert np.all(found.predict(X) == found.classes_[decision.argmax(axis=1)])
    for column, label in enumerate(found.classes_):
        rank = LEVELS.index(label)
        rho = found.margins_of(X, np.full(N, label))
        own = rho[:, max(rank - 1, 0) : rank + 1].min(axis=1)
        np.testing.assert_allclose(decision[:, column], own, atol=1e-12)
    by_level = decision[:, [found.classes_.tolist().index(level) for level in LEVELS]]
    peak = by_level.argmax(axis=1)
    for row, top in zip(by_level, peak, strict=True):
        assert np.all(np.diff(row[: top + 1]) > 0)
        assert np.all(np.diff(row[top:]) < 0)


def test_a_score_on_a_threshold_belongs_to_the_level_below():
    found = model(levels=["b", "a"]).fit(X, np.where(RANK > 0, "a", "b"))
    edge = found.thresholds_[:1]
    assert found._decision(edge, found.thresholds_)[0] > 0  # class "b", the lower level


@both
def test_the_concordance_of_two_levels_does_not_depend_on_their_names(kind):
    y = np.where(RANK > 0, "high", "low")
    named = model(kind, levels=["low", "high"]).fit(X, y)
    plain = model(kind, levels=None).fit(X, RANK > 0)
    scorer = metrics.scorer("c_index")
    assert scorer(named, X, y) == scorer(plain, X, RANK > 0)


# ------------------------------------------------------------------------------ kinds of label


@both
def test_text_without_an_order_warns_with_the_words_to_type(kind):
    with pytest.warns(UserWarning, match="alphabetical order: 'high', 'low', 'mid'") as caught:
        model(kind, levels=None).fit(X, Y)
    (warning,) = caught
    assert warning.filename == __file__


@both
@pytest.mark.parametrize("weight", [None, "some zero"])
def test_ordered_labels_bring_their_order(kind, weight):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    categorical = pd.Categorical(Y, categories=LEVELS, ordered=True)
    if weight:
        weight = np.ones(N)
        weight[::7] = 0
    stated = model(kind).fit(X, Y, sample_weight=weight).predict_proba(X)
    for labels in (
        pd.Series(categorical, index=np.arange(N)[::-1]),
        categorical,
        pl.Series(Y.tolist(), dtype=pl.Enum(LEVELS)),
    ):
        carried = model(kind, levels=None).fit(X, labels, sample_weight=weight)
        assert carried.levels_.tolist() == LEVELS
        np.testing.assert_array_equal(carried.predict_proba(X), stated)


@pytest.mark.parametrize("values", [[-7, 0, 40], [0.5, 1.0, 1.5]], ids=["gaps", "half stars"])
def test_numbers_of_any_kind_stand_for_their_ranks(values):
    numbers = model(levels=values).fit(X, np.array(values)[RANK])
    ranks = model(levels=None).fit(X, RANK)
    np.testing.assert_array_equal(numbers.predict_proba(X), ranks.predict_proba(X))
    assert set(numbers.predict(X)) <= set(values)


@both
@pytest.mark.parametrize("margins", ["all", "left-right"])
@pytest.mark.parametrize("learner", ["perceptron", "stump"])
@pytest.mark.parametrize(
    "levels",
    [
        ["awful", *LEVELS],
        [*LEVELS, "superb"],
        ["low", "fair", "mid", "good", "high"],
        ["awful", "poor", "low", "mid", "high", "superb"],
    ],
    ids=["below", "above", "between", "around"],
)
def test_levels_declared_but_unseen_keep_a_place(kind, margins, learner, levels):
    choice = {"margins": margins} if kind is OrdinalBoost else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wide = model(kind, levels=levels, learner=learner, **choice).fit(X, Y)
    assert wide.classes_.tolist() == sorted(levels)
    assert wide.thresholds_.shape == (len(levels) - 1,)
    assert np.all(np.diff(wide.thresholds_) >= 0)
    assert np.all(np.isfinite(wide.thresholds_))
    proba = wide.predict_level_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.all(proba >= 0)
    assert wide.score(X, Y) > 0.7
    unseen = [k for k, level in enumerate(levels) if level not in LEVELS]
    assert np.all(proba[:, unseen].mean(axis=0) < 0.1)


def test_tools_that_pass_labels_on_predict_them():
    assert np.mean(cross_val_predict(model(), X, Y, cv=3) == Y) > 0.7
    calibrated = CalibratedClassifierCV(model(calibration_folds=None), cv=3).fit(X, Y)
    assert np.mean(calibrated.predict(X) == Y) > 0.7
    scores = [
        cross_val_score(model(), X, Y, cv=3, scoring=scoring)
        for scoring in ("neg_log_loss", metrics.scorer("log_score"))
    ]
    np.testing.assert_allclose(*scores, rtol=1e-9)
