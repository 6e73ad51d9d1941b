"""Side bias and covariates of the presentation: against exact posteriors, laws, refusals."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import ndtr
from scipy.stats import norm

from ordinality import PreferenceGP, persist

ENGINES = ("ep", "laplace", "variational")
HELD = {"optimizer": None, "tol": 1e-12}
# Three items, eight answers, contradictory ones among them; what was shown left, and a length.
PAIRS = np.array([[0, 1], [0, 2], [1, 2], [1, 0], [2, 1], [2, 0], [0, 1], [1, 2]])
ANSWERS = np.array([1, 1, -1, 1, 1, -1, 1, 1])
LENGTHS = np.array([0.5, -1.0, 2.0, 0.3, -0.7, 1.1, 0.0, -0.2])
SIDE = np.ones((8, 1))


def drawn(bias, length=0.0, n=10, m=200, noise=0.5, seed=0):
    """Pairs, answers and covariates of a judge with a bias to the left and to longer texts."""
    rng = np.random.default_rng(seed)
    f, pairs = rng.normal(size=n), np.array([rng.choice(n, 2, replace=False) for _ in range(m)])
    longer, c = rng.normal(size=m), np.sqrt(2.0) * noise
    felt = f[pairs[:, 0]] - f[pairs[:, 1]] + c * (bias + length * longer + rng.normal(size=m))
    return pairs, np.where(felt > 0, 1, -1), np.column_stack([np.ones(m), longer])


@pytest.fixture(scope="module")
def biased():
    pairs, answers, Z = drawn(0.8, -0.5)
    frame = pd.DataFrame(Z, columns=["side", "length"])
    return PreferenceGP(10).fit(pairs, answers, covariates=frame)


# Against what is exact


def test_one_answer_gives_the_exact_moments_of_a_coefficient():
    z, noise = 1.7, 0.8
    c2 = 2.0 * noise**2
    model = PreferenceGP(2, noise=noise, standardize=False, **HELD)
    model.fit([[0, 1]], covariates=[[z]])
    total = 2.0 + c2 * z**2 + c2  # utilities, coefficient, noise; the answer has Phi(h / sd)
    shift = norm.pdf(0.0) / ndtr(0.0)
    assert model.covariate_coef_[0] == pytest.approx(c2 * z * shift / np.sqrt(total * c2))
    variance = c2 - (c2 * z) ** 2 / total * shift**2
    assert model.covariate_sd_[0] == pytest.approx(np.sqrt(variance / c2))


def exact(ratio, Z):
    """Evidence and moments of one coefficient by quadrature over (d_1, d_2, b)."""
    x, w = np.polynomial.hermite_e.hermegauss(61)
    w = w / w.sum()
    lower = np.linalg.cholesky([[2.0, 1.0], [1.0, 2.0]])  # of f_0 - f_1 and f_0 - f_2
    first, second, b = np.meshgrid(x, x, x, indexing="ij")
    d1, d2 = lower[0, 0] * first, lower[1, 0] * first + lower[1, 1] * second
    gaps = {(0, 1): d1, (0, 2): d2, (1, 2): d2 - d1}
    mass = w[:, None, None] * w[:, None] * w
    for (i, j), y, z in zip(PAIRS.tolist(), ANSWERS, Z, strict=True):
        gap = gaps[i, j] if i < j else -gaps[j, i]
        mass = mass * ndtr(y * (ratio * gap / np.sqrt(2.0) + z * b))
    evidence, mean = mass.sum(), (mass * b).sum() / mass.sum()
    return np.log(evidence), mean, np.sqrt((mass * b**2).sum() / evidence - mean**2)


@pytest.mark.parametrize("ratio", [0.5, 1.4, 2.8])
@pytest.mark.parametrize("Z", [SIDE[:, 0], LENGTHS], ids=["side", "length"])
def test_ep_is_near_the_exact_posterior_of_a_coefficient(ratio, Z):
    model = PreferenceGP(3, noise=1.0 / ratio, standardize=False, **HELD)
    model.fit(PAIRS, ANSWERS, covariates=Z[:, None])
    log_evidence, mean, sd = exact(ratio, Z)
    assert model.log_evidence_ == pytest.approx(log_evidence, abs=0.02)  # 0.013 at ratio 2.8
    assert model.covariate_coef_[0] == pytest.approx(mean, abs=0.02)
    assert model.covariate_sd_[0] == pytest.approx(sd, abs=0.02)


def test_the_coefficient_of_a_coin_is_that_of_a_regression_without_items():
    # Six of eight to the left: an integral over one coefficient.
    b = np.linspace(-8.0, 8.0, 4001)
    mass = norm.pdf(b) * ndtr(b) ** 6 * ndtr(-b) ** 2
    evidence = np.trapezoid(mass, b)
    mean = np.trapezoid(b * mass, b) / evidence
    snapshot = PreferenceGP(3, **HELD).fit(PAIRS, ANSWERS, covariates=SIDE).snapshot()
    effects = snapshot.covariates
    assert effects.mean[0, 0] == pytest.approx(mean, abs=2e-3)
    spread = np.sqrt(np.trapezoid(b**2 * mass, b) / evidence - mean**2)
    assert np.sqrt(effects.cov[0, 0, 0]) == pytest.approx(spread, abs=2e-3)
    assert np.all(snapshot.mean[0] == 0.0)


def test_laplace_is_at_the_mode_that_a_general_optimiser_finds():
    rng = np.random.default_rng(4)
    pairs = np.array([rng.choice(4, 2, replace=False) for _ in range(30)])
    answers, judges = rng.integers(-1, 2, 30), np.array(["a", "b"])[rng.integers(0, 2, 30)]
    Z, weights = rng.normal(size=(30, 2)) * [1.0, 30.0], rng.uniform(0.5, 2.0, 30)
    model = PreferenceGP(4, ties=True, inference="laplace", noise=0.6, **HELD)
    model.fit(pairs, answers, judges=judges, sample_weight=weights, covariates=Z)
    scale, c, step = np.sqrt(weights @ Z**2 / weights.sum()), np.sqrt(2.0) * 0.6, 0.3

    def loss(x):
        f, b = x[:4], x[4:]
        h = f[pairs[:, 0]] - f[pairs[:, 1]] + c * (Z / scale) @ b
        low = np.array([-np.inf, -step, step])[answers + 1]
        high = np.array([-step, step, np.inf])[answers + 1]
        p = ndtr((high - h) / c) - ndtr((low - h) / c)
        return 0.5 * x @ x - weights @ np.log(p)

    found = minimize(loss, np.zeros(6), method="BFGS", options={"gtol": 1e-9}).x
    np.testing.assert_allclose(model.covariate_coef_, found[4:] / scale, atol=1e-6)
    np.testing.assert_allclose(model.utility().mean, found[:4], atol=1e-6)


# Laws


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["items", "features", "judges", "grades"])
def test_evidence_gradients_agree_with_central_differences(engine, kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(10, 2))
    pairs, answers, Z = drawn(0.5, 0.4, m=60)
    if kind == "grades":
        answers = answers * rng.integers(0, 3, 60)
    model = PreferenceGP(
        X if kind == "features" else 10, ties=kind == "grades", inference=engine,
        grades=2 if kind == "grades" else 1, **HELD,
    )  # fmt: skip
    judges = ["a", "b", "c"] * 20 if kind == "judges" else None
    model.fit(pairs, answers, judges=judges, covariates=Z)
    theta = model.fit_.best.theta + 0.2
    theta[-1] -= 0.5  # judges differ
    _, gradient = model.log_evidence(theta, eval_gradient=True)
    h = 1e-4
    numeric = [
        (model.log_evidence(theta + h * e) - model.log_evidence(theta - h * e)) / (2.0 * h)
        for e in np.eye(len(theta))
    ]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-5)


def test_what_is_shown_the_other_way_round_is_the_same_answer():
    pairs, answers, Z = drawn(0.8, -0.5, m=60)
    turned = np.arange(60) % 3 == 0
    sign = np.where(turned, -1, 1)
    other = np.where(turned[:, None], pairs[:, ::-1], pairs)
    one = PreferenceGP(10).fit(pairs, answers, covariates=Z)
    two = PreferenceGP(10).fit(other, sign * answers, covariates=sign[:, None] * Z)
    np.testing.assert_array_equal(one.covariate_coef_, two.covariate_coef_)
    np.testing.assert_array_equal(one.utility().mean, two.utility().mean)
    for model in (one, one.snapshot()):
        p, q = (model.predict_proba(pairs[:, ::way], covariates=way * Z) for way in (1, -1))
        np.testing.assert_allclose(p, q[:, ::-1], rtol=0, atol=1e-15)


def test_units_of_a_covariate_do_not_matter():
    pairs, answers, Z = drawn(0.8, -0.5, m=80)
    one, two = (PreferenceGP(10).fit(pairs, answers, covariates=Z * s) for s in (1, 1000))
    np.testing.assert_allclose(two.covariate_coef_ * 1000, one.covariate_coef_, rtol=1e-9)
    assert two.log_evidence_ == pytest.approx(one.log_evidence_, abs=1e-9)


def test_a_bias_is_found_and_a_fair_presentation_is_without_it(biased):
    mean, lower, upper = biased.covariate_intervals(0.95)
    assert biased.covariate_names_.tolist() == ["side", "length"]
    assert np.all(lower < [0.8, -0.5])
    assert np.all(upper > [0.8, -0.5])
    assert lower[0] > 0.0 > upper[1]
    np.testing.assert_allclose(mean, biased.covariate_coef_, atol=0.05)
    pairs = np.array([[0, 1], [1, 0]])
    fair = biased.predict_proba(pairs)
    np.testing.assert_allclose(fair[0], fair[1, ::-1], rtol=0, atol=1e-15)
    shown = biased.predict_proba(pairs, covariates=[[1.0, 0.0], [1.0, 0.0]])
    assert np.all(shown[:, 1] > fair[:, 1] + 0.05)


def test_no_bias_and_a_bias_that_is_not_modelled():
    pairs, answers, Z = drawn(0.0, m=200)
    lower, upper = PreferenceGP(10).fit(pairs, answers, covariates=Z).covariate_intervals()[1:]
    assert np.all((lower < 0.0) & (upper > 0.0))
    pairs, answers, Z = drawn(2.0, m=200)
    blind = PreferenceGP(10).fit(pairs, answers)
    seeing = PreferenceGP(10).fit(pairs, answers, covariates=Z)
    assert seeing.log_evidence_ > blind.log_evidence_ + 10.0
    assert seeing.noise_ < blind.noise_


def test_each_ratio_of_a_snapshot_is_a_fit_with_that_noise():
    pairs, answers, Z = drawn(0.8, -0.5, m=60)
    ratios = [0.0, 0.5, 2.0]
    snapshot = PreferenceGP(10, **HELD).fit(pairs, answers, covariates=Z).snapshot(ratios)
    for g in (1, 2):
        held = PreferenceGP(10, noise=1.0 / ratios[g], **HELD).fit(pairs, answers, covariates=Z)
        effects = snapshot.covariates
        np.testing.assert_allclose(effects.mean[g], held.covariate_coef_, atol=1e-7)
        sd = np.sqrt(np.diagonal(effects.cov[g]))
        np.testing.assert_allclose(sd, held.covariate_sd_, atol=1e-7)
        alone = held.snapshot(None)
        p, q = (one.predict_proba(pairs, covariates=Z) for one in (held, alone))
        np.testing.assert_allclose(p, q, atol=1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_answers_are_folded_in_nearly_as_they_are_learnt(ties):
    pairs, answers, Z = drawn(0.8, -0.5, m=300)
    answers = np.where(np.arange(300) % 9 == 0, 0, answers) if ties else answers
    old, new = slice(0, 250), slice(250, 300)
    model = PreferenceGP(10, ties=ties).fit(pairs[old], answers[old], covariates=Z[old])
    folded = model.snapshot().told(pairs[new], answers[new], covariates=Z[new])
    model.update(pairs[new], answers[new], covariates=Z[new])
    found, wanted = folded.covariate_intervals(), model.covariate_intervals()
    np.testing.assert_allclose(found, wanted, atol=0.03)
    np.testing.assert_allclose(folded.mean[-1], model.snapshot().mean[-1], atol=0.1)


def test_an_update_is_a_fit_to_all_answers_at_held_parameters():
    pairs, answers, _ = drawn(0.8, m=60)
    side = np.ones((60, 1))
    whole = PreferenceGP(10, **HELD).fit(pairs, answers, covariates=side)
    parts = PreferenceGP(10, **HELD).fit(pairs[:40], answers[:40], covariates=side[:40])
    parts.update(pairs[40:], answers[40:], covariates=side[40:])
    np.testing.assert_allclose(parts.covariate_coef_, whole.covariate_coef_, rtol=1e-9)
    first = PreferenceGP(10, **HELD).fit([], covariates=np.empty((0, 1)))
    np.testing.assert_allclose([first.covariate_coef_[0], first.covariate_sd_[0]], [0.0, 1.0])
    lower, upper = np.ravel(first.covariate_intervals(0.9)[1:])
    assert (lower, upper) == pytest.approx((-1.6449, 1.6449), abs=1e-3)  # the prior
    first.update(pairs, answers, covariates=side)
    np.testing.assert_allclose(first.covariate_coef_, whole.covariate_coef_, rtol=1e-9)


def test_ratings_and_features_go_with_covariates():
    rng = np.random.default_rng(2)
    pairs, answers, Z = drawn(0.8, 0.5, m=150)
    X = rng.normal(size=(10, 2))
    model = PreferenceGP(X, ties=True).fit(
        pairs, answers, covariates=Z, ratings=(np.arange(10), rng.integers(0, 3, 10))
    )
    assert np.all(model.covariate_intervals().lower > 0.0)
    assert model.predict_ratings().shape == (10, 3)
    assert model.utility(X[:2]).mean.shape == (2,)


def test_a_model_with_covariates_is_saved(biased, tmp_path):
    persist.save(biased, tmp_path / "biased.skops")
    again = persist.load(tmp_path / "biased.skops")
    Z = [[1.0, 2.0]]
    np.testing.assert_array_equal(
        again.predict_proba([[0, 1]], covariates=Z),
        biased.predict_proba([[0, 1]], covariates=Z),
    )
    assert again.covariate_names_.tolist() == ["side", "length"]
    again.update([[0, 1]], covariates=pd.DataFrame({"side": [1.0], "length": [0.0]}))


# Refusals


@pytest.mark.parametrize(
    ("covariates", "said"),
    [
        (np.ones((7, 1)), r"shape \(7, 1\), but there are 8 pairs and 1 covariates"),
        (np.ones(8), r"shape \(8,\); wanted \(m, c\)"),
        (np.ones((8, 0)), r"shape \(8, 0\); wanted \(m, c\)"),
        ([["left"]] * 8, "hold a value that is not a number"),
        (np.where(np.arange(8) == 3, np.nan, 1.0)[:, None], "nan in row 3 of 'x0'"),
        (pd.DataFrame(np.ones((8, 2)), columns=["z", "z"]), "covariates names 'z' twice"),
    ],
)
def test_covariates_that_do_not_fit_the_answers_are_refused(covariates, said):
    with pytest.raises(ValueError, match=said):
        PreferenceGP(3).fit(PAIRS, ANSWERS, covariates=covariates)


def test_covariates_that_do_not_fit_the_model_are_refused(biased):
    plain = PreferenceGP(3, **HELD).fit(PAIRS, ANSWERS)
    for ask in (plain.update, plain.predict_proba, plain.snapshot().told):
        with pytest.raises(ValueError, match="fitted without any; pass those of every answer"):
            ask([[0, 1]], covariates=[[1.0]])
    for model in (plain, plain.snapshot()):
        with pytest.raises(ValueError, match="fitted without covariates"):
            model.covariate_intervals()
    for ask in (biased.update, biased.predict_proba, biased.snapshot().told):
        with pytest.raises(ValueError, match=r"shape \(1, 1\), but there are 1 pairs and 2"):
            ask([[0, 1]], covariates=[[1.0]])
        with pytest.raises(
            ValueError, match="columns length, side, but the model was fitted to"
        ):
            ask([[0, 1]], covariates=pd.DataFrame({"length": [0.0], "side": [1.0]}))
    with pytest.raises(ValueError, match="between 0 and 1"):
        biased.covariate_intervals(90)
    with pytest.raises(ValueError, match="covariates need exact inference"):
        PreferenceGP(3, inducing=2).fit(PAIRS, ANSWERS, covariates=SIDE)


def test_a_spread_before_any_answer_is_the_prior_of_the_covariate_it_names_alone():
    Z = np.column_stack([np.ones(8), LENGTHS])
    frame = pd.DataFrame(Z, columns=["side", "length"])
    root = float(np.sqrt(np.mean(LENGTHS**2)))
    as_is = PreferenceGP(3, **HELD).fit(PAIRS, ANSWERS, covariates=frame)
    told = PreferenceGP(3, **HELD).fit(
        PAIRS, ANSWERS, covariates=frame, covariate_spread={"length": 1.0 / root}
    )  # what it is without being told
    assert told.log_evidence_ == pytest.approx(as_is.log_evidence_, abs=1e-10)
    half = PreferenceGP(3, **HELD).fit(
        PAIRS, ANSWERS, covariates=frame, covariate_spread={"side": 0.5}
    )  # a side of one half everywhere, with a coefficient of spread one
    by_hand = PreferenceGP(3, standardize=False, **HELD).fit(
        PAIRS, ANSWERS, covariates=Z * [0.5, 1.0 / root]
    )
    assert half.log_evidence_ == pytest.approx(by_hand.log_evidence_, abs=1e-10)
    np.testing.assert_allclose(
        half.covariate_coef_, by_hand.covariate_coef_ * [0.5, 1.0 / root], rtol=1e-9
    )


@pytest.mark.parametrize(
    ("spread", "said"),
    [
        ({"sid": 1.0}, "covariate_spread names 'sid', which is not among the covariates"),
        ({"side": 0.0}, "covariate_spread has 0.0 for 'side'; wanted a number above zero"),
    ],
)
def test_spreads_that_cannot_be_are_refused_in_words(spread, said):
    with pytest.raises(ValueError, match=said):
        PreferenceGP(3).fit(
            PAIRS, ANSWERS, covariates={"side": np.ones(8)}, covariate_spread=spread
        )
