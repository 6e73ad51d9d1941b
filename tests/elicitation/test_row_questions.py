"""Which rows to label next: values against quadrature, choices against what is plainly best."""

import warnings

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gumbel_l, gumbel_r, logistic, norm, t
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ordinality import LeastSquaresOrdinalGP, OrdinalGP, OrdinalRegression
from ordinality.elicitation import next_row
from ordinality.elicitation.row_questions import QUADRATURE, RowPool
from ordinality.gp.posterior.observations import Predictor
from ordinality.kernels import Gaussian

STRATEGIES = ("prediction", "information", "uncertainty")
NOISE = {"probit": norm, "logit": logistic, "cloglog": gumbel_l, "loglog": gumbel_r}
MODELS = {link: OrdinalGP(link=link, noise=0.5, optimizer=None) for link in (*NOISE, "student")}
MODELS["scale"] = OrdinalGP(link="probit", scale="log-linear", max_evaluations=15)
MODELS["inducing"] = OrdinalGP(inducing=15, optimizer=None)
MODELS["least squares"] = LeastSquaresOrdinalGP(optimizer=None)
MODELS["least squares, inducing"] = LeastSquaresOrdinalGP(inducing=15, optimizer=None)


def drawn(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), [-0.6, 0.0, 0.7])


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # few evaluations will do,
        warnings.filterwarnings("ignore", ".*inducing points leave")  # and few points
        return request.param, clone(MODELS[request.param]).fit(*drawn())


def distribution(name, model, x):
    """Of the noise at a row, by SciPy."""
    X = drawn()[0]
    if name == "scale":
        steps = (x - X.mean(axis=0)) / X.std(axis=0)
        return norm(scale=model.noise_ * np.exp(steps @ model.scale_coef_))
    if name.startswith("least"):
        return norm(scale=np.hypot(1.0 / model.slope_, model.noise_))
    family = NOISE.get(name, logistic)
    return t(4, scale=model.noise_) if name == "student" else family(scale=model.noise_)


def levels_at(noise, thresholds, f):
    """Probability of each level at a known latent value."""
    below = noise.cdf(np.concatenate([[-np.inf], thresholds, [np.inf]]) - f)
    return np.diff(below)


def entropy(p):
    p = p[p > 0]
    return -np.sum(p * np.log2(p))


def average(value, mean, variance):
    """Of a function of f ~ N(mean, variance), by adaptive quadrature."""
    sd = np.sqrt(variance)
    return quad(
        lambda z: value(mean + sd * z) * norm.pdf(z), -8, 8, epsabs=1e-11, limit=400,
        points=[-2.0, 0.0, 2.0],
    )[0]  # fmt: skip


def test_information_and_share_are_those_of_adaptive_quadrature(fitted):
    name, model = fitted
    rows = np.array([[0.1, -0.3], [2.5, 1.0]])
    mean, variance = model.posterior(rows, joint=False)
    proba = QUADRATURE.proba(model, rows, mean, variance)
    found = QUADRATURE.information(proba), QUADRATURE.share(proba)
    for i, x in enumerate(rows):
        noise, m, v = distribution(name, model, x), mean[i], variance[i]

        def at(f, noise=noise):
            return levels_at(noise, model.thresholds_, f)

        p = np.array([average(lambda f, k=k: at(f)[k], m, v) for k in range(4)])
        told = entropy(p) - average(lambda f: entropy(at(f)), m, v)
        # The expected variance of f given the level, by its definition.
        first = [average(lambda f, k=k: f * at(f)[k], m, v) for k in range(4)]
        left = v + m**2 - np.sum(np.square(first) / p)
        assert found[0][i] == pytest.approx(told, abs=1e-6)
        assert found[1][i] == pytest.approx(1.0 - left / v, abs=1e-6)


def pool_of(cov, mean, thresholds, noise, targets):
    """A pool of a given posterior, without a fit."""

    class Known:
        thresholds_ = thresholds

        def level_proba_given(self, X, latent):
            z = np.concatenate([[-np.inf], thresholds, [np.inf]]) - latent[..., None]
            return np.diff(norm.cdf(z / noise), axis=-1)

        def posterior(self, X):
            return mean, cov

    return RowPool.of(Known(), np.zeros((len(mean), 1)), np.asarray(targets))


def test_to_second_order_it_is_the_information_about_another_label():
    thresholds, noise, mean = np.array([-0.5, 0.8]), 0.6, np.array([0.2, -0.4])
    x, w = np.polynomial.hermite_e.hermegauss(120)
    edges = np.concatenate([[-np.inf], thresholds, [np.inf]])
    for r in (0.02, 0.1):
        cov = np.array([[1.0, r * 1.5], [r * 1.5, 2.25]])
        one = np.diff(norm.cdf((edges - (mean[0] + x)[:, None]) / noise))
        spread = np.sqrt(2.25 * (1.0 - r**2) + noise**2)
        other = np.diff(norm.cdf((edges - (mean[1] + 1.5 * r * x)[:, None]) / spread))
        both = np.einsum("g,gk,gl->kl", w / w.sum(), one, other)
        alone = np.outer(both.sum(axis=1), both.sum(axis=0))
        told = np.sum(both * np.log2(both / alone))
        value = pool_of(cov, mean, thresholds, noise, [1]).prediction()[0]
        assert value == pytest.approx(told, rel=r)


def test_a_chosen_row_leaves_the_covariance_that_its_expected_site_leaves():
    X, y = drawn(20)
    model = OrdinalGP(Gaussian(1.0), standardize=False, optimizer=None).fit(X, y)
    pool = np.random.default_rng(1).normal(size=(6, 2))
    before = RowPool.of(model, pool, np.arange(6))
    share, v = QUADRATURE.share(before.proba)[2], before.cov[2, 2]
    support, tau = model.fit_.problem.X, model.fit_.best.approximation.tau
    rows = np.vstack([support, pool[2:3]])
    # What a site of this precision leaves of a variance v is v (1 - share).
    sites = np.append(tau, share / (1.0 - share) / v)
    refit = Predictor.from_sites(model.kernel_(rows), sites, np.zeros(len(rows)))
    _, cov = refit.joint(model.kernel_(pool, rows), model.kernel_(pool))
    np.testing.assert_allclose(before.after(2).cov, cov, rtol=0, atol=1e-10)
    assert before.after(2).cov[2, 2] == pytest.approx(v * (1.0 - share), rel=1e-10)


# Choices


@pytest.fixture(scope="module")
def line():
    """Levels along a line, of which the left end is known."""
    X = np.linspace(0.0, 2.0, 21)[:, None]
    return OrdinalGP(
        Gaussian(1.0), standardize=False, optimizer=None, thresholds=[-0.5, 0.5], noise=0.3
    ).fit(X, np.digitize(X[:, 0], [0.6, 1.4]))


def test_information_asks_for_an_outlier_and_the_default_for_one_of_many(line):
    # Forty rows about 3.5, of which the known end tells a little; one far away from all.
    pool = np.concatenate([np.linspace(3.0, 4.0, 40), [30.0]])[:, None]
    assert next_row(line, pool, "information").tolist() == [40]
    assert next_row(line, pool)[0] < 40


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rows_that_are_known_are_not_asked_for(line, strategy):
    pool = np.array([[0.2], [0.3], [1.0], [6.0], [0.9], [6.1]])
    assert next_row(line, pool, strategy)[0] in (3, 5)


@pytest.mark.parametrize("strategy", ["prediction", "information"])
def test_a_batch_does_not_ask_for_copies_of_a_row(line, strategy):
    pool = np.repeat([[6.0], [16.0]], 5, axis=0)
    batch = next_row(line, pool, strategy, batch=2)
    assert sorted(batch // 5) == [0, 1]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_batch_holds_different_rows_that_may_be_chosen(fitted, strategy):
    _, model = fitted
    pool = drawn(30, seed=1)[0]
    batch = next_row(model, pool, strategy, batch=4, candidates=range(20), exclude=[0, 1])
    assert len(set(batch.tolist())) == 4
    assert set(batch.tolist()) <= set(range(2, 20))
    assert batch.dtype.kind == "i"
    every = next_row(model, pool, strategy, batch=30)
    assert sorted(every.tolist()) == list(range(30))


def test_frames_and_lists_give_positions():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = drawn()
    pool = drawn(30, seed=1)[0]
    plain = OrdinalGP(optimizer=None).fit(X, y)
    wanted = next_row(plain, pool, batch=3)
    np.testing.assert_array_equal(next_row(plain, pool.tolist(), batch=3), wanted)
    frame = pd.DataFrame(X, columns=["a", "b"])
    of_pandas = pd.DataFrame(pool, columns=["a", "b"], index=np.arange(30)[::-1] + 100)
    model = OrdinalGP(optimizer=None).fit(frame, y)
    for other in (of_pandas, pl.DataFrame(pool, schema=["a", "b"])):
        np.testing.assert_array_equal(next_row(model, other, batch=3), wanted)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_of_a_large_pool_a_good_row_is_chosen(strategy):
    X, y = drawn()
    model = OrdinalGP(optimizer=None).fit(X, y)
    pool = drawn(2500, seed=1)[0]
    chosen = next_row(model, pool, strategy, exclude=range(1000), random_state=0)[0]
    assert chosen >= 1000
    assert chosen == next_row(model, pool, strategy, exclude=range(1000), random_state=0)[0]
    whole = RowPool.of(model, pool, np.arange(2500))
    values = {
        "uncertainty": lambda: QUADRATURE.uncertainty(whole.proba),
        "information": lambda: QUADRATURE.information(whole.proba),
    }
    value = values.get(strategy, getattr(whole, strategy, None))()
    # A candidate in three is looked at; of a smooth function, one of them is near the best.
    assert value[chosen] > 0.9 * value[1000:].max()


def test_a_row_that_is_known_for_certain_has_no_value():
    pool = pool_of(np.diag([1.0, 0.0]), np.zeros(2), np.array([0.0]), 0.5, [0, 1])
    for value in (pool.prediction(), QUADRATURE.information(pool.proba)):
        assert np.all(np.isfinite(value))
        assert value[0] > 1e-3
        assert value[1] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_array_equal(pool.after(1).cov, pool.cov)


# Refusals


def test_what_cannot_be_chosen_is_refused(line):
    pool = np.zeros((5, 1))
    with pytest.raises(ValueError, match="batch is 6, but there are 5 rows to choose from"):
        next_row(line, pool, batch=6)
    with pytest.raises(ValueError, match="there are 0 rows to choose from; ask for fewer"):
        next_row(line, pool, exclude=range(5))
    with pytest.raises(ValueError, match="batch is 0; it must be a whole number"):
        next_row(line, pool, batch=0)
    with pytest.raises(ValueError, match="strategy is 'luck'; it must be one of"):
        next_row(line, pool, "luck")
    with pytest.raises(ValueError, match="exclude must hold positions of rows"):
        next_row(line, pool, exclude=[5])
    with pytest.raises(ValueError, match="candidates must hold positions .* from 0 to 4"):
        next_row(line, pool, candidates=[0.5])
    with pytest.raises(ValueError, match="X has 2 features, but OrdinalGP is expecting 1"):
        next_row(line, np.zeros((5, 2)))


def test_other_models_are_refused():
    X, y = drawn()
    with pytest.raises(
        TypeError, match="OrdinalRegression, which has no posterior of a latent"
    ):
        next_row(OrdinalRegression().fit(X, y), X)
    with pytest.raises(ValueError, match="not fitted yet"):
        next_row(OrdinalGP(), X)
    K = X @ X.T
    with pytest.raises(ValueError, match="joint posterior needs the prior covariances"):
        next_row(OrdinalGP("precomputed", optimizer=None).fit(K, y), K)
