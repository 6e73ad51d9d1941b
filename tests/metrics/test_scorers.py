"""Scorers find the order of the labels wherever it is kept."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ordinality import metrics

LEVELS = ["low", "mid", "high"]
NAMES = [
    *["mae", "zero_one", "macro_mae", "max_mae", "off_by_one", "kendall_tau", "spearman"],
    *["linear_kappa", "quadratic_kappa", "rps", "log_score", "c_index"],
]


class Ordinal(ClassifierMixin, BaseEstimator):
    """Level by rounding the only feature; probabilities spread by `spread`."""

    def __init__(self, levels=LEVELS, spread=0.1):
        self.levels = levels
        self.spread = spread

    def fit(self, X, y):
        self.levels_ = np.asarray(self.levels)
        self.classes_ = np.sort(self.levels_)
        return self

    def predict(self, X):
        return self.levels_[np.argmax(self._by_level(X), axis=1)]

    def predict_proba(self, X):
        return self._by_level(X)[:, np.argsort(self.levels_)]

    def _by_level(self, X):
        rank = np.clip(np.rint(np.ravel(X)), 0, self.levels_.size - 1).astype(int)
        shares = np.full((rank.size, self.levels_.size), self.spread / 3)
        shares[np.arange(rank.size), rank] += 1 - self.spread
        return shares


class OrdinalWithAll(Ordinal):
    def predict_level_proba(self, X):
        return self._by_level(X)

    def decision_function(self, X):
        return np.ravel(X)


class OnlyLabels(BaseEstimator):
    """Knows labels and nothing else."""

    def fit(self, X, y):
        self.levels_ = np.array(LEVELS)
        return self

    predict = Ordinal.predict
    _by_level = Ordinal._by_level
    spread = 0.0


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    X = rng.uniform(-0.4, 2.4, (90, 1))
    rank = np.clip(np.rint(X[:, 0] + rng.normal(scale=0.5, size=90)), 0, 2).astype(int)
    return X, np.array(LEVELS)[rank], rank


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("model", [Ordinal, OrdinalWithAll])
def test_a_scorer_takes_the_order_from_the_estimator(name, model, data):
    X, y, rank = data
    fitted = model().fit(X, y)
    proba = fitted._by_level(X)
    # The c-index ranks by decision function where there is one, else by expected level.
    score = np.ravel(X) if model is OrdinalWithAll else proba @ [0, 1, 2]
    pred = proba.argmax(1)
    expected = {
        "mae": -metrics.mean_absolute_error(rank, pred),
        "zero_one": -metrics.zero_one_error(rank, pred),
        "macro_mae": -metrics.macro_mae(rank, pred),
        "max_mae": -metrics.max_mae(rank, pred),
        "off_by_one": metrics.off_by_one_accuracy(rank, pred),
        "kendall_tau": metrics.kendall_tau(rank, pred),
        "spearman": metrics.spearman(rank, pred),
        "linear_kappa": metrics.linear_kappa(rank, pred),
        "quadratic_kappa": metrics.quadratic_kappa(rank, pred),
        "rps": -metrics.ranked_probability_score(rank, proba),
        "log_score": -metrics.log_score(rank, proba),
        "c_index": metrics.ordinal_c_index(rank, score),
    }[name]
    assert metrics.scorer(name)(fitted, X, y) == pytest.approx(expected)


@pytest.mark.parametrize("name", NAMES)
def test_scorers_see_through_pipelines_and_searches(name, data):
    X, y, _ = data
    plain = metrics.scorer(name)(Ordinal().fit(X, y), X, y)
    pipeline = make_pipeline("passthrough", Ordinal())
    assert metrics.scorer(name)(pipeline.fit(X, y), X, y) == pytest.approx(plain)
    search = GridSearchCV(pipeline, {"ordinal__spread": [0.1]}, cv=2).fit(X, y)
    assert metrics.scorer(name)(search, X, y) == pytest.approx(plain)


def test_a_search_finds_the_spread_that_scores_best(data):
    X, y, _ = data
    grid = {"spread": [0.01, 0.4, 0.99]}
    search = GridSearchCV(Ordinal(), grid, scoring=metrics.scorer("log_score"), cv=3).fit(X, y)
    assert search.best_params_ == {"spread": 0.4}
    assert search.score(X, y) == metrics.scorer("log_score")(search, X, y)


def test_a_level_missing_from_a_test_fold_keeps_its_place(data):
    X, y, _ = data
    model = Ordinal().fit(X, y)
    assert metrics.scorer("mae")(model, [[0.0], [0.0]], ["high", "high"]) == -2
    numbers = LogisticRegression().fit(np.arange(5.0)[:, None], [1, 2, 3, 4, 5])
    assert numbers.predict([[-9.0]]) == [1]
    assert metrics.scorer("mae")(numbers, [[-9.0]], [5]) == -4


@pytest.mark.parametrize("name", NAMES)
def test_cross_validation_of_scikit_learn_models_with_a_stated_order(name, data):
    X, y, rank = data
    model = make_pipeline(StandardScaler(), LogisticRegression())
    words = cross_val_score(model, X, y, cv=3, scoring=metrics.scorer(name, levels=LEVELS))
    numbers = cross_val_score(model, X, rank, cv=3, scoring=metrics.scorer(name))
    np.testing.assert_allclose(words, numbers, rtol=1e-4)  # two fits by an iterative solver


def test_the_order_that_labels_carry_serves_models_that_know_none(data):
    pd = pytest.importorskip("pandas")
    X, y, _ = data
    carried = pd.Series(pd.Categorical(y, categories=LEVELS, ordered=True))
    model = LogisticRegression().fit(X, y)
    stated = metrics.scorer("rps", levels=LEVELS)(model, X, y)
    assert metrics.scorer("rps")(model, X, carried) == stated
    with pytest.raises(ValueError, match="text without an order"):
        metrics.scorer("rps")(model, X, y)
    assert metrics.scorer("zero_one")(model, X, y) == -np.mean(model.predict(X) != y)


def test_scorers_take_weights(data):
    X, y, _ = data
    model, weight = Ordinal().fit(X, y), np.arange(90.0)
    expected = metrics.mean_absolute_error(
        y, model.predict(X), levels=LEVELS, sample_weight=weight
    )
    assert metrics.scorer("mae")(model, X, y, sample_weight=weight) == -expected


def test_a_level_the_model_never_saw_has_probability_zero(data):
    X, y, _ = data
    kept = y != "mid"
    model = LogisticRegression().fit(X[kept], y[kept])
    assert metrics.scorer("log_score", levels=LEVELS)(model, X, y) == -np.inf


def test_a_model_of_labels_alone_is_ranked_by_them_and_has_no_probabilities(data):
    X, y, rank = data
    model = OnlyLabels().fit(X, y)
    expected = metrics.ordinal_c_index(rank, np.clip(np.rint(X[:, 0]), 0, 2))
    assert metrics.scorer("c_index")(model, X, y) == expected
    with pytest.raises(TypeError, match=r"OnlyLabels has no predict_proba.*such as 'mae'"):
        metrics.scorer("rps")(model, X, y)


@pytest.mark.parametrize("levels", [None, LEVELS, (1, 2)], ids=str)
@pytest.mark.parametrize("copier", [lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy])
def test_a_scorer_survives_copying(levels, copier):
    scorer = metrics.scorer("mae", levels=levels)
    assert copier(scorer) == scorer
    search = clone(GridSearchCV(Ordinal(), {}, scoring=scorer))
    assert search.scoring == scorer


def test_a_scorer_shows_how_it_was_made():
    assert repr(metrics.scorer("mae")) == "scorer('mae')"
    assert (
        repr(metrics.scorer("rps", levels=np.array([1, 2]))) == "scorer('rps', levels=[1, 2])"
    )


def test_an_unknown_score_is_answered_with_the_names_there_are():
    with pytest.raises(ValueError, match="no score named 'mea'; choose one of mae, ") as error:
        metrics.scorer("mea")
    assert all(name in str(error.value) for name in NAMES)


def test_a_faulty_order_is_refused_when_the_scorer_is_made():
    with pytest.raises(ValueError, match="lists 'low' more than once"):
        metrics.scorer("mae", levels=["low", "low"])
