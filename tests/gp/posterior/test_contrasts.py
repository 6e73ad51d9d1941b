"""Label preferences in their own form: the same posterior as the stacked latent vector has."""

from dataclasses import replace

import numpy as np
import pytest

from ordinality.gp import ep as ep_module
from ordinality.gp.criteria import ENGINES, LabelObjective
from ordinality.gp.design import Differences, Labels
from ordinality.gp.likelihoods import Symmetric
from ordinality.gp.posterior import contrasts, one_vs_rest
from ordinality.gp.posterior.choose import prior_of
from ordinality.gp.posterior.contrasts import contrast_basis
from ordinality.gp.predict import LabelPredictor
from ordinality.kernels import Gaussian, Linear

TIGHT = {"laplace": 1e-18, "ep": 1e-12, "variational": 1e-12}
N, L = 7, 4
KERNELS = {"gaussian": 1.5 * Gaussian([1.0, 2.0]), "linear": Linear([1.2, 0.5])}
FORMS = {"observations": (np.inf, 0.0), "contrasts": (0.0, 0.0), "one_vs_rest": (0.0, np.inf)}

each_engine = pytest.mark.parametrize("engine", ENGINES)
each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


@pytest.fixture(params=FORMS)
def each_form(request, monkeypatch):
    """All problems of the test in one form, whatever their size."""
    tall, sure = FORMS[request.param]
    monkeypatch.setattr(contrasts, "_TALL", tall)
    monkeypatch.setattr(one_vs_rest, "_SURE", sure)
    return request.param


def draw(engine, kernel=KERNELS["gaussian"], form="", *, m=25, seed=0):
    """Three-level answers about random pairs of labels, inputs in no order.

    For one_vs_rest, all at an input are with one label, which is first or second.
    """
    rng = np.random.default_rng(seed)
    X, at = rng.normal(size=(N, 2)), rng.integers(N, size=m)
    first, second = np.array([rng.choice(L, 2, replace=False) for _ in range(m)]).T
    if form == "one_vs_rest":
        first = rng.integers(L, size=N)[at]
        second = (first + rng.integers(1, L, size=m)) % L
        turned = rng.random(m) < 0.3
        first, second = np.where(turned, second, first), np.where(turned, first, second)
    return LabelObjective(
        X, rng.integers(3, size=m), rng.uniform(0.5, 2.0, m), kernel,
        Symmetric.of([0.4], ties=True, sigma=0.5), engine=engine, tol=TIGHT[engine],
        design=Labels(at, first, second, N, L),
    )  # fmt: skip


def stacked(problem):
    """The same observations of the whole vector of n L latent values, and its covariance."""
    K, d = problem.kernel(problem.X), problem.design
    whole = Differences(np.column_stack([d.first * N + d.at, d.second * N + d.at]), N * L)
    return np.kron(np.eye(L), K), whole


@pytest.mark.parametrize("size", [2, 3, 10])
def test_contrasts_are_orthonormal_and_see_no_mean(size):
    H = contrast_basis(size)
    np.testing.assert_allclose(H.T @ H, np.eye(size - 1), atol=1e-14)
    np.testing.assert_allclose(H.sum(axis=0), 0.0, atol=1e-14)


@each_engine
@each_kernel
def test_contrasts_have_the_evidence_and_moments_of_the_stacked_vector(
    each_form, engine, kernel
):
    p = draw(engine, kernel, each_form)
    ours = ENGINES[engine](
        prior_of(p.design, kernel(p.X), p.likelihood.max_precision), p.likelihood, p.y,
        weights=p.weights, tol=p.tol,
    )  # fmt: skip
    K, whole = stacked(p)
    theirs = ENGINES[engine](
        prior_of(whole, K, p.likelihood.max_precision), p.likelihood, p.y,
        weights=p.weights, tol=p.tol,
    )  # fmt: skip
    assert ours.log_evidence == pytest.approx(theirs.log_evidence, abs=1e-10)
    for name in ("tau", "mean", "var", "alpha", "cavity_var", "d_likelihood"):
        np.testing.assert_allclose(
            getattr(ours, name), getattr(theirs, name), rtol=0, atol=1e-9, err_msg=name
        )
    blocks = theirs.d_kernel.reshape(L, N, L, N)
    np.testing.assert_allclose(
        ours.d_kernel, sum(blocks[a, :, a] for a in range(L)), rtol=0, atol=1e-9
    )


@each_engine
@each_kernel
def test_gradients_of_label_preferences_are_exact(
    assert_gradient_is_exact, each_form, engine, kernel
):
    assert_gradient_is_exact(draw(engine, kernel, each_form))


@each_kernel
def test_predictions_are_those_of_the_stacked_vector(each_form, kernel):
    p = draw("ep", kernel, each_form)
    a = p.evaluate(p.theta).approximation
    K, whole = stacked(p)
    A = whole.see(np.eye(N * L))
    G = A.T @ np.linalg.inv(A @ K @ A.T + np.diag(1.0 / a.tau)) @ A
    Z = np.random.default_rng(1).normal(size=(3, 2))
    cross, prior = kernel(Z, p.X), kernel.diag(Z)
    predictor = LabelPredictor.of(p.design, kernel(p.X), a)
    mean, variance = predictor.differences(cross, prior)
    for i, k in enumerate(cross):
        big = np.kron(np.eye(L), k)
        f = big @ A.T @ a.alpha
        cov = prior[i] * np.eye(L) - big @ G @ big.T
        own = np.diag(cov)
        np.testing.assert_allclose(mean[i], f[:, None] - f, rtol=0, atol=1e-10)
        np.testing.assert_allclose(variance[i], own[:, None] + own - 2 * cov, rtol=0, atol=1e-9)
    known = predictor.explained_jointly(cross).transpose(1, 0, 3, 2)  # label by label
    every = np.kron(np.eye(L), cross)
    np.testing.assert_allclose(
        known.reshape(3 * L, 3 * L), every @ G @ every.T, rtol=0, atol=1e-9
    )


def test_sweeps_end_where_all_at_once_ends(monkeypatch, each_form):
    p = replace(draw("ep", form=each_form), tol=1e-10)
    together = p.evaluate(p.theta)
    monkeypatch.setattr(ep_module, "_PARALLEL", 1)
    apart = p.evaluate(p.theta)
    assert apart.approximation.converged
    assert apart.value == pytest.approx(together.value, abs=1e-10)


def test_a_subset_holds_all_that_was_said_about_some_inputs():
    p = draw("ep", m=60)
    some = p.subset(np.arange(30))
    assert len(some.X) == 4  # half of the seven inputs, and one
    for x in some.X:
        at = np.flatnonzero(np.all(x == p.X, axis=1))[0]
        kept = np.flatnonzero(np.all(x == some.X, axis=1))[0]
        assert np.sum(some.design.at == kept) == np.sum(p.design.at == at)
    assert len(p.subset(np.arange(60)).y) == 60


def test_a_linear_kernel_leaves_a_matrix_as_small_as_its_rank():
    p = draw("laplace", KERNELS["linear"], m=60)
    prior = contrasts.Contrasts.of(p.design, p.kernel(p.X))
    assert prior.side == 2 * (L - 1)
    assert prior.is_cheaper


def test_a_kernel_matrix_that_is_not_finite_is_named():
    p = draw("laplace")
    K = p.kernel(p.X)
    K[0, 0] = np.nan
    with pytest.raises(FloatingPointError, match="not finite"):
        contrasts.Contrasts.of(p.design, K)
