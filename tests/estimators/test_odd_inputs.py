"""What is odd but lawful works; what did not converge is diagnosed and still predicts."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from ordinality import OrdinalBoost, OrdinalGP, OrdinalSVM, RankBoost

N = 90
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
RANK = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=N), [-0.6, 0.6])

both = pytest.mark.parametrize("kind", [OrdinalBoost, RankBoost])
each_learner = pytest.mark.parametrize("learner", ["perceptron", "sigmoid", "stump", "tree"])
constant = pytest.mark.parametrize(
    "Z", [np.zeros((N, 2)), np.full((N, 2), 1e6 + 0.1)], ids=["0", "1e6"]
)


def boosted(X, y=RANK, sample_weight=None, kind=OrdinalBoost, **changes):
    found = kind(**{"n_estimators": 10, "learner": "sigmoid", **changes})
    return found.fit(X, y, sample_weight=sample_weight)


# ------------------------------------------------------------------------------ warnings


def test_an_engine_cut_short_says_how_far_it_is_and_what_to_raise():
    with pytest.warns(
        ConvergenceWarning,
        match=r"ep did not converge in 1 iter.*tol=1e-06.*Raise max_iter or tol",
    ) as caught:
        model = OrdinalGP(max_iter=1).fit(X, RANK)
    assert caught[0].filename == __file__
    assert not model.converged_
    assert np.all(np.isfinite(model.predict_proba(X)))


def test_a_search_cut_short_keeps_the_best_and_says_what_to_raise():
    with pytest.warns(ConvergenceWarning, match="still increasing.*Raise max_evaluations"):
        model = OrdinalGP(max_evaluations=1).fit(X, RANK)
    assert not model.converged_
    assert np.all(np.isfinite(model.predict_proba(X)))


def test_a_solver_cut_short_says_so_and_what_to_do():
    with pytest.warns(ConvergenceWarning, match="in 3 steps: .* Raise max_iter, lower C"):
        found = OrdinalSVM(C=10.0, max_iter=3, calibration_folds=None).fit(X, RANK)
    assert not found.converged_
    assert found.n_iter_ == 3


def test_bands_without_width_are_diagnosed():
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(60, 2)), rng.integers(0, 3, size=60)
    model = OrdinalSVM(10.0, "linear", constraints="sum-of-margins", calibration_folds=None)
    with pytest.warns(UserWarning, match="bands between levels have no width.*Use a smaller C"):
        model.fit(Z, y)
    assert np.all(np.isfinite(model.predict_latent(Z)))


# ------------------------------------------------------------------------------ odd but lawful


def test_two_rows_are_enough_for_a_gaussian_process():
    model = OrdinalGP(levels=["no", "yes"]).fit([[0.0], [1.0]], ["no", "yes"])
    assert model.predict([[-5.0], [0.0], [1.0]]).shape == (3,)
    assert model.loo_proba_.shape == (2, 2)


@both
@each_learner
def test_two_rows_are_enough_for_an_ensemble(kind, learner):
    rows, labels = [[0.0], [1.0]], ["no", "yes"]
    found = boosted(rows, labels, kind=kind, learner=learner, levels=labels)
    assert found.predict(rows).tolist() == labels
    # No row can be left out, and two rows of two levels are even odds.
    np.testing.assert_allclose(found.predict_proba(rows), 0.5, atol=1e-3)


@constant
def test_constant_features_leave_the_frequencies_to_a_gaussian_process(Z):
    model = OrdinalGP(hyperprior=None).fit(Z, RANK)
    np.testing.assert_allclose(model.predict_proba(Z[:1])[0], np.bincount(RANK) / N, atol=0.02)


@both
@each_learner
@constant
def test_constant_features_leave_the_frequencies_to_an_ensemble(kind, learner, Z):
    found = boosted(Z, kind=kind, learner=learner)
    share = (np.bincount(RANK) + 1 / 3) / (N + 1)
    own = found.link_.proba(found.predict_latent(Z[:1]))[0]
    np.testing.assert_allclose(own, share, atol=0.01)
    assert len(set(found.predict(Z))) == 1


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_units_do_not_matter_to_a_gaussian_process(scale):
    plain, odd = (OrdinalGP(inference="laplace").fit(Z, RANK) for Z in (X, X * scale))
    np.testing.assert_allclose(odd.predict_proba(X * scale), plain.predict_proba(X), atol=1e-6)


@both
@pytest.mark.parametrize("scale", [2.0**-300, 2.0**300])
def test_units_do_not_matter_to_an_ensemble(kind, scale):
    plain, odd = boosted(X, kind=kind), boosted(X * scale, kind=kind)  # powers of two: exact
    np.testing.assert_array_equal(odd.predict_proba(X * scale), plain.predict_proba(X))


def test_a_large_offset_does_not_matter():
    plain, far = (OrdinalGP(inference="laplace").fit(Z, RANK) for Z in (X, X + 1e8))
    np.testing.assert_allclose(far.predict_proba(X + 1e8), plain.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("kind", [OrdinalGP, OrdinalBoost])
def test_inputs_are_left_as_they_were(kind):
    Z, y, weight, levels = X.copy(), RANK.copy(), np.ones(N), np.arange(3)
    thresholds = np.array([-1.0, 1.0])
    for array in (Z, y, weight, levels, thresholds):
        array.flags.writeable = False
    given = {"thresholds": thresholds} if kind is OrdinalGP else {"n_estimators": 5}
    kind(levels=levels, **given).fit(Z, y, weight).predict_proba(Z)
    np.testing.assert_array_equal(Z, X)
    np.testing.assert_array_equal(y, RANK)
