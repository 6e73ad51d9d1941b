"""Streams: rows that come in blocks, against a fit to all of them."""

import numpy as np
import pytest

from ordinality import LeastSquaresOrdinalGP, OrdinalGP, persist
from ordinality.datasets import smooth_ordinal
from ordinality.estimators import ordinal_gp
from ordinality.kernels import Gaussian

M = 40


@pytest.fixture(scope="module")
def problem():
    return smooth_ordinal(3000, 4, d=2, noise=0.3, n_test=500)


@pytest.fixture(scope="module", autouse=True)
def few_rows_are_kept():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordinal_gp, "SEARCHED", 400)
        yield


def process(inducing=M):
    """One length scale and normal noise, which are learnt faster than the default model is."""
    return OrdinalGP("gaussian", inducing=inducing, link="probit")


def blocks(problem, size=200, last=3000):
    for first in range(0, last, size):
        yield problem.X[first : first + size], problem.y[first : first + size]


def log_score(model, problem):
    proba = model.predict_level_proba(problem.X_test)
    return -np.mean(np.log(proba[np.arange(len(proba)), problem.y_test - 1]))


@pytest.fixture(scope="module")
def streamed(problem):
    model = process()
    for X, y in blocks(problem):
        model.partial_fit(X, y)
    return model


def test_a_stream_predicts_what_a_fit_to_all_rows_predicts(problem, streamed):
    batch = process().fit(problem.X, problem.y)
    assert log_score(streamed, problem) < log_score(batch, problem) + 0.01
    assert not hasattr(streamed, "loo_proba_")
    assert len(streamed.inducing_points_) <= M
    assert streamed.log_evidence_ == pytest.approx(batch.log_evidence_, rel=0.05)


def test_rows_that_are_kept_are_learnt_from_together(problem):
    X, y = problem.X[:400], problem.y[:400]
    parts = process().partial_fit(X[:150], y[:150]).partial_fit(X[150:], y[150:])
    whole = process().partial_fit(X, y)
    np.testing.assert_allclose(
        parts.predict_proba(problem.X_test), whole.predict_proba(problem.X_test), atol=1e-9
    )


def test_a_fitted_model_goes_on(problem):
    for inducing, n in (("auto", 300), (M, 1000)):
        model = process(inducing).fit(problem.X[:n], problem.y[:n])
        before = log_score(model, problem)
        for first in range(n, 3000, 300):
            model.partial_fit(problem.X[first : first + 300], problem.y[first : first + 300])
        assert log_score(model, problem) < before
        again = model.fit(problem.X[:n], problem.y[:n])
        assert log_score(again, problem) == pytest.approx(before, abs=1e-12)


def test_the_points_follow_rows_that_move(problem):
    # Rows come sorted by their first feature: every block is new to the points before it.
    order = np.argsort(problem.X[:, 0])
    model = OrdinalGP(Gaussian(1.5), inducing=M, standardize=False, link="probit", noise=0.3)
    for part in np.array_split(order, 15):
        model.partial_fit(problem.X[part], problem.y[part], classes=[1, 2, 3, 4])
    batch = OrdinalGP(Gaussian(1.5), inducing=M, standardize=False, link="probit")
    batch.fit(problem.X, problem.y)
    assert np.ptp(model.inducing_points_[:, 0]) > 0.8 * np.ptp(problem.X[:, 0])
    assert log_score(model, problem) < log_score(batch, problem) + 0.1


def test_points_of_the_user_stay(problem):
    Z = problem.X[:M]
    model = OrdinalGP(Gaussian(1.0), inducing=Z, standardize=False, link="probit")
    for X, y in blocks(problem, last=1000):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.inducing_points_, Z)


@pytest.mark.parametrize("last", [200, 1000])
def test_a_stream_goes_on_after_it_was_saved(problem, last, tmp_path):
    model = process()
    for X, y in blocks(problem, last=last):
        model.partial_fit(X, y)
    persist.save(model, tmp_path / "model.skops")
    again = persist.load(tmp_path / "model.skops")
    X, y = problem.X[1000:1200], problem.y[1000:1200]
    for m in (model, again):
        m.partial_fit(X, y)
    np.testing.assert_allclose(
        again.predict_proba(problem.X_test), model.predict_proba(problem.X_test), atol=1e-12
    )


def test_a_failed_block_changes_nothing(problem, streamed):
    before = streamed.predict_proba(problem.X_test)
    with pytest.raises(ValueError, match="9"):
        streamed.partial_fit(problem.X[:3], [1, 2, 9])
    with pytest.raises(ValueError, match="features"):
        streamed.partial_fit(problem.X[:3, :1], [1, 2, 3])
    with pytest.raises(ValueError, match="NaN"):
        streamed.partial_fit(np.full((3, 2), np.nan), [1, 2, 3])
    np.testing.assert_array_equal(streamed.predict_proba(problem.X_test), before)


def test_what_a_stream_cannot_do_is_refused(problem):
    X, y = problem.X[:50], problem.y[:50]
    for exact in (OrdinalGP(inducing=None), OrdinalGP(criterion="loo")):
        with pytest.raises(AttributeError, match="has no attribute 'partial_fit'") as found:
            exact.partial_fit(X, y)
        assert "partial_fit needs inducing points" in str(found.value.__cause__)
    with pytest.raises(ValueError, match="needs all rows at once"):
        OrdinalGP(class_weight="balanced").partial_fit(X, y)


def test_labels_may_be_announced(problem):
    X, y = problem.X[:60], problem.y[:60]
    low = y < 4
    model = OrdinalGP().partial_fit(X[low], y[low], classes=[1, 2, 3, 4])
    assert model.levels_.tolist() == [1, 2, 3, 4]
    assert model.partial_fit(X[~low], y[~low]).predict_proba(X).shape == (60, 4)


def test_an_iterator_of_blocks_is_a_stream(problem, streamed):
    model = process().fit(problem.X[:50], problem.y[:50])
    model.fit(blocks(problem))
    np.testing.assert_array_equal(
        model.predict_proba(problem.X_test), streamed.predict_proba(problem.X_test)
    )
    weighed = process().fit((X, y, np.ones(len(y))) for X, y in blocks(problem))
    np.testing.assert_array_equal(
        weighed.predict_proba(problem.X_test), streamed.predict_proba(problem.X_test)
    )


def test_blocks_that_do_not_fit_together_are_refused_and_nothing_is_lost(problem):
    model = process().fit(problem.X[:50], problem.y[:50])
    before = model.predict_proba(problem.X_test)
    X, y = problem.X[:60], problem.y[:60]
    for given, message in (
        ([(X, y), (X[:, :1], y)], "block 2: .*features"),
        ([(X, y), (X, y + 10)], "block 2: "),
        ([(X, y), X], "block 2 is ndarray; wanted"),
        ([], "without any block"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(iter(given))
    with pytest.raises(ValueError, match="y and sample_weight must be None"):
        model.fit(iter([(X, y)]), y)
    np.testing.assert_array_equal(model.predict_proba(problem.X_test), before)
    with pytest.raises(TypeError, match="takes no iterator of blocks"):
        LeastSquaresOrdinalGP().fit(iter([(X, y)]))
