"""Labels keep the order that was stated, whatever the alphabet and scikit-learn's tools do.

`classes_` and the columns of `predict_proba` are sorted, as scikit-learn assumes; `levels_` and
`predict_level_proba` follow the order. Tools of scikit-learn that recode labels are tested in
`test_recoded_labels`.
"""

import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ordinality import OrdinalGP, RoundedRegressor, metrics

LEVELS = ["low", "mid", "high"]  # sorted: high, low, mid


def model(**changes):
    return OrdinalGP(**{"levels": LEVELS, "inference": "laplace", **changes})


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    rank = np.digitize(X[:, 0] + 0.3 * rng.normal(size=90), [-0.6, 0.6])
    return X, np.array(LEVELS)[rank], rank


@pytest.fixture(scope="module")
def fitted(data):
    X, y, _ = data
    return model().fit(X, y)


# ------------------------------------------------------------------------------ the rule


def test_levels_are_in_order_and_classes_are_sorted(fitted):
    assert fitted.levels_.tolist() == LEVELS
    assert fitted.classes_.tolist() == sorted(LEVELS)


def test_probabilities_follow_classes_and_level_probabilities_follow_levels(data, fitted):
    X, _, _ = data
    by_class, by_level = fitted.predict_proba(X), fitted.predict_level_proba(X)
    for k, level in enumerate(LEVELS):
        np.testing.assert_array_equal(by_class[:, sorted(LEVELS).index(level)], by_level[:, k])
    assert np.all(fitted.predict(X) == np.array(LEVELS)[by_level.argmax(1)])
    assert np.all(fitted.predict(X) == fitted.classes_[by_class.argmax(1)])


def test_the_log_loss_of_scikit_learn_equals_our_log_score(data, fitted):
    X, y, _ = data
    ours = metrics.log_score(y, fitted.predict_level_proba(X), levels=LEVELS)
    assert log_loss(y, fitted.predict_proba(X)) == pytest.approx(ours, rel=1e-12)
    scores = [
        cross_val_score(model(), X, y, cv=3, scoring=scoring)
        for scoring in ("neg_log_loss", metrics.scorer("log_score"))
    ]
    np.testing.assert_allclose(*scores, rtol=1e-9)


@pytest.mark.parametrize("inference", ["ep", "laplace"])
def test_words_and_ranks_give_the_same_model(data, inference):
    X, y, rank = data
    words = model(inference=inference).fit(X, y)
    ranks = OrdinalGP(inference=inference).fit(X, rank)
    np.testing.assert_array_equal(words.thresholds_, ranks.thresholds_)
    np.testing.assert_array_equal(words.predict_level_proba(X), ranks.predict_proba(X))
    assert np.all(words.predict(X) == np.array(LEVELS)[ranks.predict(X)])


def test_the_reversed_order_gives_the_mirror_image(data):
    X, y, _ = data
    fixed = {"thresholds": [-0.5, 0.5], "optimizer": None}  # symmetric, and kept so
    up = model(**fixed).fit(X, y)
    down = model(**fixed, levels=LEVELS[::-1]).fit(X, y)
    assert down.log_evidence_ == pytest.approx(up.log_evidence_, rel=1e-9)
    np.testing.assert_allclose(down.predict_proba(X), up.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("levels", [["low", "high"], ["high", "low"]], ids=str)
def test_the_decision_function_of_two_levels_rises_with_the_second_class(data, levels):
    X, _, rank = data
    y = np.where(rank > 0, "high", "low")
    two = model(levels=levels).fit(X, y)
    score = two.decision_function(X)
    assert score.shape == (90,)
    assert two.classes_.tolist() == ["high", "low"]
    assert np.all((score > 0) == (two.predict(X) == "low"))
    assert np.corrcoef(score, two.predict_proba(X)[:, 1])[0, 1] > 0.9


def test_the_decision_function_of_more_levels_has_a_column_for_each_class(data, fitted):
    X, _, _ = data
    np.testing.assert_allclose(
        np.exp(fitted.decision_function(X)), fitted.predict_proba(X), rtol=1e-12
    )


def test_the_concordance_of_two_levels_does_not_depend_on_their_names(data):
    X, _, rank = data
    named = model(levels=["low", "high"]).fit(X, np.where(rank > 0, "high", "low"))
    plain = model(levels=None).fit(X, rank > 0)
    scorer = metrics.scorer("c_index")
    assert scorer(named, X, np.where(rank > 0, "high", "low")) == scorer(plain, X, rank > 0)


# ------------------------------------------------------------------------------ kinds of label


def test_text_without_an_order_warns_with_the_words_to_type(data):
    X, y, _ = data
    with pytest.warns(UserWarning, match="alphabetical order: 'high', 'low', 'mid'") as caught:
        guessed = model(levels=None).fit(X, y)
    (warning,) = caught
    assert "levels=['low', 'mid', 'high'] (recognised: low to high)" in str(warning.message)
    assert warning.filename == __file__
    assert guessed.levels_.tolist() == sorted(LEVELS)


@pytest.mark.parametrize(
    ("labels", "line"),
    [
        (
            ["agree", "disagree", "neutral", "strongly agree", "strongly disagree"],
            "['strongly disagree', 'disagree', 'neutral', 'agree', 'strongly agree'] "
            "(recognised: a Likert scale of agreement)",
        ),
        (["blue", "green", "red"], "['blue', 'green', 'red'] (put in order)"),
    ],
    ids=["known", "unknown"],
)
def test_the_warning_shows_a_scale_that_it_recognises(labels, line):
    X = np.arange(2.0 * len(labels))[:, None]
    with pytest.warns(UserWarning, match="alphabetical order") as caught:
        RoundedRegressor(LinearRegression()).fit(X, labels * 2)
    assert f"with levels={line}, or" in str(caught[0].message)


def carried(y):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    categorical = pd.Categorical(y, categories=LEVELS, ordered=True)
    return {
        "pandas Series": pd.Series(categorical, index=np.arange(len(y))[::-1]),
        "pandas Categorical": categorical,
        "pandas CategoricalIndex": pd.CategoricalIndex(categorical),
        "polars Enum": pl.Series(y.tolist(), dtype=pl.Enum(LEVELS)),
    }


KINDS = ["pandas Series", "pandas Categorical", "pandas CategoricalIndex", "polars Enum"]


@pytest.mark.parametrize("weight", [None, "some zero"])
@pytest.mark.parametrize("kind", KINDS)
def test_ordered_labels_bring_their_order(data, fitted, kind, weight):
    X, y, _ = data
    if weight:
        weight = np.ones(90)
        weight[::7] = 0
    given = model(levels=None).fit(X, carried(y)[kind], sample_weight=weight)
    stated = model().fit(X, y, sample_weight=weight)
    assert given.levels_.tolist() == LEVELS
    np.testing.assert_array_equal(given.predict_proba(X), stated.predict_proba(X))


@pytest.mark.parametrize("kind", ["pandas Series", "polars Enum"])
def test_the_order_survives_the_splits_of_cross_validation(data, kind):
    X, y, _ = data
    given, stated = (
        cross_val_score(m, X, labels, cv=3, scoring=metrics.scorer("mae"))
        for m, labels in [(model(levels=None), carried(y)[kind]), (model(), y)]
    )
    np.testing.assert_array_equal(given, stated)


@pytest.mark.parametrize(
    "values",
    [[-7, 0, 40], [3, 4, 5], [0.0, 1.0, 7.0], [0.5, 1.0, 1.5]],
    ids=["negative and gaps", "from three", "floats", "half stars"],
)
def test_numbers_of_any_kind_stand_for_their_ranks(data, values):
    X, _, rank = data
    y = np.array(values)[rank]
    numbers = model(levels=values).fit(X, y)
    ranks = model(levels=None).fit(X, rank)
    np.testing.assert_array_equal(numbers.predict_proba(X), ranks.predict_proba(X))
    assert numbers.predict(X).dtype == y.dtype
    assert set(numbers.predict(X)) <= set(values)


def test_booleans_are_two_levels(data):
    X, _, rank = data
    two = model(levels=None).fit(X, rank > 0)
    assert two.levels_.tolist() == [False, True]
    assert two.predict(X).dtype == bool
    assert np.mean(two.predict(X) == (rank > 0)) > 0.8


def test_lists_and_objects_are_labels_too(data, fitted):
    X, y, _ = data
    for labels in (y.tolist(), y.astype(object), tuple(y)):
        again = model().fit(X.tolist(), labels)
        np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


def test_a_single_column_is_flattened_with_the_warning_of_scikit_learn(data, fitted):
    X, y, _ = data
    with pytest.warns(UserWarning, match="column-vector y was passed"):
        again = model().fit(X, y[:, None])
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("inference", ["ep", "laplace", "variational"])
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
def test_levels_declared_but_unseen_keep_a_place(data, inference, levels):
    X, y, _ = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wide = model(levels=levels, inference=inference).fit(X, y)
    assert wide.levels_.tolist() == levels
    assert wide.classes_.tolist() == sorted(levels)
    assert wide.thresholds_.shape == (len(levels) - 1,)
    assert np.all(np.diff(wide.thresholds_) > 0)
    proba = wide.predict_level_proba(X)
    assert proba.shape == (90, len(levels))
    assert np.all(proba >= 0)
    assert wide.score(X, y) > 0.7
    assert metrics.scorer("mae")(wide, X, y) > -0.5


# ------------------------------------------------------------------------------ scikit-learn


RIGHT = {
    "cross_val_predict": lambda X, y: cross_val_predict(model(), X, y, cv=3),
    "in a pipeline": lambda X, y: cross_val_predict(
        make_pipeline(StandardScaler(), model()), X, y, cv=3
    ),
    "grid search": lambda X, y: (
        GridSearchCV(model(), {"noise": [0.5, 1.0]}, cv=3, scoring=metrics.scorer("rps"))
        .fit(X, y)
        .predict(X)
    ),
    "calibration of copies": lambda X, y: (
        CalibratedClassifierCV(model(), cv=3).fit(X, y).predict(X)
    ),
    "calibration of a fit": lambda X, y: (
        CalibratedClassifierCV(FrozenEstimator(model().fit(X, y))).fit(X, y).predict(X)
    ),
}


@pytest.mark.parametrize("tool", RIGHT.values(), ids=RIGHT)
def test_tools_that_pass_labels_on_predict_them(data, tool):
    X, y, _ = data
    assert np.mean(tool(X, y) == y) > 0.7  # the most frequent level: 0.4


def test_calibrated_probabilities_belong_to_the_classes(data):
    X, y, _ = data
    calibrated = CalibratedClassifierCV(model(), cv=3).fit(X, y)
    assert calibrated.classes_.tolist() == sorted(LEVELS)
    assert log_loss(y, calibrated.predict_proba(X)) < 0.7  # equal chances: 1.1


def test_permutation_importance_finds_the_feature_that_matters(data, fitted):
    X, y, _ = data
    found = permutation_importance(
        fitted, X, y, n_repeats=2, random_state=0, scoring=metrics.scorer("mae")
    )
    assert found.importances_mean[0] > 5 * abs(found.importances_mean[1])


def test_with_ranks_for_labels_tools_that_recode_are_right(data):
    X, _, rank = data
    plain = model(levels=None)
    proba = cross_val_predict(plain, X, rank, cv=3, method="predict_proba")
    assert log_loss(rank, proba) < 0.7
    bag = BaggingClassifier(plain, n_estimators=3, random_state=0).fit(X, rank)
    vote = VotingClassifier([("gp", plain)], voting="soft").fit(X, rank)
    assert np.mean(bag.predict(X) == rank) > 0.7
    np.testing.assert_array_equal(vote.predict_proba(X), plain.fit(X, rank).predict_proba(X))


def test_tools_that_recode_numbers_meet_an_error(data):
    X, _, rank = data
    with pytest.raises(ValueError, match="looks like a code for a label"):
        VotingClassifier([("gp", model(levels=[1, 2, 3]))]).fit(X, rank + 1)
