"""Noise that depends on the features of a row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ordinality import OrdinalGP, persist
from ordinality.gp.criteria import ENGINES

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 2))
# The second feature is what the noise depends on: a factor of e for each unit of it.
y = np.digitize(X[:, 0] + 0.3 * np.exp(X[:, 1]) * rng.normal(size=120), [-0.7, 0.0, 0.7])


@pytest.fixture(scope="module")
def model():
    return OrdinalGP(scale="log-linear", link="probit").fit(X, y)


def test_the_noise_grows_with_the_feature_it_depends_on(model):
    assert model.scale_coef_.shape == (2,)
    assert model.scale_coef_[1] > 0.1 > abs(model.scale_coef_[0])
    assert model.log_evidence_ > OrdinalGP(link="probit").fit(X, y).log_evidence_


@pytest.mark.parametrize("points", [None, 20])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("link", ["probit", "logit"])
def test_without_slopes_it_is_the_plain_model(link, engine, points):
    fixed = {"optimizer": None, "link": link, "inference": engine, "inducing": points}
    plain = OrdinalGP(**fixed).fit(X[:50], y[:50])
    scaled = OrdinalGP(scale="log-linear", **fixed).fit(X[:50], y[:50])
    assert_array_equal(scaled.scale_coef_, 0.0)
    assert scaled.log_evidence_ == plain.log_evidence_
    assert_array_equal(scaled.predict_level_proba(X), plain.predict_level_proba(X))
    assert_array_equal(scaled.loo_proba_, plain.loo_proba_)
    assert plain.scale_coef_ is None


@pytest.mark.parametrize("points", [None, 20])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_gradient_agrees_with_central_differences(engine, points):
    tol = 1e-16 if engine == "laplace" else 1e-10
    fitted = OrdinalGP(
        scale="log-linear", optimizer=None, inference=engine, inducing=points, tol=tol
    ).fit(X[:40], y[:40])
    theta = fitted.fit_.best.theta.copy()
    theta[-2:] = 0.3, -0.2
    _, gradient = fitted.log_evidence(theta, eval_gradient=True)
    h = 1e-5
    for i in range(len(theta)):
        step = h * np.eye(len(theta))[i]
        there, back = (fitted.log_evidence(theta + e) for e in (step, -step))
        assert gradient[i] == pytest.approx((there - back) / (2 * h), rel=1e-6, abs=1e-7)


def test_predictions_use_the_noise_of_their_row(model):
    mean, var = model.predict_latent(X[:5])
    Z = (X[:5] - X.mean(axis=0)) / X.std(axis=0)
    noise = model.noise_ * np.exp(Z @ model.scale_coef_)
    for i in range(5):
        plain = type(model.fit_.likelihood.base)(model.thresholds_, noise[i])
        expected = plain.proba(mean[i : i + 1], var[i : i + 1])
        assert_allclose(model.predict_level_proba(X[i : i + 1]), expected, rtol=1e-9)
    draws = model.sample_level_proba(X[:5], 4000)
    assert_allclose(draws.mean(axis=0), model.predict_level_proba(X[:5]), atol=0.02)


@pytest.mark.parametrize("points", [None, 20])
def test_a_model_file_keeps_the_slopes(tmp_path, points):
    fitted = OrdinalGP(scale="log-linear", inducing=points).fit(X[:60], y[:60])
    persist.save(fitted, tmp_path / "model.skops")
    again = persist.load(tmp_path / "model.skops")
    assert_array_equal(again.scale_coef_, fitted.scale_coef_)
    assert_array_equal(again.predict_level_proba(X), fitted.predict_level_proba(X))


def test_blocks_and_matrices_are_refused():
    with pytest.raises(AttributeError) as refused:
        OrdinalGP(scale="log-linear").partial_fit(X, y)
    assert "one noise for all rows" in str(refused.value.__cause__)
    with pytest.raises(ValueError, match="rows of complete features"):
        OrdinalGP("precomputed", scale="log-linear").fit(X @ X.T, y)
