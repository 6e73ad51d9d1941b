"""Early stopping by rows left out, and what "auto" stands for."""

import numpy as np
import pytest
from sklearn.base import clone

from ordinality import OrdinalBoost, RankBoost
from ordinality.estimators.boost_learners import tree_depth
from ordinality.estimators.fitting import DistinctRows
from ordinality.estimators.ordinal_boost import _normal_scores, _uncertainty

both = pytest.mark.parametrize("kind", [OrdinalBoost, RankBoost])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    return X, np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=150), [-0.5, 0.5, 1.5])


def trees(kind=OrdinalBoost, **changes):
    return kind(learner="tree", **{"calibration_folds": 3, "patience": 15, **changes})


@both
def test_trees_keep_the_round_at_which_left_out_rows_were_judged_best(data, kind):
    found = trees(kind).fit(*data)
    assert found.n_estimators_ == np.argmax(found.validation_score_) + 1
    assert found.n_iter_ == len(found.validation_score_) < 1000
    assert len(list(found.staged_predict(data[0]))) == found.n_estimators_


@both
@pytest.mark.parametrize("folds", [3, None])
def test_a_stopped_fit_is_the_fit_of_as_many_rounds(data, kind, folds):
    stopped = trees(kind, calibration_folds=folds).fit(*data)
    rounds = stopped.n_estimators_
    stated = {"max_depth": 3, "learning_rate": 0.3, "early_stopping": False}
    fixed = trees(kind, calibration_folds=folds, n_estimators=rounds, **stated).fit(*data)
    np.testing.assert_array_equal(
        stopped.predict_latent(data[0]), fixed.predict_latent(data[0])
    )
    if folds:
        np.testing.assert_array_equal(
            stopped.predict_proba(data[0]), fixed.predict_proba(data[0])
        )


def test_the_calibration_folds_choose_the_rounds_without_a_further_fit(data, monkeypatch):
    fits, plain = [], OrdinalBoost._boost

    def counted(self, rows, *args, **kwargs):
        fits.append(len(rows))
        return plain(self, rows, *args, **kwargs)

    monkeypatch.setattr(OrdinalBoost, "_boost", counted)
    trees().fit(*data)
    assert fits == [100, 100, 100, 150]


def test_labels_of_pure_noise_are_given_few_trees(data):
    X, y = data
    noise = np.random.default_rng(1).permutation(y)
    assert trees().fit(X, noise).n_estimators_ < trees().fit(X, y).n_estimators_


def test_other_learners_run_all_rounds_unless_asked_to_stop(data):
    stump = OrdinalBoost(learner="stump", n_estimators=60, calibration_folds=3, patience=10)
    plain = clone(stump).fit(*data)
    assert plain.n_estimators_ == 60
    assert not hasattr(plain, "validation_score_")
    asked = clone(stump).set_params(early_stopping=True).fit(*data)
    assert asked.n_estimators_ == np.argmax(asked.validation_score_) + 1 < 60
    np.testing.assert_array_equal(asked.weights_, plain.weights_[: asked.n_estimators_])


def test_too_few_rows_to_leave_any_out_run_a_hundred_rounds():
    model = trees(calibration_folds=None).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    assert model.n_estimators_ == 100
    assert not hasattr(model, "validation_score_")


def test_trees_deepen_with_the_rows(data):
    steps = [1, 999, 1000, 2999, 3000, 9999, 10_000, 10**7]
    assert [tree_depth(n) for n in steps] == [3, 3, 4, 4, 5, 5, 6, 6]
    found = trees(n_estimators=2, calibration_folds=None).fit(*data)
    assert {tree.leaf.size for tree in found.learners_} == {2**3}


def test_the_learning_rate_is_the_share_of_the_step_taken(data):
    given = {"n_estimators": 1, "early_stopping": False, "calibration_folds": None}
    whole = trees(learning_rate=1.0, **given).fit(*data)
    part = trees(learning_rate=0.25, **given).fit(*data)
    assert part.weights_ == 0.25 * whole.weights_


def test_left_out_rows_are_judged_by_the_correlation_with_their_normal_scores(data):
    X, y = data
    rows = DistinctRows.of(X, y, np.ones(len(y)))
    latent = _normal_scores(rows, 4)
    rho = np.corrcoef(rows.X[:, 0], latent[rows.y])[0, 1]
    n = len(rows)
    wanted = 0.5 * np.log(1 - rho**2 * n / (n + 1))
    assert _uncertainty(rows.X[:, 0], None, rows, latent) == pytest.approx(wanted, rel=1e-12)
    assert _uncertainty(np.zeros(n), None, rows, latent) == 0.0
    assert _uncertainty(-latent[rows.y], None, rows, latent) == 0.0  # worse than nothing
    # 1 - rho^2 is one part in n + 1: all that the pseudo-row leaves open.
    perfect = _uncertainty(latent[rows.y], None, rows, latent)
    assert perfect == pytest.approx(-0.5 * np.log(n + 1), rel=1e-9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"early_stopping": "yes"}, "early_stopping='yes' is not known"),
        ({"early_stopping": False, "validation_fraction": 0.2}, "leave one of them out"),
        ({"early_stopping": True, "warm_start": True}, "cannot continue a fit with early"),
        ({"learning_rate": 0}, "learning_rate=0 must be a number above zero"),
        ({"learning_rate": "fast"}, "learning_rate='fast' must be a number above zero"),
        ({"n_estimators": "many"}, "n_estimators='many' must be a whole number"),
    ],
)
def test_settings_that_cannot_be_are_refused(data, changes, message):
    with pytest.raises(ValueError, match=message):
        trees(**changes).fit(*data)
