"""Round by round: stages, warm starts, early stopping, and the margins in the end."""

import itertools
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from ordinality import OrdinalBoost, RankBoost
from ordinality.estimators.boost_learners import vc_dimension

LEARNERS = ["perceptron", "sigmoid", "stump", "tree"]
MODELS = {
    "all": OrdinalBoost("all", n_estimators=20),
    "left-right": OrdinalBoost("left-right", n_estimators=20),
    "absolute": RankBoost("absolute", n_estimators=20),
    "zero-one": RankBoost("zero-one", n_estimators=20),
}
OUTSIDERS = [DecisionTreeClassifier(max_depth=2), GaussianNB()]

every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
every_learner = pytest.mark.parametrize(
    "learner", [*LEARNERS, *OUTSIDERS], ids=lambda v: v if isinstance(v, str) else "outsider"
)


def made(model, **changes):
    return clone(model).set_params(**changes)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=150), [-0.3, 0.6, 1.8])
    return X, y


# ------------------------------------------------------------------------------ stages


@every_model
def test_the_last_stage_is_the_model(data, model):
    X, y = data
    found = clone(model).fit(X, y)
    for staged, whole in [
        (found.staged_predict, found.predict),
        (found.staged_predict_latent, found.predict_latent),
        (found.staged_decision_function, found.decision_function),
    ]:
        stages = list(staged(X))
        assert len(stages) == 20
        np.testing.assert_array_equal(stages[-1], whole(X))


@every_model
def test_a_stage_is_the_model_of_so_many_rounds(data, model):
    X, y = data
    stages = list(clone(model).fit(X, y).staged_predict(X))
    short = made(model, n_estimators=7).fit(X, y)
    np.testing.assert_array_equal(stages[6], short.predict(X))


@every_learner
@every_model
def test_a_warm_start_equals_one_long_run(data, model, learner):
    X, y = data
    long = made(model, learner=learner).fit(X, y)
    warm = made(model, learner=learner, warm_start=True, n_estimators=7).fit(X, y)
    early = warm.learners_
    warm.set_params(n_estimators=20).fit(X, y)
    assert all(a is b for a, b in zip(early, warm.learners_, strict=False))
    np.testing.assert_array_equal(warm.weights_, long.weights_)
    np.testing.assert_array_equal(warm.train_loss_, long.train_loss_)
    np.testing.assert_array_equal(warm.predict_proba(X), long.predict_proba(X))


def test_a_warm_start_asked_for_nothing_new_changes_nothing(data):
    X, y = data
    model = made(MODELS["all"], warm_start=True).fit(X, y)
    before = model.predict_proba(X)
    np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), before)


def test_a_warm_start_goes_on_after_a_pickle(data):
    X, y = data
    model = made(MODELS["all"], warm_start=True, n_estimators=7).fit(X, y)
    model = pickle.loads(pickle.dumps(model)).set_params(n_estimators=20).fit(X, y)
    long = clone(MODELS["all"]).fit(X, y)
    np.testing.assert_array_equal(model.predict_latent(X), long.predict_latent(X))


def test_a_warm_start_takes_new_rows_and_keeps_the_scale_of_the_old(data):
    X, y = data
    model = OrdinalBoost(n_estimators=5, warm_start=True).fit(X[:75], y[:75])
    before = model.weights_, model.predict_latent(X)
    model.set_params(n_estimators=10).fit(X[75:] + 1.0, y[75:])
    np.testing.assert_array_equal(model.weights_[:5], before[0])
    np.testing.assert_array_equal(list(model.staged_predict_latent(X))[4], before[1])


# ------------------------------------------------------------------------------ stopping


@every_model
def test_early_stopping_keeps_the_round_with_the_least_held_out_error(data, model):
    X, y = data
    patient = {"n_estimators": 60, "validation_fraction": 0.3, "calibration_folds": None}
    found = made(model, **patient, patience=60).fit(X, y)
    assert found.n_iter_ == len(found.validation_score_) == 60
    assert found.n_estimators_ == np.argmax(found.validation_score_) + 1 == len(found.weights_)
    assert len(found.train_loss_) == found.n_estimators_ + 1
    assert np.all(found.validation_score_ <= 0)
    hasty = made(model, **patient, patience=5).fit(X, y)
    assert hasty.n_iter_ < 60
    np.testing.assert_array_equal(
        hasty.validation_score_, found.validation_score_[: hasty.n_iter_]
    )
    late = hasty.validation_score_[hasty.n_estimators_ :]
    assert np.all(late <= hasty.validation_score_.max())


def test_an_improvement_must_exceed_the_tolerance(data):
    X, y = data
    model = OrdinalBoost(n_estimators=60, validation_fraction=0.3, patience=5, tol=10.0)
    assert model.fit(X, y).n_iter_ == 6  # the first round, and five that are no better


def test_held_out_rows_are_not_learnt_from(data):
    X, y = data
    model = OrdinalBoost(n_estimators=5, learner="stump", validation_fraction=0.2).fit(X, y)
    below = np.cumsum(np.bincount(y))[:-1]
    whole = 2 * np.sqrt(below * (150 - below)).sum() / 150
    assert model.train_loss_[0] != pytest.approx(whole, rel=1e-9)
    assert model.train_loss_[0] == pytest.approx(whole, rel=0.02)  # held out in proportion


def test_fitting_again_forgets_the_early_stopping(data):
    X, y = data
    model = OrdinalBoost(n_estimators=5, validation_fraction=0.2).fit(X, y)
    model.set_params(validation_fraction=None).fit(X, y)
    assert vars(model).keys() == vars(OrdinalBoost(n_estimators=5).fit(X, y)).keys()


# ------------------------------------------------------------------------------ margins


@every_model
def test_margins_are_those_of_the_definition(data, model):
    X, y = data
    found = clone(model).fit(X, y)
    H, theta = found.predict_latent(X), found.thresholds_
    expected = [
        [H[n] - theta[k] if y[n] > k else theta[k] - H[n] for k in range(3)] for n in range(150)
    ]
    np.testing.assert_allclose(found.margins_of(X, y), expected)
    scale = np.abs(found.weights_).sum() + np.abs(theta).sum()
    normalized = found.margins_of(X, y, normalized=True)
    np.testing.assert_allclose(normalized, np.array(expected) / scale)
    assert np.abs(normalized).max() <= 1.0


@every_model
def test_margin_errors_are_in_the_order_of_the_paper(data, model):
    X, y = data
    found = clone(model).fit(X, y)
    kinds = ("classification", "boundary", "absolute")
    for delta in (0.0, 0.01, 0.05, 0.2):
        c, b, a = (found.margin_error(X, y, delta, kind) for kind in kinds)
        assert c / 2 <= b <= c <= a
    assert found.margin_error(X, y) == pytest.approx(np.mean(found.predict(X) != y))
    absolute = found.margin_error(X, y, kind="absolute")
    assert absolute == pytest.approx(np.abs(found.predict(X) - y).mean())
    weight = (y == 0).astype(float)
    assert found.margin_error(X, y, sample_weight=weight) == pytest.approx(
        np.mean(found.predict(X[y == 0]) != 0)
    )


def test_the_terms_of_the_bounds_are_those_of_the_theorems(data):
    X, y = data
    model = OrdinalBoost(n_estimators=20, calibration_folds=None).fit(X, y)
    terms = model.bound_terms(X, y, 0.1, confidence=0.1)
    d_hat = 3 + 1 + 4 - 1
    inside = np.sqrt((d_hat * np.log(150 / d_hat) ** 2 / 0.01 + np.log(10)) / 150)
    assert terms.d_hat == d_hat
    assert terms.n == 150
    assert terms.boundary_complexity == pytest.approx(inside)
    assert terms.absolute_complexity == pytest.approx(4 * inside)
    assert terms.absolute_error == model.margin_error(X, y, 0.1, "absolute")
    assert terms.boundary_error == model.margin_error(X, y, 0.1, "boundary")
    assert terms.classification_error == model.margin_error(X, y, 0.1)
    wider = model.bound_terms(X, y, 0.2)
    assert wider.absolute_error >= terms.absolute_error
    assert wider.boundary_complexity < terms.boundary_complexity
    assert model.bound_terms(X[:5], y[:5], 0.1).boundary_complexity == np.inf
    assert model.bound_terms(X, y, 0.1, vc_dimension=7).d_hat == 10


@pytest.mark.parametrize(("d", "known"), [(1, 2), (2, 3), (3, 4)])
def test_the_vc_dimension_of_stumps_is_that_of_exhaustive_search(d, known):
    def shattered(m):
        """Whether some m points, given by their order along each feature, are shattered."""
        prefixes = [
            [frozenset(order[:i]) for i in range(m + 1)]
            for order in itertools.permutations(range(m))
        ]
        everything = frozenset(range(m))
        for chosen in itertools.combinations(prefixes, d):
            sets = {s for chain in chosen for s in chain}
            if len(sets | {everything - s for s in sets}) == 2**m:
                return True
        return False

    assert vc_dimension("stump", d, 1) == known
    assert shattered(known)
    if d < 3:  # 120 orders of five points are too many triples
        assert not shattered(known + 1)
