"""Label preferences with inducing points against the exact forms and differences."""

from dataclasses import replace

import numpy as np
import pytest

from ordinality.gp import ep as ep_module
from ordinality.gp.criteria import ENGINES, InducingLabelObjective, LabelObjective
from ordinality.gp.design import Direct, Labels
from ordinality.gp.likelihoods import Symmetric
from ordinality.gp.posterior import inducing
from ordinality.gp.posterior.choose import prior_of
from ordinality.gp.posterior.inducing import InducingPredictor, greedy_points
from ordinality.gp.predict import InducingLabelPredictor, LabelPredictor
from ordinality.kernels import Gaussian, Linear, Matern

TIGHT = {"laplace": 1e-20, "ep": 1e-13, "variational": 1e-12}
KERNELS = [1.5 * Gaussian([1.0, 2.0]), Linear() + 0.4 * Matern(1.2)]
N, L = 12, 4

each_engine = pytest.mark.parametrize("engine", ENGINES)
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def of_pairs(rng):
    """Pairs at random, some inputs without any and some pairs twice."""
    at = rng.integers(N, size=40)
    first = rng.integers(L, size=40)
    return at, first, (first + rng.integers(1, L, size=40)) % L


def of_rankings(rng):
    """All pairs of a ranking for each input."""
    better, worse = np.triu_indices(L, 1)
    order = rng.permuted(np.tile(np.arange(L), (N, 1)), axis=1)
    at = np.repeat(np.arange(N), len(better))
    return at, order[:, better].ravel(), order[:, worse].ravel()


def of_classes(rng):
    """A class for each input, before all others."""
    own = rng.integers(L, size=N)
    at, worse = np.nonzero(own[:, None] != np.arange(L))
    return at, own[at], worse


GRAPHS = [of_pairs, of_rankings, of_classes]
each_graph = pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.__name__)


def draw(engine, graph=of_pairs, kernel=KERNELS[0], points=None, link="probit", seed=0):
    """Answers about labels, and random points; points at the inputs if there is no number."""
    rng = np.random.default_rng(seed)
    X, (at, first, second) = rng.normal(size=(N, 2)), graph(rng)
    m = len(at)
    Z = X if points is None else rng.normal(size=(points, 2))
    return InducingLabelObjective(
        X, rng.integers(3, size=m), rng.choice([0.5, 1.0, 2.0], m), kernel,
        Symmetric.of([0.4], ties=True, sigma=0.5, link=link), engine=engine,
        tol=TIGHT[engine], design=Labels(at, first, second, N, L), Z=Z, count=len(Z),
    )  # fmt: skip


def exactly(problem):
    """The same problem without points."""
    return LabelObjective(
        problem.X, problem.y, problem.weights, problem.kernel, problem.likelihood,
        problem.engine, tol=problem.tol, design=problem.design,
    )  # fmt: skip


def predictor(problem, found):
    """What predicts, from the engine's answer."""
    prior, _ = problem.prior_at(problem.theta)
    posterior = prior.given(found.approximation.tau)
    mean = posterior.mean(found.approximation.nu)
    values = InducingPredictor(prior.basis.lower, posterior.factor, mean)
    return InducingLabelPredictor.of_values(values, L)


@each_engine
@each_graph
def test_points_at_all_inputs_are_the_exact_engine(engine, graph):
    problem = draw(engine, graph)
    ours, theirs = (p.evaluate(p.theta) for p in (problem, exactly(problem)))
    assert ours.value == pytest.approx(theirs.value, abs=1e-10)
    np.testing.assert_allclose(ours.gradient, theirs.gradient, rtol=0, atol=1e-8)
    for name in ("mean", "var", "alpha", "cavity_mean", "cavity_var"):
        pair = (getattr(one.approximation, name) for one in (ours, theirs))
        np.testing.assert_allclose(*pair, rtol=0, atol=1e-9, err_msg=name)


@each_graph
def test_points_at_all_inputs_predict_what_the_exact_engine_predicts(graph):
    problem = draw("ep", graph)
    kernel, X = problem.kernel, problem.X
    ours, theirs = (p.evaluate(p.theta) for p in (problem, exactly(problem)))
    exact = LabelPredictor.of(problem.design, kernel(X), theirs.approximation)
    new = np.random.default_rng(1).normal(size=(5, 2))
    cross, prior = kernel(new, X), kernel.diag(new)
    for one, other in zip(
        predictor(problem, ours).differences(cross, prior),
        exact.differences(cross, prior),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
    one, other = (p.explained_jointly(cross) for p in (predictor(problem, ours), exact))
    contrast = np.eye(L) - 1.0 / L  # of what all labels share, exact ones know nothing either
    np.testing.assert_allclose(
        np.einsum("ab,xbyc,cd->xayd", contrast, one, contrast),
        np.einsum("ab,xbyc,cd->xayd", contrast, other, contrast), rtol=0, atol=1e-9,
    )  # fmt: skip


@each_graph
@each_kernel
@pytest.mark.parametrize("points", [3, 8])
def test_ep_is_exact_ep_on_the_prior_that_the_points_make(graph, kernel, points):
    problem = draw("ep", graph, kernel, points)
    # Copies of a preference have residuals of their own, which a dense prior does not show.
    problem = replace(problem, weights=np.ones(len(problem.y)))
    ours = problem.evaluate(problem.theta).approximation
    d, (prior, _) = problem.design, problem.prior_at(problem.theta)
    P = prior.basis.whitened(problem.X)
    C = d.covariance(P @ P.T)
    C[np.diag_indices_from(C)] += prior.residual
    np.testing.assert_allclose(np.diagonal(C), 2 * kernel.diag(problem.X)[d.at], atol=1e-10)
    theirs = ENGINES["ep"](
        prior_of(Direct(), C), problem.likelihood, problem.y, tol=problem.tol
    )
    assert ours.log_evidence == pytest.approx(theirs.log_evidence, abs=1e-10)
    np.testing.assert_allclose(ours.d_likelihood, theirs.d_likelihood, rtol=0, atol=1e-9)


@each_engine
@each_graph
@pytest.mark.parametrize(
    ("kernel", "link"), [(KERNELS[0], "probit"), (KERNELS[1], "logit")], ids=str
)
def test_gradients_agree_with_differences(
    assert_gradient_is_exact, engine, graph, kernel, link
):
    assert_gradient_is_exact(draw(engine, graph, kernel, 5, link))


@each_engine
def test_gradients_in_the_points_agree_with_differences(engine):
    problem, h = draw(engine, points=5), 1e-3
    direction = np.random.default_rng(2).normal(size=problem.Z.shape)
    at = [
        replace(problem, Z=problem.Z + s * h * direction).evaluate(problem.theta).value
        for s in (-2, -1, 1, 2)
    ]
    numeric = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h)
    prior, blurred = problem.prior_at(problem.theta)
    a = ENGINES[engine](prior, blurred, problem.y, weights=problem.weights, tol=problem.tol)
    found = np.sum(a.d_kernel.pullback_with_points(a.d_variance)[1] * direction)
    assert found == pytest.approx(numeric, abs=1e-7)


@each_engine
def test_labels_by_other_numbers_have_the_same_posterior(engine):
    problem = draw(engine, points=5)
    d, number = problem.design, np.random.default_rng(4).permutation(L)
    other = replace(problem, design=Labels(d.at, number[d.first], number[d.second], N, L))
    one, two = problem.evaluate(problem.theta), other.evaluate(problem.theta)
    assert two.value == pytest.approx(one.value, abs=1e-10)
    np.testing.assert_allclose(two.gradient, one.gradient, rtol=0, atol=1e-9)
    cross = problem.kernel(np.random.default_rng(1).normal(size=(3, 2)), problem.Z)
    before, after = predictor(problem, one), predictor(other, two)
    np.testing.assert_allclose(after.mean(cross)[:, number], before.mean(cross), atol=1e-10)
    explained = after.explained(cross)[:, number[:, None], number]
    np.testing.assert_allclose(explained, before.explained(cross), atol=1e-10)


@each_engine
def test_turning_pairs_and_answers_leaves_the_evidence(engine):
    problem = draw(engine, points=5)
    d = problem.design
    turned = replace(problem, y=2 - problem.y, design=Labels(d.at, d.second, d.first, N, L))
    one, two = (p.evaluate(p.theta) for p in (problem, turned))
    assert two.value == pytest.approx(one.value, abs=1e-10)


@pytest.mark.parametrize(("engine", "graph"), list(zip(ENGINES, GRAPHS, strict=True)))
def test_inputs_in_blocks_give_what_inputs_at_once_give(engine, graph, monkeypatch):
    problem = draw(engine, graph, points=5)
    # Copies of the inputs that fill two blocks of 64, the least that there are.
    d, copies = problem.design, 6
    at = np.concatenate([d.at + k * N for k in range(copies)])
    first, second = np.tile(d.first, copies), np.tile(d.second, copies)
    problem = replace(
        problem, X=np.tile(problem.X, (copies, 1)), y=np.tile(problem.y, copies),
        weights=np.tile(problem.weights, copies),
        design=Labels(at, first, second, N * copies, L),
    )  # fmt: skip
    whole = problem.evaluate(problem.theta)
    monkeypatch.setattr(inducing, "_BLOCK", 1)
    monkeypatch.setattr(inducing, "_KEPT", 0)
    parts = problem.evaluate(problem.theta)
    assert parts.value == pytest.approx(whole.value, abs=1e-9)
    np.testing.assert_allclose(parts.gradient, whole.gradient, rtol=0, atol=1e-7)


def test_sweeps_end_where_all_at_once_ends(monkeypatch):
    problem = replace(draw("ep", points=6), tol=1e-10)
    together = problem.evaluate(problem.theta)
    monkeypatch.setattr(ep_module, "_PARALLEL", 1)
    apart = problem.evaluate(problem.theta)
    assert apart.approximation.converged
    assert apart.value == pytest.approx(together.value, abs=1e-10)


def test_the_bound_grows_with_the_points_to_the_exact_bound():
    problem = draw("variational", of_rankings)
    order, _ = greedy_points(problem.kernel, problem.X, N, tol=0.0)
    bounds = [
        replace(problem, Z=problem.X[order[:m]]).evaluate(problem.theta).value
        for m in (2, 4, 8, 11)
    ]
    top = exactly(problem).evaluate(problem.theta).value
    assert np.all(np.diff(bounds) > 0)
    assert bounds[-1] < top + 1e-9


def test_some_inputs_come_with_all_that_was_said_about_them():
    problem = draw("ep", points=5)
    some = problem.on_rows(np.array([7, 2, 9]))
    np.testing.assert_array_equal(some.X, problem.X[[7, 2, 9]])
    for place, at in enumerate([7, 2, 9]):
        ours, theirs = some.design.at == place, problem.design.at == at
        for name in ("first", "second"):
            np.testing.assert_array_equal(
                getattr(some.design, name)[ours], getattr(problem.design, name)[theirs]
            )
        np.testing.assert_array_equal(some.y[ours], problem.y[theirs])
    assert len(some.y) == np.isin(problem.design.at, [7, 2, 9]).sum()
