"""The form for classes: when it is taken, and how many digits it keeps."""

import numpy as np
import pytest

from ordinality import LabelRankingGP
from ordinality.gp.design import Labels
from ordinality.gp.posterior import one_vs_rest
from ordinality.gp.posterior.choose import prior_of
from ordinality.gp.posterior.contrasts import Contrasts, ContrastsPosterior
from ordinality.gp.posterior.observations import Observations
from ordinality.gp.posterior.one_vs_rest import OneVsRest, OneVsRestPosterior
from ordinality.kernels import Gaussian


def classes(n, L, seed=0):
    """Each input's class against every other label."""
    c = np.random.default_rng(seed).integers(L, size=n)
    at, shift = np.repeat(np.arange(n), L - 1), np.tile(np.arange(1, L), n)
    return Labels(at, c[at], (c[at] + shift) % L, n, L)


def covariances(n, scale=1.0, seed=0):
    return 1.5 * Gaussian(scale)(np.random.default_rng(seed).normal(size=(n, 4)))


@pytest.mark.parametrize(
    ("L", "form"),
    [(2, Observations), (3, Observations), (6, OneVsRest), (10, OneVsRest), (20, OneVsRest)],
)
def test_one_vs_rest_is_taken_from_six_classes_on(L, form):
    assert type(prior_of(classes(40, L), covariances(40))) is form


def test_a_kernel_of_low_rank_is_left_to_contrasts():
    X = np.random.default_rng(0).normal(size=(60, 2))
    assert type(prior_of(classes(60, 10), X @ X.T)) is Contrasts


def test_comparisons_without_a_label_in_common_are_not_one_vs_rest():
    chain = Labels(np.array([0, 0, 1]), np.array([0, 1, 3]), np.array([1, 2, 0]), 2, 4)
    assert OneVsRest.of(Contrasts.of(chain, np.eye(2))) is not None  # 1 is in both of input 0
    chain = Labels(np.array([0, 0, 0]), np.array([0, 1, 2]), np.array([1, 2, 3]), 1, 4)
    assert OneVsRest.of(Contrasts.of(chain, np.eye(1))) is None


def test_sites_that_are_too_sharp_are_left_to_others():
    contrasts = Contrasts.of(classes(10, 8), covariances(10))
    assert OneVsRest.of(contrasts, precision=1e4) is not None
    assert OneVsRest.of(contrasts, precision=1e6) is None
    assert OneVsRest.of(contrasts, precision=np.nan) is None


@pytest.mark.parametrize("noise", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("scale", [0.5, 5.0, 50.0])
def test_digits_are_lost_only_in_proportion_to_the_precision(noise, scale):
    n, L = 30, 7
    d, K, rng = classes(n, L), covariances(n, scale), np.random.default_rng(1)
    tau, nu = rng.uniform(0.01, 1.0, len(d)) / noise**2, rng.normal(size=len(d))
    contrasts = Contrasts.of(d, K)
    ours, theirs = OneVsRest.of(contrasts).given(tau), contrasts.given(tau)
    assert isinstance(ours, OneVsRestPosterior)
    lost = 1e-12 / noise**2
    assert ours.half_log_det == pytest.approx(theirs.half_log_det, abs=10 * lost)
    for one, other in zip(ours.moments(nu), theirs.moments(nu), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=10 * lost)
    ours, theirs = ours.inverted(), theirs.inverted()
    for one, other in zip(ours.marginals(), theirs.marginals(), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=lost)
    one, other = (x.evidence_gradient(nu, nu) for x in (ours, theirs))
    np.testing.assert_allclose(one, other, rtol=0, atol=10 * lost / noise**2)


def test_sites_may_say_nothing_and_inputs_may_be_equal():
    d = classes(12, 5)
    K = covariances(6)[np.ix_(np.arange(12) % 6, np.arange(12) % 6)]
    tau = np.where(np.arange(len(d)) % 3 == 0, 0.0, 0.7)
    tau[d.at == 4] = 0.0
    nu = tau * np.random.default_rng(2).normal(size=len(d))
    contrasts = Contrasts.of(d, K)
    ours, theirs = OneVsRest.of(contrasts).given(tau), contrasts.given(tau)
    np.testing.assert_allclose(ours.moments(nu)[0], theirs.moments(nu)[0], atol=1e-12)
    np.testing.assert_allclose(
        ours.inverted().marginals()[1], theirs.inverted().marginals()[1], atol=1e-12
    )


def test_contrasts_help_where_rounding_is_in_the_way(monkeypatch):
    prior = OneVsRest.of(Contrasts.of(classes(10, 6), covariances(10)))
    monkeypatch.setattr(one_vs_rest._Joint, "of", lambda *_: None)
    assert isinstance(prior.given(np.ones(50)), ContrastsPosterior)


def test_a_fit_is_the_same_in_every_form(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    y = np.argmax(X @ rng.normal(size=(3, 7)), axis=1)
    fits = []
    for sure in (np.inf, 0.0):
        monkeypatch.setattr(one_vs_rest, "_SURE", sure)
        fits.append(LabelRankingGP().fit(X, y))
    ours, theirs = fits
    assert ours.log_evidence_ == pytest.approx(theirs.log_evidence_, abs=1e-5)
    np.testing.assert_allclose(
        ours.predict_pairs_proba(X), theirs.predict_pairs_proba(X), rtol=0, atol=1e-4
    )
