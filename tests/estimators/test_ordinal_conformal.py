"""Prediction sets: contiguous, nested, and right as often as they promise."""

from collections import Counter
from itertools import combinations, pairwise

import mpmath
import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from ordinality import OrdinalConformal, OrdinalGP, OrdinalSVM
from ordinality.estimators.ordinal_conformal import (
    density_scores,
    growth_scores,
    pooled_levels,
)

EDGES = np.array([-1.5, -0.5, 0.5, 1.5])


class Known(ClassifierMixin, BaseEstimator):
    """The probabilities the levels were drawn by, made too sharp or flat, or too low."""

    def __init__(self, sharpness=1.0, lean=0.0):
        self.sharpness = sharpness
        self.lean = lean

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.arange(5)
        return self

    def predict_proba(self, X):
        inner = expit(3 * self.sharpness * (EDGES + self.lean - X[:, :1]))
        ends = np.zeros((len(X), 1)), np.ones((len(X), 1))
        return np.diff(np.hstack([ends[0], inner, ends[1]]), axis=1)

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


def drawn(rng, n, spread=1.2):
    X = spread * rng.normal(size=(n, 1))
    return X, np.digitize(X[:, 0] + rng.logistic(size=n) / 3, EDGES)


def holds(model, X, y):
    ends = model.predict_set(X)
    return (ends[:, 0] <= y) & (y <= ends[:, 1])


# ------------------------------------------------------------------------------ coverage


@pytest.mark.parametrize("sharpness", [0.4, 3.0])
@pytest.mark.parametrize(
    ("method", "score"), [("split", "mass"), ("cross", "mass"), ("split", "density")]
)
def test_sets_hold_the_level_as_often_as_they_promise(method, score, sharpness):
    rng, found, repeats = np.random.default_rng(1), Counter(), 400
    coverages = (0.8, 0.9, 0.95)
    for _ in range(repeats):  # one new row each, so that the trials are independent
        X, y = drawn(rng, 200)
        model = OrdinalConformal(
            Known(sharpness), method=method, conformity=score, calibration_fraction=0.5
        )
        for coverage in coverages:
            model.coverage = coverage
            if method == "split" or coverage == coverages[0]:  # "cross" predicts for any
                model.fit(X[:-1], y[:-1])
            found[coverage] += int(holds(model, X[-1:], y[-1:])[0])
    # At least the coverage, and at most that of 1/100 more for the rank and ties, up to the
    # binomial interval of probability 0.998.
    for coverage in coverages:
        assert found[coverage] >= binom.ppf(0.001, repeats, coverage)
        assert found[coverage] <= binom.ppf(0.999, repeats, min(1, coverage + 0.02))


def test_sets_by_level_hold_in_every_group_where_others_do_not():
    rng = np.random.default_rng(0)
    X, y = drawn(rng, 4000)
    new, level = drawn(rng, 4000)
    low = Known(lean=0.8)
    plain = OrdinalConformal(low, method="split").fit(X, y)
    even = OrdinalConformal(low, method="split", per_level=True).fit(X, y)
    hits = [holds(model, new, level) for model in (plain, even)]
    shares = [[hit[level == k].mean() for k in range(5)] for hit in hits]
    assert min(shares[0]) < 0.82
    assert min(shares[1]) > 0.86
    assert even.n_calibration_.sum() == 1000


def test_weights_that_undo_a_shift_restore_the_coverage():
    rng, found = np.random.default_rng(0), []
    for _ in range(30):
        X, y = drawn(rng, 2000)
        new, level = drawn(rng, 500, spread=0.2)
        weight = np.exp(-0.5 * X[:, 0] ** 2 * (1 / 0.2**2 - 1 / 1.2**2))
        flat = Known(0.2)
        models = (
            OrdinalConformal(flat, method="split").fit(X, y, sample_weight=w)
            for w in (None, weight)
        )
        found.append([holds(model, new, level).mean() for model in models])
    plain, weighted = np.mean(found, axis=0)
    assert plain < 0.885
    # A new row counts like the heaviest of some 90 that matter, which adds up to 0.02.
    assert 0.89 < weighted < 0.93


def test_the_spread_of_the_coverage_is_that_of_its_beta_distribution():
    X, y = drawn(np.random.default_rng(0), 400)
    model = OrdinalConformal(Known(), method="split").fit(X, y)
    low, high = model.coverage_spread_[0]
    for share, end in ((0.05, low), (0.95, high)):  # rank 91 of 100 calibration rows
        assert float(mpmath.betainc(91, 10, 0, end, regularized=True)) == pytest.approx(share)
    assert model.n_calibration_.tolist() == [100]


# ------------------------------------------------------------------------------ sets


def test_a_set_grows_from_the_mode_by_the_more_probable_neighbour():
    # By hand: 3 joins at 0, then 2 (0.3 > 0.1) at 0.4, 1 at 0.7, 4 at 0.9... of levels 0 to 4.
    scores = growth_scores(np.array([[0.02, 0.18, 0.3, 0.4, 0.1]]))
    np.testing.assert_allclose(scores, [[0.98, 0.7, 0.4, 0.0, 0.88]])


def test_density_gains_most_probability_for_the_length_of_the_set():
    # The hull of all intervals that are best under some price of a level or a higher one.
    rng = np.random.default_rng(0)
    for p in rng.dirichlet(np.full(5, 0.6), size=40):
        (scores,) = density_scores(p[None])
        ends = list(combinations(range(6), 2))
        gains = np.array([p[a:b].sum() for a, b in ends])
        lengths = np.array([b - a for a, b in ends])
        first, last = 5, 0
        for price in sorted({*(1 - scores), *rng.uniform(size=30)}, reverse=True):
            value = gains - (price - 1e-12) * lengths
            if value.max() > 0:
                a, b = ends[value.argmax()]
                first, last = min(first, a), max(last, b)
            inside = (first <= np.arange(5)) & (np.arange(5) < last)
            inside[p.argmax()] = True
            np.testing.assert_array_equal(scores <= 1 - price + 1e-9, inside)


def test_density_is_one_minus_the_probability_where_levels_fall_off_from_the_mode():
    p = np.array([[0.05, 0.2, 0.45, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1, 0.0]])
    wanted = 1 - p
    wanted[[0, 1], [2, 0]] = 0.0  # the mode belongs to every set
    np.testing.assert_allclose(density_scores(p), wanted)
    # Of two modes the second joins with what lies between: (0.1 + 0.35) / 2 each.
    np.testing.assert_allclose(
        density_scores(np.array([[0.0, 0.5, 0.1, 0.35, 0.05]])),
        [[1.0, 0.0, 0.775, 0.775, 0.95]],
    )


@pytest.mark.filterwarnings("ignore:.* rows calibrate")  # 75 are too few for 0.99
@pytest.mark.parametrize("score", ["mass", "density"])
@pytest.mark.parametrize("method", ["split", "cross"])
def test_higher_coverage_only_widens_sets(method, score):
    rng = np.random.default_rng(0)
    X, y = drawn(rng, 300)
    new, _ = drawn(rng, 200)
    ends = [
        OrdinalConformal(GaussianNB(), c, method=method, conformity=score)
        .fit(X, y)
        .predict_set(new)
        for c in (0.5, 0.8, 0.9, 0.99)
    ]
    for narrow, wide in pairwise(ends):
        assert np.all(wide[:, 0] <= narrow[:, 0])
        assert np.all(wide[:, 1] >= narrow[:, 1])


def test_too_few_rows_for_the_coverage_give_all_levels():
    X, y = drawn(np.random.default_rng(0), 40)
    with pytest.warns(UserWarning, match="10 rows calibrate.* coverage=0.99 needs 99"):
        model = OrdinalConformal(Known(), 0.99, method="split").fit(X, y)
    np.testing.assert_array_equal(model.predict_set(X), np.tile([0, 4], (40, 1)))
    np.testing.assert_array_equal(model.coverage_spread_, [[1.0, 1.0]])


def test_the_most_probable_level_belongs_to_every_set():
    X, y = drawn(np.random.default_rng(0), 300)
    model = OrdinalConformal(Known(), 0.05).fit(X, y)
    ends, mode = model.predict_set(X), model.predict(X)
    np.testing.assert_array_equal(ends, np.column_stack([mode, mode]))


@pytest.mark.parametrize(
    ("counts", "groups"),
    [
        ([30, 40, 25], [0, 1, 2]),
        ([3, 30, 40], [0, 0, 1]),
        ([50, 5, 9, 50], [0, 1, 1, 2]),  # 5 joins 9: 14, and that the first of two fifties
        ([1, 1, 1], [0, 0, 0]),
    ],
)
def test_rare_levels_are_pooled_with_their_smaller_neighbour(counts, groups):
    least = 14 if counts[0] == 50 else 20
    assert pooled_levels(np.array(counts), least).tolist() == groups


# ------------------------------------------------------------------------------ what is wrapped


WORDS = np.array(["low", "mid", "high"])


@pytest.mark.parametrize(
    "inner",
    [
        LogisticRegression(), OrdinalGP(optimizer=None), OrdinalSVM(calibration_folds=2),
        make_pipeline(StandardScaler(), GaussianNB()),
        make_pipeline(StandardScaler(), OrdinalGP(optimizer=None)),
        OrdinalGP(optimizer=None, levels=WORDS.tolist()),
    ],
    ids=lambda inner: type(inner).__name__,
)  # fmt: skip
def test_sets_of_words_follow_their_order(inner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    rank = np.digitize(X[:, 0] + 0.5 * rng.normal(size=90), [-0.5, 0.5])
    own = getattr(inner, "levels", None)
    model = OrdinalConformal(inner, levels=None if own else WORDS.tolist()).fit(X, WORDS[rank])
    ends = model.predict_set(X)
    low, high = (np.array([WORDS.tolist().index(e) for e in side]) for side in ends.T)
    assert np.all(low <= high)
    assert np.mean((low <= rank) & (rank <= high)) > 0.85
    assert model.levels_.tolist() == WORDS.tolist()
    np.testing.assert_array_equal(model.predict(X), model.estimator_.predict(X))
    np.testing.assert_allclose(
        model.predict_level_proba(X), model.predict_proba(X)[:, [1, 2, 0]], rtol=1e-15
    )


def test_a_frame_reaches_the_classifier_as_it_is():
    pd = pytest.importorskip("pandas")
    X, y = drawn(np.random.default_rng(0), 200)
    table = pd.DataFrame({"x": X[:, 0]})
    model = OrdinalConformal(LogisticRegression()).fit(table, y)
    assert model.estimator_.feature_names_in_.tolist() == ["x"]
    assert model.predict_set(table).shape == (200, 2)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"coverage": 1.0}, ValueError, "coverage=1.0 must lie between 0 and 1"),
        ({"coverage": "most"}, ValueError, "coverage='most' must lie between 0 and 1"),
        ({"calibration_fraction": 0}, ValueError, "calibration_fraction=0 must lie between"),
        ({"calibration_folds": 1}, ValueError, "calibration_folds=1 must be a whole number, 2"),
        ({"method": "jackknife"}, ValueError, "method='jackknife' is not known; choose one of"),
        ({"per_level": "yes"}, ValueError, "per_level='yes' is not known"),
        ({"estimator": LinearSVC()}, TypeError, r"LinearSVC\(\) has no predict_proba; pass a"),
        ({"levels": [0, 1]}, ValueError, "y contains 2, which is not one of the declared"),
        ({"estimator": Ridge()}, TypeError, r"Ridge\(\) has no predict_proba; pass a"),
        ({"estimator": GaussianNB}, TypeError, "Expected an estimator instance"),
    ],
    ids=str,
)
def test_what_means_nothing_is_refused(changes, error, message):
    X, y = drawn(np.random.default_rng(0), 60)
    with pytest.raises(error, match=message):
        OrdinalConformal(**{"estimator": GaussianNB()} | changes).fit(X, y)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": np.zeros(60, dtype=int)}, "y contains only one class, 0; fitting needs"),
        ({"y": np.linspace(0, 1, 60)}, "Unknown label type: continuous.*numpy.digitize"),
        ({"y": np.arange(59) % 3}, "inconsistent numbers of samples"),
        ({"sample_weight": -np.ones(60)}, "negative, infinite or missing values; use 0"),
        ({"sample_weight": np.zeros(60)}, "all sample weights are zero"),
        ({"sample_weight": [1.0]}, r"sample_weight has shape \(1,\), but there are 60 rows"),
        ({"X": np.full((60, 1), np.nan)}, "X contains NaN"),
    ],
    ids=str,
)
def test_rows_that_say_nothing_are_refused(given, message):
    X, y = drawn(np.random.default_rng(0), 60)
    with pytest.raises(ValueError, match=message):
        OrdinalConformal(GaussianNB()).fit(**{"X": X, "y": y} | given)


def test_nothing_is_predicted_before_fit_or_from_other_columns():
    X, y = drawn(np.random.default_rng(0), 60)
    model = OrdinalConformal(GaussianNB())
    with pytest.raises(NotFittedError, match="not fitted yet. Call 'fit'"):
        model.predict_set(X)
    with pytest.raises(ValueError, match="features"):
        model.fit(X, y).predict_set(np.column_stack([X, X]))


def test_weights_are_refused_where_the_classifier_takes_none():
    X, y = drawn(np.random.default_rng(0), 60)
    model = OrdinalConformal(make_pipeline(StandardScaler(), KNeighborsClassifier()))
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample weights; leave"):
        model.fit(X, y, sample_weight=np.ones(60))
